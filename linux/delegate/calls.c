// SPDX-License-Identifier: GPL-2.0
/*
 * Calls and signals of hosted threads on Linux: what happens before and after each.
 *
 * Called through delegate/tracepoints.c in the task's context; may not sleep. A few calls of
 * tasks that are not hosted matter too: those that change what holds for hosted threads.
 */
#include <linux/membarrier.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seccomp.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "delegate/kinds.h"
#include "memory/memory.h"
#include "pico/linux/grants.h"
#include "process/process.h"
#include "tacet.h"
#include "view/view.h"

/* The task's process has registered for MEMBARRIER_CMD_GLOBAL_EXPEDITED. */
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

/* All other threads of the process leave their cores once, before the call returns. If there
 * is no memory for that the call fails. */
static void interrupt_elsewhere(struct pt_regs *regs)
{
	if (!tacet_hosted_root(current->mm))
		return;		/* none has been on a core */
	tacet_hosted_recall(current->mm);
	if (!tacet_errand_await_recalled())
		regs->ax = -ENOMEM;
}

/* Linux has made a barrier on its own CPUs: the cores make it too. */
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
		interrupt_elsewhere(regs);
		fallthrough;
	case MEMBARRIER_CMD_PRIVATE_EXPEDITED:
	case MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE:
		root = tacet_hosted_root(current->mm);
		if (root)
			tacet_flush_cores(root);
		break;
	}
}

/* All threads of the process have a filter: from here on no core answers their calls. */
static void filter_elsewhere(struct pt_regs *regs)
{
	if ((u32)regs->di == SECCOMP_SET_MODE_FILTER && regs->si & SECCOMP_FILTER_FLAG_TSYNC)
		interrupt_elsewhere(regs);
}

/* The thread calls exit(): its place is free before a thread that waits for its end can make
 * another one. */
static void give_place(struct tacet_hosted *hosted)
{
	unsigned long irq;

	spin_lock_irqsave(&tacet_hosted_lock, irq);
	if (hosted->process)
		tacet_release_core(hosted);
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
}

/* The call may concern the range of the task's memory: sees to it that whoever performs it can.
 * In an RCU read section. */
static void before_memory_call(struct tacet_hosted *hosted, struct pt_regs *regs, long number)
{
	bool from_core = hosted && tacet_call_begins(hosted), lost = !hosted;

	if (hosted)
		lost = from_core ? !(hosted->context->local & TACET_LOCAL_MEMORY) :
				   tacet_sent_back_too_often(hosted);
	if (lost)
		tacet_stranger_before_call(regs, number, tacet_settle_stranger);
	else if (!from_core)
		tacet_send_back_before_call(hosted, regs, number);
}

/* Nothing has to be done around the calling thread's call but to know whether it is in one. */
static bool is_simple(const struct tacet_hosted *hosted, long number)
{
	return hosted && tacet_call_is_simple(number) && !tacet_grants_any() && !in_ia32_syscall();
}

static void before_call(struct tacet_hosted *hosted, struct pt_regs *regs, long number)
{
	struct pt_regs other, *call = tacet_call_as_64_bit(regs, number, &other);

	tacet_futex_before_call(hosted, call, call->orig_ax);
	tacet_grants_before_call(hosted ? hosted->space : NULL, call, call->orig_ax);
	before_memory_call(hosted, regs, tacet_call_number(number));
	if (hosted) {
		if (call->orig_ax == __NR_madvise)
			tacet_advice_before_call(hosted, regs);
		tacet_view_before_call(hosted, call);
		if (call->orig_ax == __NR_exit)
			give_place(hosted);
	}
}

/* A task is about to execute a system call. */
void tacet_on_call_enter(void *data, struct pt_regs *regs, long number)
{
	struct tacet_hosted *hosted;

	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	if (is_simple(hosted, number))
		tacet_call_begins(hosted);
	else
		before_call(hosted, regs, number);
	rcu_read_unlock();
}

/* What was changed in the copy of a call of another ABI: its result, or that it is repeated. */
static void take_changes(struct pt_regs *regs, const struct pt_regs *call)
{
	regs->ax = call->ip == regs->ip ? call->ax : regs->orig_ax;
	regs->ip = call->ip;
}

/* The hosted thread's call has ended: it is about to go to a core. */
static void call_ended(struct tacet_hosted *hosted)
{
	tacet_call_none(hosted);
	if (!tacet_burst_call_ended(hosted))
		tacet_arm(hosted);
}

/* False: more has to be done than that. */
static bool simple_call_ended(const struct pt_regs *regs)
{
	struct tacet_hosted *hosted;
	bool simple;

	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	simple = is_simple(hosted, regs->orig_ax);
	if (simple)
		call_ended(hosted);
	rcu_read_unlock();
	return simple;
}

static void after_call(struct pt_regs *regs, long result)
{
	struct pt_regs other, *call = tacet_call_as_64_bit(regs, regs->orig_ax, &other);
	struct tacet_hosted *hosted;

	if (call->orig_ax == __NR_membarrier && !result && current->mm)
		barrier_elsewhere(call);
	if (call->orig_ax == __NR_seccomp && !result && current->mm)
		filter_elsewhere(call);
	if (call->orig_ax == __NR_ptrace)
		tacet_watch_hurry();
	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	if (!hosted)
		tacet_rings_after_call();
	tacet_futex_after_call(hosted, call, result);
	if (tacet_grants_after_call(hosted ? hosted->space : NULL, call, call->orig_ax))
		tacet_errand_release_grants();
	if (hosted)
		tacet_view_after_call(hosted, call, result);
	take_changes(regs, call);
	if (hosted) {
		tacet_advice_after_call(hosted, regs);
		tacet_send_back_after_call(hosted, regs);
		tacet_view_opened(call, result);
		tacet_range_forked(hosted);
		call_ended(hosted);
	} else {
		tacet_strangers_after_call();
	}
	rcu_read_unlock();
}

/* A task has executed a system call; the program will see @result. */
void tacet_on_call_exit(void *data, struct pt_regs *regs, long result)
{
	if (!simple_call_ended(regs))
		after_call(regs, result);
}

/* Linux is about to deliver a signal: its handler runs on the core. If it stops the process,
 * Linux does not send it to the other threads, but makes them leave user mode. */
void tacet_on_signal(void *data, int signal, struct kernel_siginfo *info, struct k_sigaction *action)
{
	struct tacet_hosted *hosted;

	if (sig_kernel_stop(signal))
		tacet_watch_hurry();
	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	if (hosted) {
		tacet_lazy_fetch(hosted);	/* for the frame, or for a core dump */
		tacet_arm(hosted);
	}
	rcu_read_unlock();
}
