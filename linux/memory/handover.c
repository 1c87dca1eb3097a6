// SPDX-License-Identifier: GPL-2.0
/*
 * The hand-over of a range: the whole range becomes ordinary anonymous memory at the same
 * addresses, permanently (memory/handover_map.c), and its frames go back. From then on cores
 * use Linux's tables there, as everywhere, and Linux performs all calls about this memory.
 *
 * A range is handed over when a thread of the process continues on Linux, when somebody
 * watches or filters the process's calls, and before a call that only Linux can perform.
 * Meanwhile cores find nothing at these addresses, and a thread that touches them on Linux
 * waits until the hand-over is complete. If Linux has no room for the range, it stays the
 * partition's: the call fails, and threads on Linux use the range by its mirrors.
 */
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "memory/memory.h"
#include "pico/linux/grants.h"
#include "tacet.h"

#define RANGE_PAGES (TACET_RANGE_BYTES >> PAGE_SHIFT)
#define TRY_AGAIN_AFTER HZ	/* Linux had no room */

/* Unmaps what is not in use: Linux may map something else there at once. */
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
		run = tacet_locked_run(range, page);
		error = give_addresses(range, page, run.pages ? run.page : RANGE_PAGES);
		if (!error && run.pages) {
			tacet_handover_unbook(range, 1);
			error = tacet_handover_map_run(&handover, &run);
		}
		page = run.page + run.pages;
	} while (run.pages && !error);
	tacet_handover_map_end(&handover, !error);
	return error;
}

/* Linux continues the program's break where it is. */
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

/* Cores refuse calls about the range and find nothing of it, devices are done with it, and Linux
 * maps none of its pages. */
static void close_range_to_all(struct tacet_range *range)
{
	lockdep_assert_held(&range->lock);
	WRITE_ONCE(range->shared->state, TACET_RANGE_CLOSED);
	tacet_range_settle(range);
	tacet_grants_settle(range->mm);
	/* Waits for faults and forks in progress: they hold the mmap lock. */
	mmap_write_lock(range->mm);
	tacet_range_set_visibility(range, TACET_RANGE_HIDDEN);
	tacet_range_zap(range, 0, 0);
	mmap_write_unlock(range->mm);
}

/* Nothing has been done to the range that close_range_to_all() cannot do again. */
static void reopen(struct tacet_range *range)
{
	lockdep_assert_held(&range->lock);
	tacet_discard_settle_locked(range);
	tacet_range_set_visibility(range, TACET_RANGE_VISIBLE);
	smp_store_release(&range->shared->state, TACET_RANGE_OPEN);
}

static const struct task_struct *subject(const struct tacet_range *range)
{
	return current->flags & PF_KTHREAD && range->handover_task ? range->handover_task : current;
}

/* Each hand-over is in the log by name; if there are very many, some by number. */
static void report(const struct tacet_range *range, const char *why)
{
	static DEFINE_RATELIMIT_STATE(reports, 5 * HZ, 50);
	static atomic_t unnamed;
	unsigned int others;

	ratelimit_set_flags(&reports, RATELIMIT_MSG_ON_RELEASE);
	if (!__ratelimit(&reports)) {
		atomic_inc(&unnamed);
		return;
	}
	others = atomic_xchg(&unnamed, 0);
	if (others)
		tacet_report(TACET_LOG_INFO, "%u more ranges became Linux's memory", others);
	tacet_report(TACET_LOG_INFO, "process %d (%s): its range becomes Linux's memory, %s",
		     subject(range)->tgid, subject(range)->comm, why);
}

static void report_no_room(const struct tacet_range *range, const char *why)
{
	static DEFINE_RATELIMIT_STATE(reports, 5 * HZ, 10);

	if (!fatal_signal_pending(current) && __ratelimit(&reports))
		tacet_report(TACET_LOG_WARNING, "process %d (%s): Linux has no room for its range (%s)",
			     subject(range)->tgid, subject(range)->comm, why);
}

static void await_transfers(struct tacet_range *range)
{
	static DEFINE_RATELIMIT_STATE(reports, 5 * HZ, 10);

	if (!tacet_held_await(range) && __ratelimit(&reports))
		tacet_report(TACET_LOG_WARNING, "process %d: a pipe or a device keeps pages that it had before the hand-over",
			     subject(range)->tgid);
}

