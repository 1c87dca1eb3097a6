// SPDX-License-Identifier: GPL-2.0
/*
 * Walks a range's page tables, which the co-kernel writes (memory.h).
 *
 * The caller holds the lock of the page's piece, or the range is closed: then nobody changes
 * the tables. Every entry is checked before it is used: a frame that is not the partition's
 * is treated as none.
 */
#include <linux/mman.h>

#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define RANGE_PAGES (TACET_RANGE_BYTES >> PAGE_SHIFT)

/* [frame, frame + count) are frames of the partition that programs may have. */
bool tacet_frames_have(u64 frame, unsigned long count)
{
	const struct tacet_memory *memory = tacet_partition.memory;
	unsigned int i, blocks = smp_load_acquire(&memory->block_count);
	bool have = false;

	/* A block's place is used again only when nobody reads it any more (partition/memory.c). */
	rcu_read_lock();
	for (i = 0; i < blocks; i++) {
		const struct tacet_frames *frames = &memory->blocks[i];
		u64 first = smp_load_acquire(&frames->first);

		if (frame >= first && frame - first < READ_ONCE(frames->count)) {
			have = count <= frames->count - (frame - first);
			break;
		}
	}
	rcu_read_unlock();
	return have;
}

/* The entry that maps @page, or would; its `entry` is NULL if a table is missing. */
struct tacet_leaf tacet_range_leaf(const struct tacet_range *range, unsigned long page)
{
	u64 table = READ_ONCE(range->shared->root);
	unsigned int order = 18;

	for (; ; order -= 9) {
		struct tacet_leaf leaf = { .page = page & ~((1ul << order) - 1), .pages = 1ul << order };

		if (!tacet_frames_have(table, 1))
			return leaf;
		leaf.entry = (u64 *)pfn_to_kaddr(table) + (page >> order & 511);
		leaf.value = smp_load_acquire(leaf.entry);
		if (!order || !(leaf.value & TACET_ENTRY_PRESENT) || leaf.value & TACET_ENTRY_LEAF)
			return leaf;
		table = (leaf.value & TACET_ENTRY_FRAME) >> PAGE_SHIFT;
	}
}

/*
 * The page behind @leaf and, if it is empty, behind the empty entries that follow in its table: most of a
 * range is empty. A table of other pieces is looked at without their locks: what a core maps there now it might as
 * well map after the walk.
 */
unsigned long tacet_leaf_end(const struct tacet_leaf *leaf)
{
	unsigned long end = leaf->page + leaf->pages;
	const u64 *entry = leaf->entry;

	if (!entry || leaf->value)
		return end;
	for (entry++; !IS_ALIGNED((unsigned long)entry, PAGE_SIZE) && !READ_ONCE(*entry); entry++)
		end += leaf->pages;
	return end;
}

u64 tacet_leaf_frame(const struct tacet_leaf *leaf)
{
	u64 named = leaf->value & TACET_ENTRY_PRESENT ? leaf->value : ~leaf->value;

	return (named & TACET_ENTRY_FRAME) >> PAGE_SHIFT;
}

/* The page has content. An entry that is reserved may have a frame that is not zeroed yet. */
bool tacet_leaf_has_frames(const struct tacet_leaf *leaf)
{
	return leaf->value & (TACET_ENTRY_PRESENT | TACET_ENTRY_HELD) &&
	       !(leaf->value & TACET_ENTRY_RESERVED) &&
	       tacet_frames_have(tacet_leaf_frame(leaf), leaf->pages);
}

/* The page is mapped, but its entry does not allow the access. */
bool tacet_leaf_forbids(const struct tacet_leaf *leaf, bool write, bool execute)
{
	return leaf->value && (!(leaf->value & TACET_ENTRY_READABLE) ||
			       (write && !(leaf->value & TACET_ENTRY_WRITABLE)) ||
			       (execute && leaf->value & TACET_ENTRY_NO_EXECUTE));
}

/* The program has mapped the page. */
bool tacet_leaf_mapped(const struct tacet_leaf *leaf)
{
	return leaf->value & (TACET_ENTRY_PRESENT | TACET_ENTRY_RESERVED | TACET_ENTRY_HELD);
}

static unsigned long leaf_protection(const struct tacet_leaf *leaf)
{
	return (leaf->value & TACET_ENTRY_READABLE ? PROT_READ : 0) |
	       (leaf->value & TACET_ENTRY_WRITABLE ? PROT_WRITE : 0) |
	       (leaf->value & TACET_ENTRY_NO_EXECUTE ? 0 : PROT_EXEC);
}

/* The first run at @from or behind it; pages is 0 if there is none. Takes each piece's lock
 * for a moment, unless the cores are gone. Sleeps. */
struct tacet_run tacet_range_run(struct tacet_range *range, unsigned long from)
{
	struct tacet_run run = {};

	while (from < RANGE_PAGES) {
		bool locked = tacet_range_lock(range, from);
		struct tacet_leaf leaf = tacet_range_leaf(range, from);
		unsigned long protection = leaf_protection(&leaf);
		bool undumped = leaf.value & TACET_ENTRY_UNDUMPED;
		unsigned long end = tacet_leaf_end(&leaf);

		if (locked)
			tacet_range_unlock(range, from);
		if (!run.pages && tacet_leaf_mapped(&leaf))
			run = (struct tacet_run){ .page = from, .protection = protection, .undumped = undumped };
		else if (run.pages && (!tacet_leaf_mapped(&leaf) || protection != run.protection || undumped != run.undumped))
			break;
		from = end;
		if (tacet_leaf_mapped(&leaf))
			run.pages = from - run.page;
		cond_resched();
	}
	return run;
}

/* How many pages of the range have frames. Sleeps. */
unsigned long tacet_range_populated(struct tacet_range *range)
{
	unsigned long page = 0, end, populated = 0;

	while (page < RANGE_PAGES) {
		struct tacet_leaf leaf;

		if (!tacet_range_lock(range, page))
			break;
		leaf = tacet_range_leaf(range, page);
		end = tacet_leaf_end(&leaf);
		tacet_range_unlock(range, page);
		if (leaf.value & (TACET_ENTRY_PRESENT | TACET_ENTRY_HELD))
			populated += leaf.pages;
		page = end;
		cond_resched();
	}
	return populated;
}
