/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Several threads that do the same at the same time, and how long each of them and all of them took.
 *
 * Included by the guest programs that compare CPUs of Linux with cores. All threads start together and wait for the
 * last; region 1 covers this time. Must never enter the kernel in the region by itself, but for threads that share a CPU:
 * each of these waits at a gate before and after its work.
 */
#ifndef TACET_PERF_TOGETHER_H
#define TACET_PERF_TOGETHER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "marker.h"
#include "pin.h"

#define TOGETHER_MOST 64

struct together {
	unsigned int threads;		/* 1 to TOGETHER_MOST */
	int first_cpu;			/* thread i pins itself to this one + i; negative: it does not */
	bool shared;			/* one CPU has all threads: none pins itself elsewhere, and none spins */
	void *(*prepare)(unsigned int index);
	void (*work)(void *own);	/* measured; `own` is what prepare returned */
};

static struct together together_now;
static atomic_uint together_ready, together_go, together_done;
static pthread_barrier_t together_gate;	/* of threads that share a CPU */
static uint64_t together_took[TOGETHER_MOST];
static uint32_t together_cpus[TOGETHER_MOST];

static void together_work(void *own, unsigned int index)
{
	uint64_t start = ticks();

	together_now.work(own);
	together_took[index] = ticks_on(&together_cpus[index]) - start;
	atomic_fetch_add(&together_done, 1);
}

static void *together_prepare(unsigned int index)
{
	void *own;

	pin(together_now.first_cpu < 0 ? -1 : together_now.first_cpu + (together_now.shared ? 0 : (int)index));
	own = together_now.prepare(index);
	atomic_fetch_add(&together_ready, 1);
	return own;
}

/* Until the first thread lets all begin, or until all have ended. */
static void together_wait(atomic_uint *count, unsigned int wanted)
{
	if (together_now.shared)
		pthread_barrier_wait(&together_gate);
	else
		while (atomic_load(count) < wanted)
			;
}

static void *together_thread(void *index)
{
	void *own = together_prepare((uintptr_t)index);

	together_wait(&together_go, 1);
	together_work(own, (uintptr_t)index);
	if (together_now.shared)
		together_wait(&together_done, together_now.threads);
	return NULL;
}

static inline unsigned int together_distinct_cpus(void)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < together_now.threads; i++) {
		unsigned int j = 0;

		while (j < i && together_cpus[j] != together_cpus[i])
			j++;
		count += j == i;
	}
	return count;
}

static inline uint64_t together_slowest(void)
{
	uint64_t most = 0;

	for (unsigned int i = 0; i < together_now.threads; i++)
		most = together_took[i] > most ? together_took[i] : most;
	return most;
}

/*
 * Prints `elapsed_ns`; `call_ns` and `slowest_call_ns`, the median and the most of the threads' times for one of @calls calls; `distinct_cpus`: the result
 * is invalid if it is not the number of threads, or 1 of threads that share a CPU. Ends the program if a thread cannot be
 * made.
 */
static inline void together(struct together wanted, unsigned long calls)
{
	pthread_t others[TOGETHER_MOST];
	struct clock clock;
	uint64_t start, elapsed;
	void *own;

	together_now = wanted;
	pthread_barrier_init(&together_gate, NULL, wanted.threads);
	clock_start(&clock);
	for (uintptr_t i = 1; i < wanted.threads; i++)
		if (pthread_create(&others[i], NULL, together_thread, (void *)i)) {
			fprintf(stderr, "together: thread %lu of %u was refused\n", i, wanted.threads);
			exit(1);
		}
	own = together_prepare(0);
	while (atomic_load(&together_ready) < wanted.threads)
		if (wanted.shared)
			sched_yield();
	MARK(MARK_REGION, 1);
	start = ticks();
	atomic_store(&together_go, 1);
	if (wanted.shared)
		together_wait(&together_go, 1);
	together_work(own, 0);
	together_wait(&together_done, wanted.threads);
	elapsed = ticks() - start;
	MARK(MARK_REGION_END, 1);
	for (unsigned int i = 1; i < wanted.threads; i++)
		pthread_join(others[i], NULL);
	clock_stop(&clock);
	printf("distinct_cpus %u\n", together_distinct_cpus());
	printf("call_ns %.1f\n", nanoseconds(&clock, middle(together_took, wanted.threads)) / calls);
	printf("slowest_call_ns %.1f\n", nanoseconds(&clock, together_slowest()) / calls);
	printf("elapsed_ns %.0f\n", nanoseconds(&clock, elapsed));
}

#endif
