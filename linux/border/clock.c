// SPDX-License-Identifier: GPL-2.0
/*
 * The clock by which cores end waits: Linux's time and the time-stamp counter at one moment,
 * told to every core ten times a second. The other end is kernel/host/linux/src/clock.rs.
 *
 * Called by process/watch.c only.
 */
#include <linux/math64.h>
#include <linux/ktime.h>
#include <asm/tsc.h>

#include "border/border.h"
#include "compat.h"
#include "tacet.h"

/* The same as in kernel/logic/src/deadlines.rs: how far the clocks may drift apart between two
 * readings (a 1/DRIFT of the time), and how long one reading may take. */
#define DRIFT 1024
#define READING_NS 5000
#define READING_TRIES 8

/* The watch's alone: the last reading. */
static u64 last_tsc, last_ns;

static u64 ns_of(u64 ticks)
{
	return mul_u64_u64_div_u64(ticks, NSEC_PER_SEC / 1000, tsc_khz);
}

/* Reads both clocks at one moment. False: each try was interrupted. */
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

/* Tells the cores the time, ten times a second. They get none if the time-stamp counter has
 * not kept step with Linux's clock since the last reading. */
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
