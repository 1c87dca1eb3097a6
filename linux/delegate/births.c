// SPDX-License-Identifier: GPL-2.0
/*
 * Births and deaths of hosted threads: what happens at fork, at exec and at exit.
 *
 * Called through delegate/tracepoints.c in the task's context; may not sleep. Most tasks
 * are not hosted, so each function asks that first.
 */
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>

#include "compat.h"
#include "delegate/delegate.h"
#include "memory/memory.h"
#include "pico/linux/grants.h"
#include "process/process.h"
#include "tacet.h"

static DEFINE_RATELIMIT_STATE(refusals, 5 * HZ, 3);

struct owner {
	struct tacet_hosted *hosted;
	struct tacet_process *process;
};

static void find_owner(struct tacet_hosted *hosted, void *data)
{
	struct tacet_process *process = READ_ONCE(hosted->process);
	struct owner *owner = data;

	if (process && READ_ONCE(hosted->space_mm) == current->mm &&
	    hosted->task->tgid != current->tgid && !(READ_ONCE(hosted->task->flags) & PF_EXITING))
		*owner = (struct owner){ hosted, process };
}

/*
 * The calling task has a hosted process's memory and is about to make a call about the range
 * there, which only a core can perform. If the task is not hosted, and not a thread of that
 * process, it becomes a guest of the partition until it begins a program of its own.
 * Otherwise Linux performs the call, and the range becomes Linux's. -ENOMEM: not even that.
 */
int tacet_settle_stranger(void)
{
	struct tacet_hosted *guest = NULL;
	struct owner owner = {};

	rcu_read_lock();
	tacet_for_each_hosted(find_owner, &owner);
	if (owner.hosted && !tacet_host_relative(current, owner.hosted, owner.process,
						 !(owner.process->flags & TACET_HOST_FOLLOW)))
		guest = tacet_hosted_of(current);
	if (guest)
		tacet_call_none(guest);	/* this is the end of one */
	rcu_read_unlock();
	return guest ? 0 : tacet_handover_mine("because another thread changes it");
}

/*
 * Hands a range over that is no use: that of a child that runs on Linux or whose copy
 * failed, and that of a process one of whose threads runs on Linux. RCU.
 */
static void memory_of_child(struct task_struct *parent, struct task_struct *child)
{
	struct tacet_range *range = child->mm ? tacet_range_find(child->mm) : NULL;

	if (!range || (tacet_hosted_of(child) && !READ_ONCE(range->lost)))
		return;
	if (child->mm != parent->mm)
		tacet_handover_on_return(range, child);
	else if (child->tgid == parent->tgid)
		tacet_handover_queue(range, child);
}

/* A child exists and has not run yet. */
void tacet_on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	struct tacet_hosted *hosted;
	struct tacet_process *process;
	bool thread = child->tgid == parent->tgid;

	if (child->flags & (PF_KTHREAD | PF_IO_WORKER))
		return;
	rcu_read_lock();
	hosted = tacet_hosted_of(parent);
	if (hosted)
		tacet_range_forked(hosted);
	process = hosted ? READ_ONCE(hosted->process) : NULL;
	if (process && !(atomic_read(&hosted->wanted) & TACET_WANT_LEAVE) && (thread || process->flags & TACET_HOST_FOLLOW)) {
		int error = tacet_host_relative(child, hosted, process, process->guest);

		/* -EALREADY: a request was faster */
		if (error && error != -EALREADY && __ratelimit(&refusals))
			tacet_report(TACET_LOG_WARNING, "thread %d stays on Linux: no room on the partition (error %d)",
				     child->pid, error);
	}
	memory_of_child(parent, child);
	tacet_grants_forked(child);
	tacet_strangers_born(child);
	rcu_read_unlock();
}

/* The program, and what it starts, is executed by Linux as if nobody had asked for hosting. */
static void leave_privileged(struct tacet_hosted *hosted)
{
	static DEFINE_RATELIMIT_STATE(reports, 5 * HZ, 10);

	tacet_want(hosted, TACET_WANT_LEAVE);
	if (__ratelimit(&reports))
		tacet_report(TACET_LOG_INFO,
			     "process %d (%s): stays on Linux: a privileged program, and root has not asked for it",
			     hosted->task->tgid, hosted->task->comm);
}

/* A new program begins in this task, which has no other threads. It parks at the end of the
 * call: the first instruction is executed after that. */
void tacet_on_exec(void *data, struct task_struct *task, pid_t old_pid, struct linux_binprm *program)
{
	struct tacet_hosted *hosted;
	struct tacet_process *process;

	rcu_read_lock();
	hosted = tacet_hosted_of(task);
	if (hosted) {
		hosted->proxy.program = TACET_PROGRAM_NEW;
		tacet_burst_expect(hosted);
		hosted->context->thread_id = 0;		/* that of the process, if another thread began it */
		process = READ_ONCE(hosted->process);
		if (process && process->guest)
			tacet_want(hosted, TACET_WANT_LEAVE);
		else if (process && !process->privileged && tacet_program_privileged(task, program))
			leave_privileged(hosted);
	}
	rcu_read_unlock();
}

/* A task ends. It is not parked. */
static void unhost_exiting(struct task_struct *task)
{
	struct tacet_hosted *hosted = tacet_hosted_get(task);

	if (!hosted)
		return;
	tacet_charge(hosted);
	tacet_unhost_unparked(hosted);
	tacet_hosted_put(hosted);
	if (tacet_grants_revoked())
		tacet_errand_release_grants();	/* before its parent can learn that it has ended */
}

void tacet_on_exit(void *data, struct task_struct *task)
{
	unhost_exiting(task);
}

/* Later kernels pass whether it is the group's last. */
void tacet_on_exit_group(void *data, struct task_struct *task, bool last)
{
	unhost_exiting(task);
}
