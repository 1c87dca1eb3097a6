// SPDX-License-Identifier: GPL-2.0
/*
 * The pages of a range that its program has locked (mlock(2), mlockall(2)). The partition's
 * memory never leaves it, so a lock is only written down: for the limits, for VmLck, for the
 * calls that refuse locked pages, and for the day on which the range becomes Linux's.
 *
 * Called by memory/answers.c and calls.c in the thread's own context with the range mutex, and by
 * the hand-over. Sleeps. Owns range->locks and range->locked_pages.
 *
 * Locked pages have the mark of mirrored ones (memory/mirror.c), so a core does not take one away
 * before it has come here. Beyond that cores know nothing of locks. So a page that was unmapped
 * on a core before it had a frame, and mapped again, is still counted; and what mremap(2) moves
 * is not locked any more.
 */
#include <linux/maple_tree.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/signal.h>
#include <asm/unistd.h>

#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define RANGE_PAGES (TACET_RANGE_BYTES >> PAGE_SHIFT)
#define LOCKED xa_mk_value(1)
/* So many runs are counted before others may have the CPU. */
#define AT_ONCE 1024

void tacet_locked_end(struct tacet_range *range)
{
	mtree_destroy(&range->locks);
}

/* How many pages of [page, end) are locked. */
static unsigned long count_locked(struct tacet_range *range, unsigned long page, unsigned long end)
{
	MA_STATE(state, &range->locks, page, page);
	unsigned long count = 0, seen = 0;
	void *entry;

	/* The range mutex keeps the tree as it is; a program may have locked millions of runs. */
	mas_lock(&state);
	mas_for_each(&state, entry, end - 1) {
		count += min(state.last, end - 1) - max(state.index, page) + 1;
		if (++seen % AT_ONCE)
			continue;
		mas_pause(&state);
		mas_unlock(&state);
		cond_resched();
		mas_lock(&state);
	}
	mas_unlock(&state);
	return count;
}

/* Linux's count, which is in VmLck and has a limit. */
static int count_in_linux(struct tacet_range *range, long pages)
{
	if (mmap_write_lock_killable(range->mm))
		return -EINTR;
	range->mm->locked_vm += pages;
	range->locked_pages += pages;
	mmap_write_unlock(range->mm);
	return 0;
}

/* Ends locks in [page, end). */
int tacet_locked_remove(struct tacet_range *range, unsigned long page, unsigned long end)
{
	unsigned long count;
	int error;

	lockdep_assert_held(&range->lock);
	if (page >= end || mtree_empty(&range->locks))
		return 0;
	count = count_locked(range, page, end);
	error = count ? count_in_linux(range, -(long)count) : 0;
	return error ?: mtree_store_range(&range->locks, page, end - 1, NULL, GFP_KERNEL_ACCOUNT);
}

/* Any of [page, end) is locked. */
bool tacet_locked_any(struct tacet_range *range, unsigned long page, unsigned long end)
{
	MA_STATE(state, &range->locks, page, page);
	bool any;

	if (page >= end || mtree_empty(&range->locks))
		return false;
	mas_lock(&state);
	any = mas_find(&state, end - 1);
	mas_unlock(&state);
	return any;
}

/* As Linux: the limit is for all pages of the call, whether they are mapped or not. */
static int check_limit(struct tacet_range *range, unsigned long page, unsigned long end)
{
	unsigned long more = end - page - count_locked(range, page, end);

	if (!can_do_mlock())
		return -EPERM;
	if (READ_ONCE(range->mm->locked_vm) + more > rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT && !capable(CAP_IPC_LOCK))
		return -ENOMEM;
	return 0;
}

/* Marks the leaf so that a core asks before it takes the page away. True: it has a frame. */
static bool mark(struct tacet_range *range, unsigned long page, struct tacet_leaf *leaf)
{
	bool there;

	if (!tacet_range_lock(range, page))
		return false;
	*leaf = tacet_range_leaf(range, page);
	there = leaf->value & TACET_ENTRY_PRESENT && tacet_leaf_has_frames(leaf);
	if (there)
		WRITE_ONCE(*leaf->entry, leaf->value | TACET_ENTRY_MIRRORED);
	tacet_range_unlock(range, page);
	return there;
}

/* Puts a frame behind each page of [page, end). As mlock(2): -ENOMEM if one may not be touched,
 * -EAGAIN if there is no memory. */
