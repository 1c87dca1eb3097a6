// SPDX-License-Identifier: GPL-2.0
/*
 * Mirrors go, and held frames. Before the co-kernel takes a frame away from a program,
 * Linux unmaps the page here. If the kernel still uses the frame then (a pipe, a device), it
 * is held: the co-kernel does not hand it out again until the kernel has let go of it.
 *
 * Called in contexts that sleep. No page is mirrored meanwhile: the mmap lock is held, or
 * the process has ended.
 */
#include <linux/delay.h>
#include <linux/list.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define LOOK_AGAIN_MS 20
#define MOMENTS 200			/* of 50 us or more, for all pages of a call */
#define TRANSFER_PATIENCE_MS 3000	/* for all pages of a range */

struct held_frame {
	struct list_head link;
	u64 number;
};

static LIST_HEAD(held_frames);
static DEFINE_MUTEX(held_lock);

static void free_released(struct work_struct *work);
static DECLARE_DELAYED_WORK(release_work, free_released);

/* The co-kernel's records of block number @i. */
static struct tacet_frame *records_of(unsigned int i)
{
	return tacet_partition.blocks[i].joined ? tacet_partition.blocks[i].records :
						  &tacet_partition.frames[tacet_partition.memory->blocks[i].slot];
}

/* In the co-kernel's record of frame @number: enum tacet_held. NULL: no such frame. */
static u32 *held_state(u64 number)
{
	struct tacet_memory *memory = tacet_partition.memory;
	unsigned int i, blocks = smp_load_acquire(&memory->block_count);
	u32 *held = NULL;

	rcu_read_lock();	/* as in walk.c */
	for (i = 0; i < blocks && !held; i++) {
		const struct tacet_frames *frames = &memory->blocks[i];
		u64 first = smp_load_acquire(&frames->first);

		if (number >= first && number - first < READ_ONCE(frames->count))
			held = &records_of(i)[number - first].held;
	}
	rcu_read_unlock();
	return held;
}

/* The kernel uses the frame: the co-kernel must not hand it out again. */
static void hold(u64 number)
{
	struct held_frame *frame = kmalloc(sizeof(*frame), GFP_KERNEL | __GFP_NOFAIL);
	u32 *state = held_state(number);

	/* Under the lock: release_frame() may be about to let go of it, because nobody used it
	 * when it looked. Either it looks again now, or we find the frame released. */
	mutex_lock(&held_lock);
	if (!state || cmpxchg(state, TACET_HELD_NOT, TACET_HELD_BY_LINUX) != TACET_HELD_NOT) {
		mutex_unlock(&held_lock);
		kfree(frame);	/* it is on the list already */
		return;
	}
	__atomic_add_fetch(&tacet_partition.memory->held_count, 1, __ATOMIC_SEQ_CST);
	frame->number = number;
	list_add(&frame->link, &held_frames);
	mutex_unlock(&held_lock);
	queue_delayed_work(tacet_workqueue, &release_work, msecs_to_jiffies(LOOK_AGAIN_MS));
}

/* True if the kernel has let go of the frame: then it is held no more. */
static bool release_frame(const struct held_frame *frame)
{
	u32 *state = held_state(frame->number);

	lockdep_assert_held(&held_lock);
	if (page_count(pfn_to_page(frame->number)) != 1)
		return false;
	/* If a program has freed it meanwhile, the co-kernel has left it to us. */
	if (cmpxchg(state, TACET_HELD_BY_LINUX, TACET_HELD_NOT) != TACET_HELD_BY_LINUX)
		tacet_ask(TACET_ASK_FREE, frame->number, 0);
	__atomic_sub_fetch(&tacet_partition.memory->held_count, 1, __ATOMIC_SEQ_CST);
	return true;
}

static void free_released(struct work_struct *work)
{
	struct held_frame *frame, *next;

	mutex_lock(&held_lock);
	list_for_each_entry_safe(frame, next, &held_frames, link) {
		if (!release_frame(frame))
			continue;
		list_del(&frame->link);
		kfree(frame);
	}
	if (!list_empty(&held_frames))
		queue_delayed_work(tacet_workqueue, &release_work, msecs_to_jiffies(LOOK_AGAIN_MS));
	mutex_unlock(&held_lock);
}

/* Linux still uses @frame, which a program had. */
bool tacet_held_has(u64 frame)
{
	const u32 *state = held_state(frame);

	return state && READ_ONCE(*state) != TACET_HELD_NOT;
}

/* Linux still uses some frame that a program had. */
bool tacet_held_any(void)
{
	bool any;

	mutex_lock(&held_lock);
	any = !list_empty(&held_frames);
	mutex_unlock(&held_lock);
	return any;
}

