// SPDX-License-Identifier: GPL-2.0
/*
 * How a proxy waits for its thread without a sleep: it looks for a while, then its CPU halts in its context.
 *
 * A sleep costs Linux some 7,000 instructions, however it ends: a wake-up and two task switches. A thread that calls
 * again soon need not cost that. Its proxy waits here as long as
 *
 *	- nobody else wants the CPU: no other task can run there;
 *	- the thread's last stay on a core was short, so that this one may be too;
 *	- no tick has come. A task that becomes runnable here need not interrupt its CPU if it is not to replace the
 *	  running one at once: the tick is what bounds its wait.
 *
 * The core reads in the context's `home` what it has to do (abi/include/tacet/context.h). Others who want something of
 * the proxy wake it as ever (tacet_hosted_wake()), which also interrupts a CPU that halts. Each side writes what it has
 * to say, then reads what the other has said, with a full barrier between the two.
 *
 * The time of the halt is Linux's time of this task, and its core charges it too: process/time.c leaves one of them out.
 *
 * Called by delegate/park.c and delegate/asleep.c in the thread's own context.
 */
#include <linux/moduleparam.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/tick.h>
#include <asm/tsc.h>

#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "process/process.h"
#include "tacet.h"

#define LOOKS_MOST_US 1000u
#define SHORT_STAY 1			/* jiffies */

static bool halts = true;
module_param_named(halt, halts, bool, 0644);
MODULE_PARM_DESC(halt, "A CPU of Linux without other work waits for calls in the proxy's context");

static unsigned int proxy_looks_us = 5;
module_param(proxy_looks_us, uint, 0644);
MODULE_PARM_DESC(proxy_looks_us, "With halt: how long a proxy looks for its thread before its CPU halts");

static bool alone(void)
{
	return single_task_running() && !need_resched();
}

/* Before the thread is posted: whether its proxy is to wait in place. */
void tacet_halt_prepare(struct tacet_hosted *hosted)
{
	bool waits = READ_ONCE(halts) && hosted->proxy.short_stays && !tick_nohz_full_enabled();

	WRITE_ONCE(hosted->context->home, waits ? TACET_HOME_LOOKS : TACET_HOME_ASLEEP);
}

static void look(struct tacet_hosted *hosted, tacet_over_t over)
{
	u64 patience = (u64)min(READ_ONCE(proxy_looks_us), LOOKS_MOST_US) * tsc_khz / 1000, begin = rdtsc();

	while (!over(hosted) && alone() && rdtsc() - begin < patience)
		cpu_relax();
}

/* With interrupts off, and on when it returns. */
static void halt_once(struct tacet_hosted *hosted, bool watches)
{
	u64 system = current->stime, begin = rdtsc();

	if (watches)
		tacet_arch_halt_watching();
	else
		tacet_arch_halt();
	tacet_halted(hosted, rdtsc() - begin, system);
}

/* With preemption off. Ends with what is a reason, or with a tick. A CPU that watches the context's state needs no
 * interrupt of the core, as one that looks. */
static void halt_until_over(struct tacet_hosted *hosted, tacet_over_t over)
{
	bool watches = tacet_arch_watches();
	unsigned long since = jiffies;

	/* The conditions are looked at after both: nobody who changes one misses them. */
	WRITE_ONCE(hosted->proxy.halts, true);
	xchg(&hosted->context->home, watches ? TACET_HOME_LOOKS : tacet_arch_home());
	while (jiffies == since && alone()) {
		local_irq_disable();
		if (watches)
			tacet_arch_watch(&hosted->context->state);
		if (over(hosted)) {
			local_irq_enable();
			break;
		}
		halt_once(hosted, watches);
	}
	WRITE_ONCE(hosted->proxy.halts, false);
}

/* Waits until @over holds, or as long as the CPU has nothing else to do. After that the core wakes the proxy as it
 * wakes one that sleeps. */
void tacet_halt_in_place(struct tacet_hosted *hosted, tacet_over_t over)
{
	if (READ_ONCE(hosted->context->home) == TACET_HOME_ASLEEP)
		return;
	look(hosted, over);
	if (alone() && !over(hosted)) {
		preempt_disable();
		halt_until_over(hosted, over);
		preempt_enable();
	}
	/* Before the caller looks again whether the thread is back. */
	xchg(&hosted->context->home, TACET_HOME_ASLEEP);
}

/* The thread is back. */
void tacet_halt_learn(struct tacet_hosted *hosted)
{
	hosted->proxy.short_stays = jiffies - hosted->turn.posted_at <= SHORT_STAY;
}
