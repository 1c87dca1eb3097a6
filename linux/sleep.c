// SPDX-License-Identifier: GPL-2.0
/*
 * Sleeps for a time that begin on a core and end on Linux, and the clock by which cores
 * end the others. The other end is kernel/core/src/waits.rs.
 *
 * Called by watch.c (the clock) and by delegate.c in the thread's own context, when it was
 * called back while it slept. A sleep until a time is simply done again. One for a time
 * goes on as Linux's own does after a stop: by restart_syscall(2), with a function of ours
 * that no thread may be left with when the module goes.
 */
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <asm/tsc.h>
#include <asm/unistd.h>

#include "compat.h"
#include "tacet.h"

/* As kernel/logic/src/deadlines.rs: between two readings, and of the halves of one. */
#define DRIFT 1024
#define READING_NS 5000
#define READING_TRIES 8

/* The watch's alone: the last reading, and what kernel threads restart with. */
static u64 last_tsc, last_ns;
static long (*no_restart)(struct restart_block *restart);

static u64 ns_of(u64 ticks)
{
	return mul_u64_u64_div_u64(ticks, NSEC_PER_SEC / 1000, tsc_khz);
}

/* Both clocks at one moment; false: whoever interrupts us did, each time. */
static bool read_clock(u64 *tsc, u64 *ns)
{
	unsigned int try;
	unsigned long irq;
	u64 before;

	for (try = 0; try < READING_TRIES; try++) {
		local_irq_save(irq);
		before = rdtsc_ordered();
		*ns = ktime_get_ns();
		*tsc = rdtsc_ordered();
		local_irq_restore(irq);
		if (ns_of(*tsc - before) < READING_NS)
			return true;
	}
	return false;
}

static void tell(struct tacet_core *core, u64 tsc, u64 ns)
{
	unsigned long irq;

	local_irq_save(irq);
	WRITE_ONCE(core->shared->clock_tsc, 0);
	smp_wmb();
	WRITE_ONCE(core->shared->clock_monotonic_ns, ns);
	smp_store_release(&core->shared->clock_tsc, tsc);
	local_irq_restore(irq);
}

/* Tells the cores the time, if the time-stamp counter has told it well since the last
 * time. A kernel thread; ten times a second. */
void tacet_clock_tell(void)
{
	u64 tsc, ns, expected;
	unsigned int i;
	bool keeps_step;
	s64 apart;

	no_restart = current->restart_block.fn;
	if (!read_clock(&tsc, &ns))
		return;
	expected = ns_of(tsc - last_tsc);
	apart = ns - last_ns - expected;
	keeps_step = last_tsc && tsc > last_tsc &&
		     (u64)abs(apart) < expected / DRIFT + 2 * READING_NS;
	last_tsc = tsc;
	last_ns = ns;
	for (i = 0; i < tacet_partition.core_count; i++)
		tell(&tacet_partition.cores[i], keeps_step ? tsc : 0, ns);
}

static bool is_hosted(void)
{
	bool is;

	rcu_read_lock();
	is = tacet_hosted_of(current);
	rcu_read_unlock();
	return is;
}

static long go_on(struct restart_block *restart);

/* A sleep until @until_ns is interrupted: what the call gives. As in Linux's own,
 * @remaining says what is left even if the sleep then goes on. */
static long interrupt(u64 until_ns, struct __kernel_timespec __user *remaining)
{
	struct restart_block *restart = &current->restart_block;
	s64 left_ns = until_ns - ktime_get_ns();
	struct timespec64 left = ns_to_timespec64(left_ns);

	if (left_ns <= 0)
		return 0;
	if (remaining && put_timespec64(&left, remaining))
		return -EFAULT;
	restart->nanosleep.clockid = CLOCK_MONOTONIC;
	restart->nanosleep.type = remaining ? TT_NATIVE : TT_NONE;
	restart->nanosleep.rmtp = remaining;
	restart->nanosleep.expires = until_ns;
	set_restart_fn(restart, go_on);
	/* Pairs with tacet_sleep_forget(): one of us sees the other. */
	smp_mb();
	if (is_hosted())
		return -ERESTART_RESTARTBLOCK;
	restart->fn = no_restart;
	return -EINTR;
}

/* restart_syscall(2). */
static long go_on(struct restart_block *restart)
{
	u64 until_ns = restart->nanosleep.expires;
	ktime_t until = ns_to_ktime(until_ns);
	long result;

	__module_get(THIS_MODULE);	/* its thread need not be hosted any more */
	do {
		set_current_state(TASK_INTERRUPTIBLE | TASK_FREEZABLE);
		result = schedule_hrtimeout_range(&until, current->timer_slack_ns, HRTIMER_MODE_ABS);
	} while (result && !signal_pending(current));
	if (result)
		result = interrupt(until_ns, restart->nanosleep.type == TT_NONE ? NULL :
								    restart->nanosleep.rmtp);
	module_put(THIS_MODULE);
	return result;
}

/* Whether the call that a thread waits in is a sleep for a time, not until one. */
bool tacet_sleeps_for_a_time(const struct pt_regs *regs)
{
	return regs->ax == __NR_nanosleep ||
	       (regs->ax == __NR_clock_nanosleep && !(regs->si & TIMER_ABSTIME));
}

/* The sleep has @left_ns to go: what the call gives. Its own thread; may fault. */
long tacet_sleep_interrupt(const struct pt_regs *regs, u64 left_ns)
{
	unsigned long remaining = regs->ax == __NR_nanosleep ? regs->si : regs->r10;

	return interrupt(ktime_get_ns() + left_ns, (struct __kernel_timespec __user *)remaining);
}

/* @task is hosted no more, or is a hosted one's child, and is not to call us. */
void tacet_sleep_forget(struct task_struct *task)
{
	smp_mb();
	if (READ_ONCE(task->restart_block.fn) == go_on)
		WRITE_ONCE(task->restart_block.fn, no_restart);
}
