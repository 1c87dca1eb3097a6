// SPDX-License-Identifier: GPL-2.0
/*
 * Which process has frames of a block: behind pages of its range, or as tables of it.
 *
 * Called by partition/memory.c with the control lock held; sleeps. Only reads, and takes the lock of
 * a piece for a moment; no core is disturbed.
 */
#include <linux/sched/signal.h>

#include "memory/memory.h"
#include "tacet.h"

#define RANGE_PAGES (TACET_RANGE_BYTES >> PAGE_SHIFT)

static bool overlap(u64 first, u64 count, u64 frame, u64 frames)
{
	return frame < first + count && first < frame + frames;
}

/* What leads to @page, with its piece's lock. *@next is the page behind what was looked at. */
static bool path_has(const struct tacet_range *range, unsigned long page, u64 first, u64 count, unsigned long *next)
{
	u64 table = READ_ONCE(range->shared->root);
	unsigned int order = 18;

	for (; ; order -= 9) {
		struct tacet_leaf leaf = { .pages = 1ul << order };

		*next = (page & ~(leaf.pages - 1)) + leaf.pages;
		if (!tacet_frames_have(table, 1))
			return false;
		if (overlap(first, count, table, 1))
			return true;
		leaf.entry = (u64 *)pfn_to_kaddr(table) + (page >> order & 511);
		leaf.value = smp_load_acquire(leaf.entry);
		if (!order || !(leaf.value & TACET_ENTRY_PRESENT) || leaf.value & TACET_ENTRY_LEAF)
			return leaf.value & (TACET_ENTRY_PRESENT | TACET_ENTRY_HELD | TACET_ENTRY_RESERVED) &&
			       overlap(first, count, tacet_leaf_frame(&leaf), leaf.pages);
		table = (leaf.value & TACET_ENTRY_FRAME) >> PAGE_SHIFT;
	}
}

static bool range_has(struct tacet_range *range, u64 first, u64 count)
{
	unsigned long page, next;
	bool has = false;

	for (page = 0; page < RANGE_PAGES && !has; page = next) {
		if (!tacet_range_lock(range, page))
			return false;
		has = path_has(range, page, first, count, &next);
		tacet_range_unlock(range, page);
		cond_resched();
	}
	return has;
}

static pid_t process_of(const struct mm_struct *mm)
{
	struct task_struct *process;
	pid_t pid = 0;

	rcu_read_lock();
	for_each_process(process)
		if (READ_ONCE(process->mm) == mm)
			pid = task_pid_nr(process);
	rcu_read_unlock();
	return pid;
}

/* A process that has some of these frames, or 0: none, or one that has ended but for its memory. */
pid_t tacet_frames_holder(u64 first, unsigned long count)
{
	struct tacet_range *range;
	u64 serial = 0;
	pid_t pid = 0;

	while (!pid && (range = tacet_range_after(serial))) {
		serial = range->serial;
		if (range_has(range, first, count))
			pid = process_of(range->mm);
		tacet_range_put(range);
	}
	return pid;
}
