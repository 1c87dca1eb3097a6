// SPDX-License-Identifier: GPL-2.0
/*
 * A process with a range forks: the child gets a range of its own, with a copy of the
 * content.
 *
 * Called by memory/mapping.c inside fork(), with both mmap locks held, and by delegate/ when
 * the fork is over, in any context.
 */
#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

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

static void end_fork(struct tacet_range *range)
{
	tacet_range_count_forks(range, -1);
	if (atomic_dec_and_test(&range->forks))
		tacet_range_sync(range);
}

/* @hosted has forked, or could not. It is the calling thread, or no longer hosted. */
void tacet_range_forked(struct tacet_hosted *hosted)
{
	struct tacet_range *range = READ_ONCE(hosted->memory.copied) ? xchg(&hosted->memory.copied, NULL) : NULL;

	if (!range)
		return;
	end_fork(range);
	tacet_range_put(range);
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
