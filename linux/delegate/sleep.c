// SPDX-License-Identifier: GPL-2.0
/*
 * The clock by which cores end waits, and what is left of a sleep that ends on Linux. The
 * other end is kernel/core/src/waits.rs.
 *
 * Called by process/watch.c (the clock) and by delegate/delegate.c in the thread's own context, when it was
 * called back while it slept for a time. That was a short sleep, of which nothing but the
 * rest is to be waited for. A sleep until a time is Linux's to do again.
 */
#include <linux/delay.h>
#include <linux/math64.h>
#include <linux/time.h>
#include <linux/timekeeping.h>
#include <asm/tsc.h>
#include <asm/unistd.h>

#include "compat.h"
#include "tacet.h"

/* As kernel/logic/src/deadlines.rs: between two readings, and of the halves of one. */
#define DRIFT 1024
#define READING_NS 5000
#define READING_TRIES 8
/* More than a core sleeps for a time, with all that is not known of the clock. */
#define LONGEST_NS (200 * NSEC_PER_USEC)

/* The watch's alone: the last reading. */
static u64 last_tsc, last_ns;

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
 * time. Ten times a second. */
void tacet_clock_tell(void)
{
	u64 tsc, ns, expected;
	unsigned int i;
	bool keeps_step;
	s64 apart;

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

/* Whether the call that a thread waits in is a sleep for a time, not until one. */
bool tacet_sleeps_for_a_time(const struct pt_regs *regs)
{
	return regs->ax == __NR_nanosleep ||
	       (regs->ax == __NR_clock_nanosleep && !(regs->si & TIMER_ABSTIME));
}

/* Such a sleep has @left_ns to go. Its own thread. */
void tacet_sleep_out(u64 left_ns)
{
	unsigned long left_us = DIV_ROUND_UP_ULL(min_t(u64, left_ns, LONGEST_NS), NSEC_PER_USEC);

	usleep_range(left_us, left_us + 10);
}
