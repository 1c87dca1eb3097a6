// SPDX-License-Identifier: GPL-2.0
/*
 * A range becomes Linux's: all that the process has there goes into ordinary
 * anonymous memory at the same addresses (memory/handover.c), and the frames go back.
 * Whatever the program then asks for is Linux's to do; the cores follow Linux's tables
 * there as everywhere.
 *
 * Done when a thread of the process goes on without us, when somebody watches or
 * filters its calls, and before a call that only Linux can serve. Meanwhile cores
 * find nothing at these addresses, and who touches them on Linux waits until they are
 * handed over.
 */
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define RANGE_PAGES (TACET_RANGE_BYTES >> PAGE_SHIFT)

/* What is not mapped goes first, piece by piece: others may map there at once. */
static int give_addresses(struct tacet_range *range, unsigned long page, unsigned long end)
{
	return page == end ? 0 : vm_munmap(range->base + (page << PAGE_SHIFT),
					   (end - page) << PAGE_SHIFT);
}

static int move_all(struct tacet_range *range)
{
	struct tacet_handover_map handover = { .range = range };
	int error = tacet_handover_map_begin(&handover);
	unsigned long page = 0;
	struct tacet_run run;

	lockdep_assert_held(&range->lock);
	if (error)
		return error;
	do {
		run = tacet_range_run(range, page);
		error = give_addresses(range, page, run.pages ? run.page : RANGE_PAGES);
		if (!error && run.pages)
			error = tacet_handover_map_run(&handover, &run);
		page = run.page + run.pages;
	} while (run.pages && !error);
	tacet_handover_map_end(&handover, !error);
	return error;
}

/* The program's break goes on where it is. */
static void move_break(struct tacet_range *range)
{
	struct mm_struct *mm = range->mm;

	mmap_write_lock(mm);
	spin_lock(&mm->arg_lock);
	mm->start_brk = range->shared->break_start;
	mm->brk = range->shared->break_end;
	spin_unlock(&mm->arg_lock);
	mmap_write_unlock(mm);
}

/* No core serves anything about it any more, nor finds it; Linux maps none of it. */
static void close_range_to_all(struct tacet_range *range)
{
	lockdep_assert_held(&range->lock);
	WRITE_ONCE(range->shared->state, TACET_RANGE_CLOSED);
	tacet_range_settle(range);
	/* Faults of Linux that have begun end first, and a fork: they hold the lock. */
	mmap_write_lock(range->mm);
	tacet_range_set_visibility(range, TACET_RANGE_HIDDEN);
	unmap_mapping_range(range->mapping, 0, 0, 1);
	mmap_write_unlock(range->mm);
}

/* Whoever has the range's memory has lost it. */
static void kill_all(struct tacet_range *range, int error)
{
	struct task_struct *process, *task;

	tacet_report(TACET_LOG_WARNING, "process %d: no room on Linux for its memory (error %d): killed",
		     range->handover_task ? range->handover_task->tgid : current->tgid, error);
	mmap_write_lock(range->mm);
	WRITE_ONCE(range->lost, true);
	mmap_write_unlock(range->mm);
	rcu_read_lock();
	for_each_process_thread(process, task)
		if (READ_ONCE(task->mm) == range->mm && !(task->flags & PF_KTHREAD))
			send_sig(SIGKILL, task, 1);
	rcu_read_unlock();
}

/* current->mm is the range's. Returns when all is Linux's, whoever does it. */
void tacet_handover(struct tacet_range *range)
{
	int error;

	mutex_lock(&range->lock);
	if (!range->partition_gone && !range->lost && range->shared->state == TACET_RANGE_OPEN) {
		atomic_inc(&range->mappings);
		range->handing_over = current;
		close_range_to_all(range);
		tacet_handover_restart_waits(range);
		error = move_all(range);
		if (error)
			kill_all(range, error);
		move_break(range);
		range->handing_over = NULL;
		tacet_range_set_visibility(range, TACET_RANGE_HANDED_OVER);
		tacet_range_mapping_gone(range);
	}
	mutex_unlock(&range->lock);
}

/* What the calling thread's process has, if it has any. */
void tacet_handover_mine(void)
{
	struct tacet_range *range = current->mm ? tacet_range_get(current->mm) : NULL;

	if (!range)
		return;
	tacet_handover(range);
	tacet_range_put(range);
}

static void hand_over_queued(struct work_struct *work)
{
	struct tacet_range *range = container_of(work, struct tacet_range, handover_work);

	if (mmget_not_zero(range->mm)) {
		kthread_use_mm(range->mm);
		tacet_handover(range);
		kthread_unuse_mm(range->mm);
		mmput(range->mm);
	}
	put_task_struct(range->handover_task);
	range->handover_task = NULL;
	atomic_set(&range->handover_queued, 0);
	tacet_range_put(range);
}

/* The same, from any context: @task, a thread of the process, goes on without us. */
void tacet_handover_queue(struct tacet_range *range, struct task_struct *task)
{
	if (atomic_xchg(&range->handover_queued, 1))
		return;
	kref_get(&range->references);
	range->handover_task = get_task_struct(task);
	INIT_WORK(&range->handover_work, hand_over_queued);
	queue_work(tacet_workqueue, &range->handover_work);
}

static void hand_over_returning(struct callback_head *work)
{
	struct tacet_range *range = container_of(work, struct tacet_range, return_work);

	if (range->lost)
		send_sig(SIGKILL, current, 1);
	else if (current->mm == range->mm)
		tacet_handover(range);
	tacet_range_put(range);
}

/* The same, by @task itself before it is next in user mode; nobody else asks for it. */
void tacet_handover_on_return(struct tacet_range *range, struct task_struct *task)
{
	kref_get(&range->references);
	init_task_work(&range->return_work, hand_over_returning);
	if (task_work_add(task, &range->return_work, TWA_RESUME))
		tacet_range_put(range);
}
