// SPDX-License-Identifier: GPL-2.0
/*
 * The rest of a sleep that began on a core and ends on Linux. The other end is
 * kernel/core/src/run/waits.rs.
 *
 * Called by delegate/park.c in the thread's own context, when the thread was recalled
 * while it slept for a time: a short sleep, of which only the rest is waited for. Linux
 * repeats a sleep until a time.
 */
#include <linux/delay.h>
#include <linux/time.h>
#include <asm/unistd.h>

#include "arch/arch.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "tacet.h"

/* More than the longest sleep for a time on a core, with the error of its clock. */
#define LONGEST_NS (200 * NSEC_PER_USEC)

/* The call in which the thread waits is a sleep for a time, not until a time. */
bool tacet_sleeps_for_a_time(const struct pt_regs *regs)
{
	long number = tacet_call_number(regs->ax);

	return number == __NR_nanosleep ||
	       (number == __NR_clock_nanosleep && !(regs->si & TIMER_ABSTIME));
}

/* Sleeps for the @left_ns that are left. The thread itself. */
void tacet_sleep_out(u64 left_ns)
{
	unsigned long left_us = DIV_ROUND_UP_ULL(min_t(u64, left_ns, LONGEST_NS), NSEC_PER_USEC);

	usleep_range(left_us, left_us + 10);
}