static int bring(struct tacet_range *range, unsigned long page, unsigned long end)
{
	struct tacet_leaf leaf = {};

	while (page < end) {
		int error;

		if (fatal_signal_pending(current))
			return -EINTR;
		if (mark(range, page, &leaf)) {
			page = leaf.page + leaf.pages;
			cond_resched();
			continue;
		}
		if (!tacet_leaf_mapped(&leaf) || tacet_leaf_forbids(&leaf, false, false))
			return -ENOMEM;
		error = tacet_ask_touch(range->number, page, leaf.value & TACET_ENTRY_WRITABLE,
					tacet_policy_mine(), tacet_nodes_allowed());
		if (error)
			return error == -ENOMEM ? -EAGAIN : -ENOMEM;
	}
	return 0;
}

static int lock_run(struct tacet_range *range, unsigned long page, unsigned long end)
{
	long more = end - page - count_locked(range, page, end);
	int error;

	if (!more)
		return 0;
	error = mtree_store_range(&range->locks, page, end - 1, LOCKED, GFP_KERNEL_ACCOUNT);
	return error ?: count_in_linux(range, more);
}

/* mlock(2) of [page, end), of which the program has mapped the pages below @mapped_end. */
int tacet_locked_add(struct tacet_range *range, unsigned long page, unsigned long end, unsigned long mapped_end,
		     bool on_fault)
{
	int error = check_limit(range, page, end);

	lockdep_assert_held(&range->lock);
	if (error)
		return error;
	error = lock_run(range, page, mapped_end);
	if (error)
		return error;
	if (mapped_end < end)
		return -ENOMEM;
	return on_fault ? 0 : bring(range, page, end);
}

/*
 * mlockall(2), for a caller without limit: the range's part, before Linux does its own. What
 * cannot be brought is no error there either. New mappings have their pages at once, if @flags
 * want that; they are not counted.
 */
void tacet_locked_all(struct tacet_range *range, unsigned int flags)
{
	unsigned long page = 0;
	struct tacet_run run;

	lockdep_assert_held(&range->lock);
	WRITE_ONCE(range->shared->eager, range->eager || (flags & MCL_FUTURE && !(flags & MCL_ONFAULT)));
	if (!(flags & MCL_CURRENT))
		return;
	do {
		run = tacet_range_run(range, page);
		page = run.page + run.pages;
		if (run.pages && lock_run(range, run.page, page))
			return;
		if (run.pages && !(flags & MCL_ONFAULT))
			bring(range, run.page, page);
	} while (run.pages && !fatal_signal_pending(current));
}

/* As tacet_range_run(), but all pages of the run are locked, or none is. */
struct tacet_run tacet_locked_run(struct tacet_range *range, unsigned long from)
{
	struct tacet_run run = tacet_range_run(range, from);
	MA_STATE(state, &range->locks, run.page, run.page);
	unsigned long end = run.page + run.pages;

	if (!run.pages || mtree_empty(&range->locks))
		return run;
	mas_lock(&state);
	if (mas_find(&state, end - 1)) {
		run.locked = state.index <= run.page;
		end = min(end, run.locked ? state.last + 1 : state.index);
	}
	mas_unlock(&state);
	run.pages = end - run.page;
	return run;
}

/* The range is about to become Linux's, which counts the pages itself. */
void tacet_locked_hand_over(struct tacet_range *range)
{
	mmap_write_lock(range->mm);
	range->mm->locked_vm -= range->locked_pages;
	range->locked_pages = 0;
	mmap_write_unlock(range->mm);
}

static bool may_refuse(const struct pt_regs *regs)
{
	return tacet_call_number(regs->ax) == __NR_madvise &&
	       ((int)regs->dx == MADV_DONTNEED || (int)regs->dx == MADV_FREE);
}

static bool keeps_pages(const struct pt_regs *regs)
{
	long number = tacet_call_number(regs->ax);

	return number == __NR_mprotect || number == __NR_mbind || number == __NR_madvise;
}

/* A core wants to take away or change pages of [start, end) that are marked. True: they are locked,
 * and the call, whose number is in regs->ax, refuses such pages. */
bool tacet_locked_refuses(struct tacet_range *range, const struct pt_regs *regs, u64 start, u64 end)
{
	unsigned long page = (start - range->base) >> PAGE_SHIFT, last = (end - range->base) >> PAGE_SHIFT;
	bool refuses = false;

	if (start < range->base || end > range->base + TACET_RANGE_BYTES)
		return false;
	mutex_lock(&range->lock);
	if (may_refuse(regs))
		refuses = tacet_locked_any(range, page, last);
	else if (!keeps_pages(regs))
		tacet_locked_remove(range, page, last);
	mutex_unlock(&range->lock);
	return refuses;
}
