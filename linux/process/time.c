// SPDX-License-Identifier: GPL-2.0
/*
 * The time that hosted threads spend on cores, and Linux's account of it.
 *
 * Cores keep each thread's time in its context. This file charges it to the thread's task,
 * so that top(1), limits and CPU-time timers see it; and, when the thread comes to Linux or its
 * proxy wakes, to the task's control group (cpu.stat, and from there sstat). Any context.
 */
#include <linux/math64.h>
#include <linux/posix-timers.h>
#include <linux/sched/cputime.h>
#include <linux/sched/signal.h>
#include <asm/tsc.h>
#include <asm/unistd.h>

#include "compat.h"
#include "process/process.h"
#include "tacet.h"

#define MOST_OWED_NS NSEC_PER_SEC

static u64 ns_of(u64 ticks)
{
	return mul_u64_u64_div_u64(ticks, NSEC_PER_SEC / 1000, tsc_khz);
}

/* Time in user mode on cores, including the stay in progress. The clock is read first: the
 * result may be too little, never too much. */
u64 tacet_user_ns(struct tacet_hosted *hosted)
{
	struct tacet_context *context = hosted->context;
	u64 now = rdtsc_ordered();
	u64 ticks = smp_load_acquire(&context->user_tsc);
	u64 entered = READ_ONCE(context->entered_tsc);

	if (entered && now > entered)
		ticks += now - entered;
	return ns_of(ticks);
}

/* As account_user_time(), which is not exported. For @run_ns of them Linux has not seen the task run. */
static void add_user_time(struct task_struct *task, u64 ns, u64 run_ns)
{
	struct thread_group_cputimer *timer = &task->signal->cputimer;

	task->utime += ns;
	task->se.sum_exec_runtime += run_ns;
	if (READ_ONCE(task->signal->posix_cputimers.timers_active)) {
		atomic64_add(ns, &timer->cputime_atomic.utime);
		atomic64_add(run_ns, &timer->cputime_atomic.sum_exec_runtime);
	}
}

/* The CPU has halted in the calling thread's context for so many @ticks of the TSC, while a core ran the thread:
 * the core charges that time. What a tick has charged since the system time was @system is taken back. What Linux
 * has seen the task run is not: the core's time counts as much less. With preemption off. */
void tacet_halted(struct tacet_hosted *hosted, u64 ticks, u64 system)
{
	struct thread_group_cputimer *timer = &current->signal->cputimer;

	WRITE_ONCE(hosted->halted_tsc, hosted->halted_tsc + ticks);
	if (likely(current->stime == system))
		return;
	local_irq_disable();
	if (READ_ONCE(current->signal->posix_cputimers.timers_active))
		atomic64_sub(current->stime - system, &timer->cputime_atomic.stime);
	current->stime = system;
	local_irq_enable();
}

/* Of @total, the time that Linux has not seen the task run. */
static u64 not_seen(struct tacet_hosted *hosted, u64 total)
{
	return total - min(total, ns_of(READ_ONCE(hosted->halted_tsc)));
}

/* The group as well, but only by the thread itself: Linux keeps a group's account on each CPU,
 * and looks only where a task of the group has run since. */
static void charge_group(struct tacet_hosted *hosted, u64 total)
{
	if (hosted->task != current || total <= hosted->charged_group_ns)
		return;
	tacet_charge_group(total - hosted->charged_group_ns);
	hosted->charged_group_ns = total;
}

/* The thread has computed for so long that its control group's account is visibly wrong. Without the lock: a stale
 * answer costs a look. */
bool tacet_owes_group(const struct tacet_hosted *hosted)
{
	u64 charged = READ_ONCE(hosted->charged_run_ns), group = READ_ONCE(hosted->charged_group_ns);

	return charged > group && charged - group >= MOST_OWED_NS;
}

/* Charges the task with what its thread has used since the last time. */
void tacet_charge(struct tacet_hosted *hosted)
{
	unsigned long irq;
	u64 total, run;

	spin_lock_irqsave(&hosted->lock, irq);
	total = tacet_user_ns(hosted);
	run = max(not_seen(hosted, total), hosted->charged_run_ns);
	if (total > hosted->charged_ns && hosted->state != TACET_HOSTED_GONE) {
		add_user_time(hosted->task, total - hosted->charged_ns, run - hosted->charged_run_ns);
		/* A thread that has just moved charges its new core with time on its old one. */
		atomic64_add(total - hosted->charged_ns,
			     per_cpu_ptr(&tacet_core_user_ns, hosted->place.core->cpu));
		hosted->charged_ns = total;
		hosted->charged_run_ns = run;
	}
	charge_group(hosted, run);
	spin_unlock_irqrestore(&hosted->lock, irq);
}

/* The call's answer depends on the account, or the account is the thread's last. */
static bool asks_for_time(long number)
{
	switch (number) {
	case __NR_times:
	case __NR_getrusage:
	case __NR_clock_gettime:
	case __NR_clock_nanosleep:
	case __NR_timer_create:
	case __NR_timer_settime:
	case __NR_timer_gettime:
	case __NR_setitimer:
	case __NR_getitimer:
	case __NR_setrlimit:
	case __NR_prlimit64:
	case __NR_exit:
	case __NR_exit_group:
		return true;
	}
	return false;
}

/* The calling thread is back from its core and about to make call @number (-1: none). It is charged if the
 * call asks for that, else once in a tick: files in /proc count in ticks, and the watch charges threads that
 * stay away. */
void tacet_charge_returned(struct tacet_hosted *hosted, long number)
{
	if (hosted->charged_at == jiffies && !asks_for_time(number))
		return;
	hosted->charged_at = jiffies;
	tacet_charge(hosted);
}

static bool timer_due(const struct posix_cputimers *timers, u64 user, u64 both, u64 run)
{
	return both >= READ_ONCE(timers->bases[CPUCLOCK_PROF].nextevt) ||
	       user >= READ_ONCE(timers->bases[CPUCLOCK_VIRT].nextevt) ||
	       run >= READ_ONCE(timers->bases[CPUCLOCK_SCHED].nextevt);
}

/* A CPU-time timer or limit of the thread or its process has run out. Linux notices that only
 * on a tick that finds the thread on one of its CPUs. */
bool tacet_cpu_timer_due(struct task_struct *task)
{
	struct signal_struct *signal = task->signal;
	struct task_cputime_atomic *group = &signal->cputimer.cputime_atomic;
	u64 user = atomic64_read(&group->utime);

	if (timer_due(&task->posix_cputimers, task->utime, task->utime + task->stime,
		      task->se.sum_exec_runtime))
		return true;
	return READ_ONCE(signal->posix_cputimers.timers_active) &&
	       timer_due(&signal->posix_cputimers, user, user + atomic64_read(&group->stime),
			 atomic64_read(&group->sum_exec_runtime));
}
