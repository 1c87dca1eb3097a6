// SPDX-License-Identifier: GPL-2.0
/*
 * Bursts: a thread that makes many calls stays on Linux for as long as it does, if its process asked for that
 * (TACET_HOST_BURSTS).
 *
 * A forwarded call costs some ten times a native one, so a program that starts, or a shell, is slower on a core. Such a
 * thread continues on Linux at the end of its call; its memory stays the partition's. A call about that memory still
 * goes to a core (memory/send_back.c). A burst begins
 *
 *	- with a new program, and with a child of a process that is in one;
 *	- when the thread has left its core for a call or a fault several times, each time after less than burst_us;
 *
 * and ends when the thread has not ended a call for burst_us, or when somebody else wants its CPU of Linux. A thread
 * that computes longer than burst_us between its calls is never kept by this.
 *
 * The timer looks at the count of calls. While they come it only looks again; it arms the proxy when none came, and
 * from time to time, so that delegate/park.c sees what else has changed (credentials, tracers, a request to leave).
 *
 * Called by delegate/park.c and delegate/calls.c in the thread's own context; by process/hosted.c when the thread is not
 * hosted any more; by the timer in its interrupt. Must never keep a thread on Linux without a timer that arms it.
 */
#include <linux/hrtimer.h>
#include <linux/moduleparam.h>
#include <linux/sched/stat.h>
#include <asm/tsc.h>

#include "compat.h"
#include "process/process.h"
#include "tacet.h"

#define LEAST_US 10u
#define MOST_US 1000000u
#define SHORT_STAYS 8			/* with so many a burst begins */
#define LOOKS 8				/* of the timer, before it arms the proxy in any case */

static unsigned int burst_us = 100;
module_param(burst_us, uint, 0644);
MODULE_PARM_DESC(burst_us, "A thread that bursts of calls may keep on Linux goes to a core after so long without a call");

static u64 patience_us(void)
{
	return clamp(READ_ONCE(burst_us), LEAST_US, MOST_US);
}

/* The timer's interrupt, on any CPU; it has a reference. */
static enum hrtimer_restart look(struct hrtimer *timer)
{
	struct tacet_hosted *hosted = container_of(timer, struct tacet_hosted, burst.timer);
	struct tacet_burst *burst = &hosted->burst;
	unsigned int calls = READ_ONCE(burst->calls);

	if (calls != burst->seen && ++burst->looks < LOOKS && !atomic_read(&hosted->wanted)) {
		burst->seen = calls;
		hrtimer_forward_now(timer, ns_to_ktime(patience_us() * NSEC_PER_USEC));
		return HRTIMER_RESTART;
	}
	WRITE_ONCE(burst->holds, false);
	tacet_arm(hosted);
	tacet_hosted_put(hosted);
	return HRTIMER_NORESTART;
}

/* For a new hosted thread. */
void tacet_burst_init(struct tacet_hosted *hosted)
{
	tacet_hrtimer_setup(&hosted->burst.timer, look);
}

/* The thread's next stay begins on Linux: its program is new. The thread's own context, or before it has run. */
void tacet_burst_expect(struct tacet_hosted *hosted)
{
	hosted->burst.expected = true;
}

/* Nothing keeps the thread on Linux any more. The thread, or its end; no lock of ours is held. */
void tacet_burst_stop(struct tacet_hosted *hosted)
{
	WRITE_ONCE(hosted->burst.holds, false);
	if (hrtimer_cancel(&hosted->burst.timer))
		tacet_hosted_put(hosted);
}

static void hold(struct tacet_hosted *hosted)
{
	struct tacet_burst *burst = &hosted->burst;

	/* The reference of a timer that was on is now that of the next one. */
	if (!hrtimer_cancel(&burst->timer))
		kref_get(&hosted->references);
	burst->seen = burst->calls;
	burst->looks = 0;
	/* It is on no core: whoever wanted its return has it. */
	atomic_andnot(TACET_WANT_RETURN, &hosted->wanted);
	WRITE_ONCE(burst->holds, true);
	hrtimer_start(&burst->timer, ns_to_ktime(patience_us() * NSEC_PER_USEC), HRTIMER_MODE_REL);
}

static bool begins(const struct tacet_burst *burst)
{
	return burst->expected || burst->short_stays >= SHORT_STAYS;
}

/* The thread is about to go to a core. True: it continues on Linux, and the timer arms it. The thread's own context. */
bool tacet_burst_continues(struct tacet_hosted *hosted)
{
	struct tacet_burst *burst = &hosted->burst;

	if (!(hosted->process->flags & TACET_HOST_BURSTS))
		return false;
	if (burst->on) {
		burst->on = burst->calls != burst->seen;
	} else if (begins(burst)) {
		burst->on = true;
		WRITE_ONCE(burst->count, burst->count + 1);
	}
	if (burst->on)
		burst->short_stays = 0;
	burst->expected = false;
	/* A core has to make its call; or others would wait for the CPU. */
	if (!burst->on || hosted->memory.sent_back || !single_task_running()) {
		tacet_burst_stop(hosted);
		return false;
	}
	hold(hosted);
	return true;
}

/* A call of the thread has ended. True: it need not be armed. A new program has yet to get its range. The thread's own context; does not sleep. */
bool tacet_burst_call_ended(struct tacet_hosted *hosted)
{
	WRITE_ONCE(hosted->burst.calls, hosted->burst.calls + 1);
	return READ_ONCE(hosted->burst.holds) && !hosted->burst.expected && !hosted->memory.sent_back &&
	       !atomic_read(&hosted->wanted);
}

/* The thread has left its core, where it has computed for @ticks of the TSC. */
void tacet_burst_learn(struct tacet_hosted *hosted, u64 ticks)
{
	struct tacet_burst *burst = &hosted->burst;

	if (!(hosted->process->flags & TACET_HOST_BURSTS) || hosted->context->event == TACET_EVENT_RECALLED)
		return;
	if (ticks > patience_us() * tsc_khz / 1000) {
		burst->on = false;
		burst->short_stays = 0;
	} else {
		burst->short_stays++;
	}
}
