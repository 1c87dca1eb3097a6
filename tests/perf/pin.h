/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A thread on a CPU of Linux. Hosted threads are placed by their host, so programs are given no CPUs there.
 *
 * Owns: nothing. Included by the guest programs that compare one CPU with one core.
 */
#ifndef TACET_PERF_PIN_H
#define TACET_PERF_PIN_H

#include <sched.h>
#include <stdio.h>

/* A negative number is none: then nothing is done. */
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
