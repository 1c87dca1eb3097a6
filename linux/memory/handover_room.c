// SPDX-License-Identifier: GPL-2.0
/*
 * Whether Linux has room for a range: for as many mappings as the range has runs of equal pages,
 * and for the pages themselves. A hand-over that began without it would lose the content.
 *
 * Called by memory/handover.c for a range that is closed, before anything is done that cannot be
 * undone. Sleeps.
 *
 * TRICK booked mappings: `mm->map_count` is raised by the mappings that a hand-over is about to make;
 * one more `mmap` then says whether the limit allows them.
 * BREAKS a kernel that counts mappings elsewhere, or believes the count (with
 * CONFIG_DEBUG_VM_MAPLE_TREE it is compared).
 * NOTICED scenario `memory.sh roomless`.
 */
#include <linux/gfp.h>
#include <linux/mman.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

/* Books mappings of the process, or gives them back. */
static void book(struct tacet_range *range, long mappings)
{
	mmap_write_lock(range->mm);
	range->mm->map_count += mappings;
	range->booked += mappings;
	mmap_write_unlock(range->mm);
}

static unsigned long count_runs(struct tacet_range *range)
{
	struct tacet_run run = {};
	unsigned long runs = 0;

	do {
		run = tacet_locked_run(range, run.page + run.pages);
		runs += !!run.pages;
	} while (run.pages);
	return runs;
}

/* Linux says how many mappings a process may have (vm.max_map_count) by refusing one more. */
static bool may_map_one_more(void)
{
	unsigned long address = vm_mmap(NULL, 0, PAGE_SIZE, PROT_NONE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, 0);

	if (IS_ERR_VALUE(address))
		return false;
	vm_munmap(address, PAGE_SIZE);
	return true;
}

/* So many pages can be had, within the limits of the caller's control group. They are tried one
 * by one: nothing else says how much Linux can reclaim without killing anybody. */
static bool has_memory(unsigned long pages)
{
	struct page *page, *last = NULL;

	for (; pages && !fatal_signal_pending(current); pages--) {
		page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
		if (!page)
			break;
		*(struct page **)page_address(page) = last;
		last = page;
		cond_resched();
	}
	while (last) {
		page = last;
		last = *(struct page **)page_address(page);
		__free_page(page);
		cond_resched();
	}
	return !pages;
}

/* -ENOMEM: there is no room. Otherwise the mappings are booked. */
int tacet_handover_book(struct tacet_range *range)
{
	unsigned long runs = count_runs(range);

	lockdep_assert_held(&range->lock);
	if (!has_memory(tacet_range_populated(range)))
		return -ENOMEM;
	book(range, runs);
	if (may_map_one_more())
		return 0;
	tacet_handover_unbook(range, runs);
	return -ENOMEM;
}

/* So many of the booked mappings are about to be made, or will not be made. */
void tacet_handover_unbook(struct tacet_range *range, unsigned long mappings)
{
	book(range, -(long)min(mappings, range->booked));
}
