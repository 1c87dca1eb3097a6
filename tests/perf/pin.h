/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Pins a thread to a CPU of Linux. The co-kernel places hosted threads, so hosted programs get no CPUs as arguments.
 *
 * Included by the guest programs that compare one CPU with one core.
 */
#ifndef TACET_PERF_PIN_H
#define TACET_PERF_PIN_H

#include <sched.h>
#include <stdio.h>

/* Does nothing if the number is negative. */
static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu < 0)
		return;
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("sched_setaffinity");
}

#endif
