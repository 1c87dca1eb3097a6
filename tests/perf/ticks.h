/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The time stamp counter, and the median of a set of measurements.
 *
 * Included by the guest programs. Ticks are not converted to seconds here: they are compared with ticks of the same
 * run.
 */
#ifndef TACET_PERF_TICKS_H
#define TACET_PERF_TICKS_H

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t ticks(void)
{
	uint32_t low, high;

	asm volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/* The same, with the number of the executing CPU: Linux and the co-kernel keep it in TSC_AUX. */
static inline uint64_t ticks_on(uint32_t *cpu)
{
	uint32_t low, high, aux;

	asm volatile("rdtscp; lfence" : "=a"(low), "=d"(high), "=c"(aux) : : "memory");
	*cpu = aux & 0xfff;
	return (uint64_t)high << 32 | low;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The median; sorts the values. */
static inline uint64_t middle(uint64_t *values, size_t n)
{
	qsort(values, n, sizeof(*values), ascending);
	return n ? values[n / 2] : 0;
}

#endif