/* The content is lost: kills every process that has this memory. */
static void kill_all(struct tacet_range *range, int error)
{
	struct task_struct *process, *task;

	tacet_report(TACET_LOG_WARNING, "process %d: killed: Linux has no room for its range (error %d)",
		     subject(range)->tgid, error);
	mmap_write_lock(range->mm);
	WRITE_ONCE(range->lost, true);
	mmap_write_unlock(range->mm);
	rcu_read_lock();
	for_each_process_thread(process, task)
		if (READ_ONCE(task->mm) == range->mm && !(task->flags & PF_KTHREAD))
			send_sig(SIGKILL, task, 1);
	rcu_read_unlock();
}

/* The range is closed, and Linux has room for it. From here on there is no way back. */
static void complete_handover(struct tacet_range *range)
{
	int error;

	tacet_discard_settle_locked(range);
	tacet_handover_restart_waits(range);
	await_transfers(range);
	tacet_range_account_end(range);
	tacet_locked_hand_over(range);
	error = move_all(range);
	tacet_handover_unbook(range, ULONG_MAX);
	if (error)
		kill_all(range, error);
	move_break(range);
	range->handing_over = NULL;
	tacet_range_set_visibility(range, TACET_RANGE_HANDED_OVER);
	tacet_range_mapping_gone(range);
}

static bool had_no_room(const struct tacet_range *range)
{
	unsigned long at = range->no_room_at;

	return at && time_before(jiffies, at + TRY_AGAIN_AFTER);
}

static int hand_over(struct tacet_range *range, const char *why)
{
	lockdep_assert_held(&range->lock);
	if (range->partition_gone || range->lost || range->shared->state != TACET_RANGE_OPEN)
		return 0;
	if (had_no_room(range))
		return -ENOMEM;
	tacet_range_await_forks(range);
	atomic_inc(&range->mappings);
	range->handing_over = current;
	close_range_to_all(range);
	if (!tacet_handover_book(range)) {
		report(range, why);
		complete_handover(range);
		return 0;
	}
	range->no_room_at = jiffies ?: 1;
	range->handing_over = NULL;
	reopen(range);
	report_no_room(range, why);
	tacet_range_mapping_gone(range);
	return -ENOMEM;
}

/* By a thread of the process. When this returns 0 the hand-over is complete, whichever thread
 * has done it. -ENOMEM: everything is as before. */
int tacet_handover(struct tacet_range *range, const char *why)
{
	int error;

	mutex_lock(&range->lock);
	error = hand_over(range, why);
	mutex_unlock(&range->lock);
	return error;
}

/* Hands over the range of the calling thread's process, if it has one. */
int tacet_handover_mine(const char *why)
{
	struct tacet_range *range = current->mm ? tacet_range_get(current->mm) : NULL;
	int error;

	if (!range)
		return 0;
	error = tacet_handover(range, why);
	tacet_range_put(range);
	return error;
}

static void hand_over_queued(struct work_struct *work)
{
	struct tacet_range *range = container_of(work, struct tacet_range, handover_work);

	if (mmget_not_zero(range->mm)) {
		kthread_use_mm(range->mm);
		tacet_handover(range, "because a thread goes to Linux");
		kthread_unuse_mm(range->mm);
		mmput(range->mm);
	}
	put_task_struct(range->handover_task);
	range->handover_task = NULL;
	atomic_set(&range->handover_queued, 0);
	tacet_range_put(range);
}

/* From any context: a work item does it, because @task, a thread of the process, continues on
 * Linux. */
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
		tacet_handover(range, "because a child runs on Linux");
	tacet_range_put(range);
}

/* From any context: @task does it before it is next in user mode. It is the only thread of its
 * process, and this is called once. */
void tacet_handover_on_return(struct tacet_range *range, struct task_struct *task)
{
	kref_get(&range->references);
	init_task_work(&range->return_work, hand_over_returning);
	if (task_work_add(task, &range->return_work, TWA_RESUME))
		tacet_range_put(range);
}
