// SPDX-License-Identifier: GPL-2.0
/*
 * Where threads are born, change, return from calls and die: the tracepoints.
 *
 * Probes are on only while something is hosted: those on system calls put
 * every task's calls on Linux's slower path. They run in the task's
 * context, may not sleep, and ask first whether the task is hosted at all.
 */
#include <linux/binfmts.h>
#include <linux/membarrier.h>
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/seccomp.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

static bool enabled;	/* control lock */
static DEFINE_RATELIMIT_STATE(refusals, 5 * HZ, 3);

/* The process has registered for MEMBARRIER_CMD_GLOBAL_EXPEDITED. */
static bool expects_barriers(struct task_struct *task)
{
	bool expects;

	task_lock(task);
	expects = task->mm && atomic_read(&task->mm->membarrier_state) &
			      MEMBARRIER_STATE_GLOBAL_EXPEDITED;
	task_unlock(task);
	return expects;
}

static void barrier_if_expected(struct tacet_hosted *hosted, void *last_root)
{
	u64 root = READ_ONCE(hosted->space_root), *last = last_root;

	if (root && root != *last && expects_barriers(hosted->task)) {
		tacet_flush_cores(root);
		*last = root;
	}
}

/* A barrier that Linux has just made on its own CPUs. */
static void barrier_elsewhere(struct pt_regs *regs)
{
	u64 root = 0;

	switch ((int)regs->di) {
	case MEMBARRIER_CMD_GLOBAL:
		tacet_flush_cores(0);
		break;
	case MEMBARRIER_CMD_GLOBAL_EXPEDITED:
		tacet_for_each_hosted(barrier_if_expected, &root);
		break;
	case MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ:
		tacet_hosted_interrupt(current->mm);
		fallthrough;
	case MEMBARRIER_CMD_PRIVATE_EXPEDITED:
	case MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE:
		root = tacet_hosted_root(current->mm);
		if (root)
			tacet_flush_cores(root);
		break;
	}
}

/* A filter for all threads of the process: from here on none answers itself. */
static void filter_elsewhere(const struct pt_regs *regs)
{
	if (regs->di == SECCOMP_SET_MODE_FILTER && regs->si & SECCOMP_FILTER_FLAG_TSYNC)
		tacet_hosted_interrupt(current->mm);
}

/* The thread calls exit(): its place is free before anybody who waits for its end can
 * make another thread. */
static void give_place(struct tacet_hosted *hosted)
{
	unsigned long irq;

	spin_lock_irqsave(&tacet_hosted_lock, irq);
	if (hosted->process)
		tacet_leave_place(hosted);
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
}

/* A system call is about to be executed. */
static void on_call_enter(void *data, struct pt_regs *regs, long number)
{
	struct tacet_hosted *hosted;

	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	tacet_futex_before_call(hosted, regs, number);
	if (hosted) {
		hosted->call = TACET_CALL_BEGUN;
		tacet_native_before_call(hosted, regs, number);
		if (number == __NR_madvise)
			tacet_advice_before_call(hosted, regs);
		if (number == __NR_exit && !in_ia32_syscall())
			give_place(hosted);
	}
	rcu_read_unlock();
}

/* A system call is done; @result is what the program will see. */
static void on_call_exit(void *data, struct pt_regs *regs, long result)
{
	struct tacet_hosted *hosted;

	if (regs->orig_ax == __NR_membarrier && !result && current->mm)
		barrier_elsewhere(regs);
	if (regs->orig_ax == __NR_seccomp && !result && current->mm)
		filter_elsewhere(regs);
	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	tacet_futex_after_call(hosted, regs, result);
	if (hosted) {
		tacet_paths_after_call(hosted, regs);
		tacet_advice_after_call(hosted, regs);
		tacet_native_after_call(hosted, regs);
		tacet_view_after_call(hosted, regs, result);
		hosted->call = TACET_CALL_DONE;
		tacet_range_forked(hosted);
		tacet_arm(hosted);
	}
	rcu_read_unlock();
}

/* A signal is about to be delivered: its handler runs on the core. */
static void on_signal(void *data, int signal, struct kernel_siginfo *info, struct k_sigaction *action)
{
	struct tacet_hosted *hosted;

	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	if (hosted)
		tacet_arm(hosted);
	rcu_read_unlock();
}

