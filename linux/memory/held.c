// SPDX-License-Identifier: GPL-2.0
/*
 * What Linux has mapped of a range, and lets go of: before the co-kernel takes the
 * frames away, Linux unmaps them. What the kernel still holds then (in a pipe, for a
 * device) is marked, and the co-kernel keeps it until the kernel has let go.
 *
 * Called in contexts that sleep. Nobody mirrors meanwhile: the mmap lock is held, or
 * the process has ended.
 */
#include <linux/delay.h>
#include <linux/list.h>
#include <linux/pagemap.h>
#include <linux/slab.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define LOOK_AGAIN_MS 20
#define MOMENTS 200			/* of 50 us or more, for all pages of a call */

struct kept {
	struct list_head link;
	u64 frame;
};

static LIST_HEAD(kept_frames);
static DEFINE_MUTEX(kept_lock);

static void free_released(struct work_struct *work);
static DECLARE_DELAYED_WORK(release_work, free_released);

static u32 *held_of(u64 frame)
{
	struct tacet_memory *memory = tacet_partition.memory;
	unsigned int i;

	for (i = 0; i < memory->block_count; i++) {
		const struct tacet_frames *frames = &memory->blocks[i];

		if (frame >= frames->first && frame - frames->first < frames->count)
			return &tacet_partition.frames[frames->slot + frame - frames->first].held;
	}
	return NULL;
}

/* The kernel holds @frame: it is not to be handed out again. */
static void keep(u64 frame)
{
	struct kept *kept = kmalloc(sizeof(*kept), GFP_KERNEL | __GFP_NOFAIL);
	u32 *held = held_of(frame);

	if (!held || cmpxchg(held, TACET_HELD_NOT, TACET_HELD_BY_LINUX) != TACET_HELD_NOT) {
		kfree(kept);	/* it is on the list already */
		return;
	}
	__atomic_add_fetch(&tacet_partition.memory->held_count, 1, __ATOMIC_SEQ_CST);
	kept->frame = frame;
	mutex_lock(&kept_lock);
	list_add(&kept->link, &kept_frames);
	mutex_unlock(&kept_lock);
	queue_delayed_work(tacet_workqueue, &release_work, msecs_to_jiffies(LOOK_AGAIN_MS));
}

/* Whether @kept is done with. */
static bool let_go(const struct kept *kept)
{
	u32 *held = held_of(kept->frame);

	if (page_count(pfn_to_page(kept->frame)) != 1)
		return false;
	/* Either a program still has it, or nobody: then the co-kernel left it to us. */
	if (cmpxchg(held, TACET_HELD_BY_LINUX, TACET_HELD_NOT) != TACET_HELD_BY_LINUX)
		tacet_ask(TACET_ASK_FREE, kept->frame, 0);
	__atomic_sub_fetch(&tacet_partition.memory->held_count, 1, __ATOMIC_SEQ_CST);
	return true;
}

static void free_released(struct work_struct *work)
{
	struct kept *kept, *next;

	mutex_lock(&kept_lock);
	list_for_each_entry_safe(kept, next, &kept_frames, link) {
		if (!let_go(kept))
			continue;
		list_del(&kept->link);
		kfree(kept);
	}
	if (!list_empty(&kept_frames))
		queue_delayed_work(tacet_workqueue, &release_work, msecs_to_jiffies(LOOK_AGAIN_MS));
	mutex_unlock(&kept_lock);
}

/* The partition ends: the pages are Linux's, who holds one frees it at last. */
void tacet_held_exit(void)
{
	struct kept *kept, *next;

	cancel_delayed_work_sync(&release_work);
	list_for_each_entry_safe(kept, next, &kept_frames, link) {
		list_del(&kept->link);
		kfree(kept);
	}
}

/* Who looks for a futex holds its page for a moment, in which it wants to know whose
 * page that is; others hold theirs for as long as they like. */
static void await_momentary(const struct folio *folio, unsigned int *moments)
{
	for (; folio_ref_count(folio) != 1 && *moments; --*moments)
		usleep_range(50, 100);
}

/* The frames of a leaf are no file's any more; those that the kernel holds are kept. */
static void part_from(const struct tacet_leaf *leaf, unsigned int *moments)
{
	u64 frame = (leaf->value & TACET_ENTRY_FRAME) >> PAGE_SHIFT;
	unsigned long i;

	if (!tacet_frames_have(frame, leaf->pages))
		return;
	for (i = 0; i < leaf->pages; i++) {
		struct folio *folio = page_folio(pfn_to_page(frame + i));

		if (!folio->mapping && folio_ref_count(folio) == 1)
			continue;	/* nobody on Linux has it */
		await_momentary(folio, moments);
		folio->mapping = NULL;
		if (folio_ref_count(folio) != 1)
			keep(frame + i);
	}
}

/* The next mirrored leaf from *@page on; moves *@page behind it. */
static bool next_mirrored(struct tacet_range *range, unsigned long *page, unsigned long end,
			  struct tacet_leaf *leaf)
{
	while (*page < end) {
		if (!tacet_range_lock(range, *page))
			return false;
		*leaf = tacet_range_leaf(range, *page);
		tacet_range_unlock(range, *page);
		*page = leaf->page + leaf->pages;
		if (leaf->entry && leaf->value & TACET_ENTRY_MIRRORED &&
		    !(leaf->value & TACET_ENTRY_RESERVED))
			return true;
	}
	return false;
}

/* Linux maps nothing of these pages, and will not. */
void tacet_held_mark(struct tacet_range *range, unsigned long page, unsigned long pages)
{
	unsigned long end = page + pages;
	unsigned int moments = MOMENTS;
	struct tacet_leaf leaf;

	while (next_mirrored(range, &page, end, &leaf)) {
		part_from(&leaf, &moments);
		cond_resched();
	}
}

/* Unmaps on Linux what it has mapped of [start, end), so that a core may change it. */
void tacet_range_unmirror(struct tacet_range *range, u64 start, u64 end)
{
	unsigned long page = (start - range->base) >> PAGE_SHIFT;
	unsigned long last = (end - range->base) >> PAGE_SHIFT;
	unsigned int moments = MOMENTS;
	struct tacet_leaf leaf;

	if (start < range->base || end > range->base + TACET_RANGE_BYTES)
		return;
	mutex_lock(&range->lock);
	mmap_write_lock(range->mm);
	if (range->partition_gone || range->visibility != TACET_RANGE_VISIBLE)
		goto out;
	while (next_mirrored(range, &page, last, &leaf)) {
		unmap_mapping_range(range->mapping, (loff_t)leaf.page << PAGE_SHIFT,
				    (loff_t)leaf.pages << PAGE_SHIFT, 1);
		part_from(&leaf, &moments);
		if (!tacet_range_lock(range, leaf.page))
			break;
		/* A mirrored leaf is nobody's but Linux's to change. */
		WRITE_ONCE(*leaf.entry, *leaf.entry & ~TACET_ENTRY_MIRRORED);
		tacet_range_unlock(range, leaf.page);
	}
out:
	mmap_write_unlock(range->mm);
	mutex_unlock(&range->lock);
}
