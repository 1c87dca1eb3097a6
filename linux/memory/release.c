// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a range: with the last piece of its mapping, when a process ends or its memory
 * has become Linux's, or with the partition.
 *
 * Sleeps.
 */
#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define RANGE_PAGES (TACET_RANGE_BYTES >> PAGE_SHIFT)

/* The mapping has one piece less. With the last piece all memory goes back to the co-kernel:
 * Linux maps none of it any more, and no core can find it. */
void tacet_range_mapping_gone(struct tacet_range *range)
{
	if (!atomic_dec_and_test(&range->mappings))
		return;
	WRITE_ONCE(range->visibility, TACET_RANGE_HANDED_OVER);
	tacet_range_account_end(range);
	if (!range->partition_gone) {
		tacet_held_mark(range, 0, RANGE_PAGES);
		WRITE_ONCE(range->shared->state, TACET_RANGE_NONE);
		tacet_range_withdraw(range);
		tacet_ask(TACET_ASK_CLEAR, range->number, 0);
	}
	tacet_locked_end(range);
	tacet_range_unlist(range, false);
	tacet_range_put(range);
}

/* The cores are gone. A process that still has a range, after a failure, loses the content. */
void tacet_memory_end(void)
{
	struct tacet_range *range;

	lockdep_assert_held(&tacet_control_lock);
	while ((range = tacet_range_any())) {
		mutex_lock(&range->lock);
		mmap_write_lock(range->mm);
		if (range->mapping)
			tacet_range_zap(range, 0, 0);
		tacet_range_account_end(range);
		tacet_locked_end(range);
		tacet_range_unlist(range, true);
		mmap_write_unlock(range->mm);
		mutex_unlock(&range->lock);
		tacet_range_put(range);
	}
	tacet_held_exit();
	tacet_ranges_end();
}