/*
 * A child that runs on Linux, or whose copy failed, does not keep a range of its own;
 * nor does a process one of whose threads runs on Linux. RCU.
 */
static void memory_of_child(struct task_struct *parent, struct task_struct *child)
{
	struct tacet_range *range = child->mm ? tacet_range_find(child->mm) : NULL;

	if (!range || (tacet_hosted_of(child) && !READ_ONCE(range->lost)))
		return;
	if (child->mm != parent->mm)
		tacet_range_leave_soon(range, child);
	else if (child->tgid == parent->tgid)
		tacet_range_leave_elsewhere(range, child);
}

/* A child exists and has not run yet. */
static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
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
	if (process && !READ_ONCE(hosted->leaving) && (thread || process->flags & TACET_HOST_FOLLOW)) {
		struct tacet_terms terms = {
			.cpus = &process->cpus,
			.flags = process->flags,
			.order = process->order,
			.profile = process->profile,
		};
		int error = tacet_host(child, parent, &terms, GFP_ATOMIC);

		/* -EALREADY: somebody decoupled it by name already */
		if (error && error != -EALREADY && __ratelimit(&refusals))
			tacet_report(TACET_LOG_WARNING, "thread %d stays on Linux: no room on the partition (error %d)",
				     child->pid, error);
	}
	memory_of_child(parent, child);
	rcu_read_unlock();
}

/* A new program begins in this task. */
static void on_exec(void *data, struct task_struct *task, pid_t old_pid, struct linux_binprm *program)
{
	struct tacet_hosted *hosted;

	rcu_read_lock();
	hosted = tacet_hosted_of(task);
	if (hosted)
		hosted->executed = hosted->memory_due = true;	/* the end of the call parks it */
	rcu_read_unlock();
}

/* A task ends; it is not inside tacet_park(). */
static void forget_exiting(struct task_struct *task)
{
	struct tacet_hosted *hosted = tacet_hosted_get(task);

	if (!hosted)
		return;
	tacet_charge(hosted);
	tacet_forget(hosted);
	tacet_hosted_put(hosted);
}

static void on_exit(void *data, struct task_struct *task)
{
	forget_exiting(task);
}

/* Later kernels pass whether it is the group's last. */
static void on_exit_group(void *data, struct task_struct *task, bool last)
{
	forget_exiting(task);
}

/* The first two are the calls'. */
static struct birth {
	const char *name;
	void *probe;
	struct tracepoint *point;
} births[] = {
	{ "sys_enter", on_call_enter },
	{ "sys_exit", on_call_exit },
	{ "signal_deliver", on_signal },
	{ "sched_process_fork", on_fork },
	{ "sched_process_exec", on_exec },
	{ "sched_process_exit", TACET_EXIT_HAS_GROUP ? (void *)on_exit_group : (void *)on_exit },
};

static void find(struct tracepoint *point, void *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(births); i++)
		if (!strcmp(point->name, births[i].name))
			births[i].point = point;
}

/* Whether others watch the system calls too. */
bool tacet_births_shared(void)
{
	const struct tracepoint_func *probes;
	bool shared = false;
	unsigned int i;

	preempt_disable();
	for (i = 0; i < 2; i++) {
		probes = rcu_dereference_raw(births[i].point->funcs);
		shared |= probes && probes[0].func && probes[1].func;
	}
	preempt_enable();
	return shared;
}

/* -ENOENT, with a message, if the kernel lacks one of the tracepoints. */
int tacet_births_init(void)
{
	unsigned int i;

	for_each_kernel_tracepoint(find, NULL);
	for (i = 0; i < ARRAY_SIZE(births); i++) {
		if (births[i].point)
			continue;
		pr_err("tacet: this kernel has no tracepoint %s\n", births[i].name);
		return -ENOENT;
	}
	return 0;
}

/* Control lock held; sleeps. */
void tacet_births_enable(bool on)
{
	unsigned int i;

	if (enabled == on)
		return;
	for (i = 0; i < ARRAY_SIZE(births); i++) {
		if (on)
			WARN_ON(tracepoint_probe_register(births[i].point, births[i].probe, NULL));
		else
			tracepoint_probe_unregister(births[i].point, births[i].probe, NULL);
	}
	if (!on)
		tracepoint_synchronize_unregister();
	enabled = on;
}
