// SPDX-License-Identifier: GPL-2.0
/*
 * Linux counts the frames of a range as the process's resident memory (VmRSS, VmHWM, statm,
 * ru_maxrss). Cores count them (border); here Linux's own counters follow, whenever a thread
 * of the process comes to Linux and ten times a second: each reader of Linux's files finds them.
 *
 * Called by delegate/serve.c, process/watch.c, and before the frames go or become Linux's.
 * Any context in which spinlocks may be taken. Never sleeps.
 *
 * TRICK resident memory by hand: `mm->rss_stat` and `mm->hiwater_rss` are changed without Linux's
 * functions, which it does not export: the tracepoint `rss_stat` does not fire.
 * BREAKS a kernel that counts otherwise.
 * NOTICED it does not build where the fields have other types; Linux's "Bad rss-counter state" at the
 * process's end; `tests/user/resident.c`.
 */
#include <linux/mm.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define RANGE_PAGES ((long)(TACET_RANGE_BYTES >> PAGE_SHIFT))

/* Under the range's counted_lock. */
static void count(struct tacet_range *range, long pages, long most)
{
	struct mm_struct *mm = range->mm;
	long peak = get_mm_rss(mm) - range->counted + most;

	if (peak > 0 && mm->hiwater_rss < peak)
		WRITE_ONCE(mm->hiwater_rss, peak);
	tacet_add_resident(mm, pages - range->counted);
	WRITE_ONCE(range->counted, pages);
	WRITE_ONCE(range->counted_most, most);
}

/* What cores say: they may not be believed blindly. */
static long checked(s64 said)
{
	return clamp_t(s64, said, 0, RANGE_PAGES);
}

/* Linux's counters have what cores have counted. */
void tacet_range_account(struct tacet_range *range)
{
	const struct tacet_range_shared *shared = range->shared;
	long pages;

	if (READ_ONCE(range->counted_for_good) || (READ_ONCE(shared->frames) == READ_ONCE(range->counted) &&
						   READ_ONCE(shared->most_frames) == READ_ONCE(range->counted_most)))
		return;
	spin_lock(&range->counted_lock);
	if (!range->counted_for_good) {
		pages = checked(READ_ONCE(shared->frames));
		count(range, pages, checked(READ_ONCE(shared->most_frames)));
	}
	spin_unlock(&range->counted_lock);
}

/* The frames are about to go: the counters have none of them any more. */
void tacet_range_account_end(struct tacet_range *range)
{
	tacet_range_account(range);
	spin_lock(&range->counted_lock);
	if (!range->counted_for_good)
		count(range, 0, range->counted_most);
	WRITE_ONCE(range->counted_for_good, true);
	spin_unlock(&range->counted_lock);
}