/* The partition ends and its pages are Linux's: the last user of a held page frees it. */
void tacet_held_exit(void)
{
	struct held_frame *frame, *next;

	cancel_delayed_work_sync(&release_work);
	list_for_each_entry_safe(frame, next, &held_frames, link) {
		list_del(&frame->link);
		kfree(frame);
	}
}

/* A futex call holds a page for a moment, to learn whose page it is. Other users hold
 * theirs for as long as they like. */
static void await_momentary(const struct folio *folio, unsigned int *moments)
{
	for (; folio_ref_count(folio) != 1 && *moments; --*moments)
		usleep_range(50, 100);
}

/*
 * Nobody can reach the pages of the range, and all of them are about to get other frames: waits
 * for transfers of devices in progress, whose data would be lost. False: some pages are still
 * used. Their users may keep them as long as they like (a pipe, registered buffers).
 */
bool tacet_held_await(struct tacet_range *range)
{
	ktime_t deadline = ktime_add_ms(ktime_get(), TRANSFER_PATIENCE_MS);
	unsigned long page = 0, i;

	while (page < TACET_RANGE_BYTES >> PAGE_SHIFT && tacet_range_lock(range, page)) {
		struct tacet_leaf leaf = tacet_range_leaf(range, page);
		unsigned long end = tacet_leaf_end(&leaf);

		tacet_range_unlock(range, page);
		page = end;
		if (!tacet_leaf_has_frames(&leaf))
			continue;
		for (i = 0; i < leaf.pages; i++) {
			const struct folio *folio = page_folio(pfn_to_page(tacet_leaf_frame(&leaf) + i));

			while (folio_ref_count(folio) != 1) {
				if (fatal_signal_pending(current) || ktime_after(ktime_get(), deadline))
					return false;
				usleep_range(100, 500);
			}
		}
		cond_resched();
	}
	return true;
}

/* Takes the frames of a leaf out of the range's file; holds those that the kernel uses. */
static void part_from(const struct tacet_leaf *leaf, unsigned int *moments)
{
	u64 first = tacet_leaf_frame(leaf);
	unsigned long i;

	if (!tacet_frames_have(first, leaf->pages))
		return;
	for (i = 0; i < leaf->pages; i++) {
		struct folio *folio = page_folio(pfn_to_page(first + i));

		if (!folio->mapping && folio_ref_count(folio) == 1)
			continue;	/* Linux has no mirror of it */
		await_momentary(folio, moments);
		folio->mapping = NULL;
		if (folio_ref_count(folio) != 1)
			hold(first + i);
	}
}

/* Finds the next mirrored leaf from *@page on, and moves *@page behind it. */
static bool next_mirrored(struct tacet_range *range, unsigned long *page, unsigned long end,
			  struct tacet_leaf *leaf)
{
	unsigned long behind;

	while (*page < end) {
		if (!tacet_range_lock(range, *page))
			return false;
		*leaf = tacet_range_leaf(range, *page);
		behind = tacet_leaf_end(leaf);
		tacet_range_unlock(range, *page);
		*page = behind;
		if (leaf->entry && leaf->value & TACET_ENTRY_MIRRORED &&
		    !(leaf->value & TACET_ENTRY_RESERVED))
			return true;
		cond_resched();
	}
	return false;
}

/* For pages that Linux does not map any more, and will not. */
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

/* Removes the mirrors of all pages from @page to before @end, so that a core may change these. Sleeps; the range mutex is
 * held, and the range is not handed over. */
void tacet_range_unmirror_locked(struct tacet_range *range, unsigned long page, unsigned long end)
{
	unsigned int moments = MOMENTS;
	struct tacet_leaf leaf;

	lockdep_assert_held(&range->lock);
	mmap_write_lock(range->mm);
	while (!range->partition_gone && next_mirrored(range, &page, end, &leaf)) {
		tacet_range_zap(range, (loff_t)leaf.page << PAGE_SHIFT, (loff_t)leaf.pages << PAGE_SHIFT);
		part_from(&leaf, &moments);
		if (!tacet_range_lock(range, leaf.page))
			break;
		/* Only Linux changes a leaf that is mirrored. */
		WRITE_ONCE(*leaf.entry, *leaf.entry & ~TACET_ENTRY_MIRRORED);
		tacet_range_unlock(range, leaf.page);
	}
	mmap_write_unlock(range->mm);
}

/* The same for [start, end), if cores have the range. */
void tacet_range_unmirror(struct tacet_range *range, u64 start, u64 end)
{
	if (start < range->base || end > range->base + TACET_RANGE_BYTES)
		return;
	mutex_lock(&range->lock);
	if (range->visibility == TACET_RANGE_VISIBLE)
		tacet_range_unmirror_locked(range, (start - range->base) >> PAGE_SHIFT,
					    (end - range->base) >> PAGE_SHIFT);
	mutex_unlock(&range->lock);
}
