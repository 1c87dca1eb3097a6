/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Converts ticks into nanoseconds, with the rate measured over the whole life of the program.
 *
 * Included by the guest programs that report a time.
 */
#ifndef TACET_PERF_CLOCK_H
#define TACET_PERF_CLOCK_H

#include <time.h>

#include "ticks.h"

struct clock {
	uint64_t ticks;
	double nanoseconds;
};

static inline double clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static inline void clock_start(struct clock *clock)
{
	clock->nanoseconds = clock_now();
	clock->ticks = ticks();
}

/* Waits until 50 ms after the start, so that reading the two clocks one after the other costs no precision. */
static inline void clock_stop(struct clock *clock)
{
	double elapsed;

	do
		elapsed = clock_now() - clock->nanoseconds;
	while (elapsed < 5e7);
	clock->ticks = ticks() - clock->ticks;
	clock->nanoseconds = elapsed;
}

static inline double nanoseconds(const struct clock *clock, uint64_t some_ticks)
{
	return some_ticks * (clock->nanoseconds / clock->ticks);
}

#endif
