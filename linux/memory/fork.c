// SPDX-License-Identifier: GPL-2.0
/*
 * A process with a range forks: the child gets a range of its own, with a copy of the
 * content.
 *
 * Called by memory/calls.c before the call, by memory/mapping.c inside fork(), with both mmap locks
 * held, and by delegate/ when the fork is over, in any context.
 */
#include <linux/delay.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define STOPPED_AFTER HZ	/* a thread that has not forked by then does not run */

/* The mm is that of a child that does not run yet: its pieces keep the range, without RCU. */
static struct tacet_range *range_in_the_making(struct mm_struct *mm)
{
	struct tacet_range *range;

	rcu_read_lock();
	range = tacet_range_find(mm);
	rcu_read_unlock();
	return range;
}

/*
 * The calling thread forks: cores find nothing of the range and serve no call about it until the
 * process's other memory is copied too. True: tacet_range_forked() ends this. If a core could write
 * in between, pointers from one part of the child's memory into the other could lead nowhere. If it
 * could move a mapping while a part of the range is copied, the child might have it nowhere.
 *
 * A core that serves a call by now ends that first: the question that copies takes all locks of the range
 * at once, before its first page.
 */
static bool hold_for_fork(struct tacet_range *range)
{
	struct tacet_hosted *hosted;
	bool held = false;

	atomic_inc(&range->forks);
	tacet_range_count_forks(range, 1);
	tacet_range_sync(range);
	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	if (hosted && !hosted->memory.copied) {
		kref_get(&range->references);
		hosted->memory.copied = range;
		held = true;
	}
	rcu_read_unlock();
	return held;
}

/*
 * The calling thread is about to make a call that copies its process: first a hand-over that is
 * in progress ends, and none begins before tacet_range_forked(). A child that is copied in
 * the middle of one would have some of its memory nowhere. Sleeps.
 */
void tacet_range_will_fork(struct tacet_hosted *hosted, struct tacet_range *range)
{
	mutex_lock(&range->lock);
	tacet_discard_settle_locked(range);
	if (range->shared->state == TACET_RANGE_OPEN && !hosted->memory.to_copy) {
		kref_get(&range->references);
		atomic_inc(&range->to_copy);
		WRITE_ONCE(hosted->memory.to_copy, range);
	}
	mutex_unlock(&range->lock);
}

/*
 * Waits until no other thread's fork is about to copy the range. A thread that Linux stops on the
 * way to its fork is not waited for any longer than this: it would have to go on within the
 * milliseconds of this hand-over.
 */
void tacet_range_await_forks(const struct tacet_range *range)
{
	unsigned long until = jiffies + STOPPED_AFTER;
	struct tacet_hosted *hosted;
	bool mine;

	lockdep_assert_held(&range->lock);
	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	mine = hosted && hosted->memory.to_copy == range;
	rcu_read_unlock();
	while (atomic_read(&range->to_copy) > mine && time_before(jiffies, until))
		usleep_range(20, 100);
}

static void end_fork(struct tacet_range *range)
{
	tacet_range_count_forks(range, -1);
	if (atomic_dec_and_test(&range->forks))
		tacet_range_sync(range);
}

static struct tacet_range *take(struct tacet_range **mark)
{
	return READ_ONCE(*mark) ? xchg(mark, NULL) : NULL;
}

/* @hosted has forked, could not, or does not any more. It is the calling thread, or no longer hosted. */
void tacet_range_forked(struct tacet_hosted *hosted)
{
	struct tacet_range *copied = take(&hosted->memory.copied), *to_copy = take(&hosted->memory.to_copy);

	if (copied) {
		end_fork(copied);
		tacet_range_put(copied);
	}
	if (to_copy) {
		atomic_dec(&to_copy->to_copy);
		tacet_range_put(to_copy);
	}
}

/*
 * In fork(): @area is the child's copy of a mapping of the parent's range @from. Copies the
 * whole content; the parent's threads on cores wait for the mmap lock if they touch it. Fork
 * cannot fail here: if the copy fails the child is killed before it runs.
 */
void tacet_range_fork(struct vm_area_struct *area, struct tacet_range *from)
{
	struct tacet_range *range = range_in_the_making(area->vm_mm);
	const struct tacet_range_shared *old = from->shared;
	bool held;

	lockdep_assert_held_write(&area->vm_mm->mmap_lock);
	if (range) {	/* one more piece: the parent's range is being handed over */
		atomic_inc(&range->mappings);
		area->vm_private_data = range;
		return;
	}
	if (!from->partition_gone)
		range = tacet_range_new(area->vm_mm, from->job);
	area->vm_private_data = range;
	if (!range)
		return;
	tacet_discard_begin(range);
	range->base = from->base;
	range->mapping = tacet_range_inode_get(from->mapping);
	range->shared->base = old->base;
	range->shared->top = old->top;
	range->shared->eager = range->eager = from->eager;
	range->shared->rights = old->rights;
	range->shared->break_start = old->break_start;
	if (from->lost || old->state != TACET_RANGE_OPEN) {
		range->lost = true;
		tacet_range_publish(range);
		return;
	}
	held = hold_for_fork(from);
	tacet_range_zap(from, 0, 0);
	if (tacet_ask(TACET_ASK_COPY, from->number, range->number))
		range->lost = true;
	else
		range->shared->state = TACET_RANGE_OPEN;
	if (!held)
		end_fork(from);
	tacet_range_publish(range);
}
