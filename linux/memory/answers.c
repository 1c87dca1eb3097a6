// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that ask about a range, or wish for what is so in a range anyway. Linux would look at
 * its own mapping, which says nothing; a hand-over would cost the program its memory. So they
 * are answered from the range's tables, as Linux answers for private anonymous memory.
 *
 * Called by memory/calls.c in the thread's own context, for a thread whose calls nobody is to
 * see on Linux. Sleeps. Never changes what is mapped in the range.
 */
#include <linux/capability.h>
#include <linux/mman.h>
#include <linux/resource.h>
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

/* The end of what the program has mapped from @page on, at most @end. */
static unsigned long mapped_end(struct tacet_range *range, unsigned long page, unsigned long end)
{
	while (page < end && !fatal_signal_pending(current)) {
		struct tacet_run run = tacet_range_run(range, page);

		if (!run.pages || run.page != page)
			break;
		page += run.pages;
	}
	return min(page, end);
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

/* Nothing has to be written to a file. */
static int check_sync(struct tacet_range *range, u64 start, u64 bytes, u64 flags)
{
	unsigned long page = (start - range->base) >> PAGE_SHIFT, end = page + DIV_ROUND_UP(bytes, PAGE_SIZE);

	if (flags & ~(u64)(MS_ASYNC | MS_INVALIDATE | MS_SYNC) || offset_in_page(start) ||
	    (flags & MS_ASYNC && flags & MS_SYNC))
		return -EINVAL;
	if (flags & MS_INVALIDATE && tacet_locked_any(range, page, end))
		return -EBUSY;
	return mapped_end(range, page, end) == end ? 0 : -ENOMEM;
}

/* munlock(2), or mlock2(2) with @flags. */
static int lock_pages(struct tacet_range *range, u64 start, u64 bytes, bool lock, u64 flags)
{
	unsigned long page = (round_down(start, PAGE_SIZE) - range->base) >> PAGE_SHIFT;
	unsigned long end = DIV_ROUND_UP(start + bytes - range->base, PAGE_SIZE), mapped;
	int error;

	if (flags & ~(u64)MLOCK_ONFAULT)
		return -EINVAL;
	mapped = mapped_end(range, page, end);
	if (lock)
		return tacet_locked_add(range, page, end, mapped, flags);
	error = tacet_locked_remove(range, page, mapped);
	return error ?: mapped == end ? 0 : -ENOMEM;
}

/* The call's result; -ENOSYS: it is none of these. The range mutex is held: no hand-over is in progress. */
static int result_of(struct tacet_range *range, const struct pt_regs *regs)
{
	u64 start = regs->di, bytes = regs->si;

	lockdep_assert_held(&range->lock);
	switch (tacet_call_number(regs->ax)) {
	case __NR_mincore:
		return offset_in_page(start) ? -EINVAL :
		       tell_residence(range, start, bytes, (u8 __user *)regs->dx);
	case __NR_mlock:
		return lock_pages(range, start, bytes, true, 0);
	case __NR_mlock2:
		return lock_pages(range, start, bytes, true, (int)regs->dx);
	case __NR_munlock:
		return lock_pages(range, start, bytes, false, 0);
	case __NR_msync:
		return check_sync(range, start, bytes, (int)regs->dx);
	}
	return -ENOSYS;
}

/* Such a caller's mlockall(2) is done without the range's becoming Linux's: nothing has to be counted
 * against a limit when it maps more. */
bool tacet_range_locks_without_limit(void)
{
	return rlimit(RLIMIT_MEMLOCK) == RLIM_INFINITY || capable(CAP_IPC_LOCK);
}

/* Before Linux performs mlockall(2) or munlockall(2), whose number is in regs->ax: the same in the
 * range. */
void tacet_range_locks_all(struct tacet_range *range, const struct pt_regs *regs)
{
	bool lock = tacet_call_number(regs->ax) == __NR_mlockall;
	unsigned int flags = regs->di;

	/* Linux refuses these. */
	if (lock && (!flags || flags == MCL_ONFAULT || flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)))
		return;
	mutex_lock(&range->lock);
	if (range->visibility == TACET_RANGE_VISIBLE && !range->lost) {
		if (!lock)
			tacet_locked_remove(range, 0, TACET_RANGE_BYTES >> PAGE_SHIFT);
		tacet_locked_all(range, lock ? flags : 0);
	}
	mutex_unlock(&range->lock);
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
