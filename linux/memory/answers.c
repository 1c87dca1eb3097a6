// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that ask about a range, or wish for what is so in a range anyway. Linux would look at
 * its own mapping, which says nothing; a hand-over would cost the program its memory. So they
 * are answered from the range's tables, as Linux answers for private anonymous memory.
 *
 * Called by memory/calls.c in the thread's own context, for a thread whose calls nobody is to
 * see on Linux. Sleeps. Never changes the range.
 */
#include <linux/mman.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>

#include "arch/arch.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define STEP 512		/* pages that are told at once */

static bool inside(const struct tacet_range *range, u64 start, u64 bytes)
{
	return start >= range->base && bytes <= TACET_RANGE_BYTES &&
	       start - range->base <= TACET_RANGE_BYTES - bytes;
}

/* All of [page, end) is mapped by the program. */
static int all_mapped(struct tacet_range *range, unsigned long page, unsigned long end)
{
	while (page < end) {
		struct tacet_run run = tacet_range_run(range, page);

		if (fatal_signal_pending(current))
			return -EINTR;
		if (!run.pages || run.page != page)
			return -ENOMEM;
		page += run.pages;
	}
	return 0;
}

/* What mincore(2) says of @count pages from @page on. */
static int residence(struct tacet_range *range, unsigned long page, unsigned int count, u8 *said)
{
	unsigned int i = 0;

	while (i < count) {
		struct tacet_leaf leaf;
		unsigned long end;
		bool there;

		if (!tacet_range_lock(range, page + i))
			return -ENOMEM;
		leaf = tacet_range_leaf(range, page + i);
		tacet_range_unlock(range, page + i);
		if (!tacet_leaf_mapped(&leaf))
			return -ENOMEM;
		there = tacet_leaf_has_frames(&leaf);
		for (end = min(leaf.page + leaf.pages, page + count); page + i < end; i++)
			said[i] = there;
	}
	return 0;
}

static int tell_residence(struct tacet_range *range, u64 start, u64 bytes, u8 __user *to)
{
	unsigned long page = (start - range->base) >> PAGE_SHIFT, left = DIV_ROUND_UP(bytes, PAGE_SIZE);
	u8 said[STEP];

	if (!access_ok(to, left))
		return -EFAULT;
	while (left) {
		unsigned int count = min_t(unsigned long, left, STEP);
		int error = residence(range, page, count, said);

		if (error)
			return error;
		if (copy_to_user(to, said, count))
			return -EFAULT;
		if (fatal_signal_pending(current))
			return -EINTR;
		page += count;
		to += count;
		left -= count;
		cond_resched();
	}
	return 0;
}

/* Nothing has to be written to a file. Nor is anything locked: a range that had such pages
 * would be Linux's. */
static int check_sync(struct tacet_range *range, u64 start, u64 bytes, u64 flags)
{
	unsigned long page = (start - range->base) >> PAGE_SHIFT;

	if (flags & ~(u64)(MS_ASYNC | MS_INVALIDATE | MS_SYNC) || offset_in_page(start) ||
	    (flags & MS_ASYNC && flags & MS_SYNC))
		return -EINVAL;
	return all_mapped(range, page, page + DIV_ROUND_UP(bytes, PAGE_SIZE));
}

/* The call's result; -ENOSYS: it is none of these. The range mutex is held: no hand-over is in progress. */
static int result_of(struct tacet_range *range, const struct pt_regs *regs)
{
	u64 start = regs->di, bytes = regs->si, first = round_down(start, PAGE_SIZE);

	lockdep_assert_held(&range->lock);
	switch (tacet_call_number(regs->ax)) {
	case __NR_mincore:
		return offset_in_page(start) ? -EINVAL :
		       tell_residence(range, start, bytes, (u8 __user *)regs->dx);
	case __NR_munlock:
		return all_mapped(range, (first - range->base) >> PAGE_SHIFT,
				  DIV_ROUND_UP(start + bytes - range->base, PAGE_SIZE));
	case __NR_msync:
		return check_sync(range, start, bytes, (int)regs->dx);
	}
	return -ENOSYS;
}

/* The call, whose number is in regs->ax, is one of these and about the range alone: regs->ax has
 * its result. */
bool tacet_range_answers(struct tacet_range *range, struct pt_regs *regs)
{
	long result = -ENOSYS;

	if (!inside(range, regs->di, regs->si))
		return false;
	mutex_lock(&range->lock);
	if (range->visibility == TACET_RANGE_VISIBLE && !range->lost)
		result = result_of(range, regs);
	mutex_unlock(&range->lock);
	if (result == -ENOSYS)
		return false;
	regs->ax = result;
	return true;
}
