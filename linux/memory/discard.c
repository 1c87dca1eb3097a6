// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a range that the program gives back past the cores: a ring's MADV_DONTNEED
 * (IORING_OP_MADVISE), or that of a process that has a descriptor of this one. Linux removes its own
 * mappings of these pages and tells MMU notifiers; the content, which is in frames that it knows
 * nothing of, has to go too.
 *
 * The notifier may not wait for a range's mutex, since it has the mmap lock. So it only writes down
 * which pages, and from then on cores find nothing in the range and serve no call about it, as during
 * a fork. Whoever wants something of the range, or a work item, has a core discard the pages first.
 *
 * Called by border/unmaps.c, and by whoever finds tacet_discards_any(). What was given back is in discards.c.
 *
 * TRICK what Linux unmaps: an MMU notifier's start with MMU_NOTIFY_CLEAR, which is not the module's
 * own, is a program that gives memory back.
 * BREAKS a kernel that unmaps pages of files with this event for another cause: the program's data
 * would be lost.
 * NOTICED `tests/user/ringadvice.c`, `coherence.c`; scenario "machine checks on cores".
 */
#include <linux/highmem.h>
#include <linux/page-flags.h>
#include <linux/sched/signal.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "pico/linux/grants.h"
#include "tacet.h"

/* Linux takes a bad frame away from a program: what is to be found there is an error. */
static bool takes_bad_frame(struct tacet_range *range, unsigned long page)
{
	struct tacet_leaf leaf;
	bool bad;

	if (!tacet_range_lock(range, page))
		return false;
	leaf = tacet_range_leaf(range, page);
	bad = tacet_leaf_has_frames(&leaf) &&
	      PageHWPoison(pfn_to_page(tacet_leaf_frame(&leaf) + (page - leaf.page)));
	tacet_range_unlock(range, page);
	return bad;
}

/* Cores find nothing of the range from now on. */
static void hide(struct tacet_range *range)
{
	atomic_inc(&range->forks);
	tacet_range_count_forks(range, 1);
}

static void show(struct tacet_range *range)
{
	tacet_range_count_forks(range, -1);
	atomic_dec(&range->forks);
}

static void discard_soon(struct tacet_range *range)
{
	kref_get(&range->references);
	if (!queue_work(tacet_workqueue, &range->discard_work))
		tacet_range_put(range);
}

/*
 * Linux has the mmap lock: so the range has its mapping, and its number. Without memory to write down what
 * is given back the program would read it again: it ends, as one for which Linux has no memory does.
 */
static void give_back(struct tacet_range *range, unsigned long start, unsigned long end)
{
	unsigned long first = (max(start, range->base) - range->base) >> PAGE_SHIFT;
	unsigned long behind = (min(end, range->base + TACET_RANGE_BYTES) - range->base) >> PAGE_SHIFT;

	if (READ_ONCE(range->visibility) != TACET_RANGE_VISIBLE || READ_ONCE(range->lost) ||
	    READ_ONCE(range->partition_gone) || (behind == first + 1 && takes_bad_frame(range, first)))
		return;
	if (!tacet_discards_add(range, first, behind - first, hide)) {
		tacet_report(TACET_LOG_WARNING, "process %d: killed: no memory to note what it gives back",
			     current->tgid);
		send_sig(SIGKILL, current, 1);
		return;
	}
	tacet_range_sync(range);
	discard_soon(range);
}

/* Linux is about to unmap [start, end) of a process. */
static void unmapped(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	struct tacet_range *range = tacet_range_get(mm);

	if (!range)
		return;
	if (tacet_range_covers(range, start, end - start) && !tacet_range_zaps())
		give_back(range, start, end);
	tacet_range_put(range);
}

/* The partition has no memory for a page table that it takes to free a part of a large page: the program
 * keeps the frames, with zeros. */
static void wipe(struct tacet_range *range, unsigned long page, unsigned long end)
{
	struct tacet_leaf leaf;

	for (; page < end && tacet_range_lock(range, page); page++) {
		leaf = tacet_range_leaf(range, page);
		tacet_range_unlock(range, page);
		if (tacet_leaf_has_frames(&leaf))
			clear_highpage(pfn_to_page(tacet_leaf_frame(&leaf) + (page - leaf.page)));
		else
			page = leaf.page + leaf.pages - 1;
		cond_resched();
	}
}

/* Linux does not know that pages are locked: it would refuse to discard such. */
static void discard(struct tacet_range *range, unsigned long first, unsigned long pages)
{
	if (tacet_locked_any(range, first, first + pages))
		return;
	tacet_range_unmirror_locked(range, first, first + pages);
	if (tacet_ask_discard(range->number, first, pages) == -ENOMEM)
		wipe(range, first, first + pages);
}

/* What was given back by now is gone. Sleeps; the range mutex is held. */
void tacet_discard_settle_locked(struct tacet_range *range)
{
	unsigned long first, pages;
	bool mapped;

	lockdep_assert_held(&range->lock);
	if (!tacet_discards_any(range))
		return;
	/* Without a mapping the range has no number any more: what it shares with cores is perhaps another one's. */
	mapped = !range->partition_gone && atomic_inc_not_zero(&range->mappings);
	if (mapped)
		tacet_grants_settle(range->mm);	/* devices are done with the pages */
	while (tacet_discards_take(range, &first, &pages, show))
		if (mapped && range->visibility != TACET_RANGE_HANDED_OVER)
			discard(range, first, pages);
	tacet_range_sync(range);
	if (mapped)
		tacet_range_mapping_gone(range);
}

/* The same, without the mutex and the mmap lock. */
void tacet_discard_settle(struct tacet_range *range)
{
	if (!tacet_discards_any(range))
		return;
	mutex_lock(&range->lock);
	tacet_discard_settle_locked(range);
	mutex_unlock(&range->lock);
}

static void settle_queued(struct work_struct *work)
{
	struct tacet_range *range = container_of(work, struct tacet_range, discard_work);

	tacet_discard_settle(range);
	tacet_range_put(range);
}

/* Of a new range, before anybody finds it. */
void tacet_discard_begin(struct tacet_range *range)
{
	INIT_WORK(&range->discard_work, settle_queued);
}

void tacet_discard_init(void)
{
	tacet_unmaps_tell(unmapped);
}
