// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Makes the cheapest system call, N times on each of T threads at once. The call is native if the program runs on
 * Linux, and forwarded if it is hosted.
 *
 * usage: forward CALLS THREADS [FIRST_CPU]
 * With FIRST_CPU, thread i pins itself to FIRST_CPU + i; this is for Linux, since the co-kernel places hosted threads.
 * All threads start together and wait for the last; region 1 covers this time. Prints `call_ns` (a caller's time for one
 * call, the median of the threads), `elapsed_ns` and `distinct_cpus`: the result is invalid if threads share a CPU.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "marker.h"

#define MOST 64
#define WARM 20

static unsigned long calls;
static unsigned int threads;
static int first_cpu = -1;
static atomic_uint ready, go, done;
static uint64_t took[MOST];
static uint32_t cpus[MOST];

static void call(unsigned long n)
{
	while (n--)
		syscall(SYS_getppid);
}

static void measured(unsigned int index)
{
	uint64_t start = ticks();

	call(calls);
	took[index] = ticks_on(&cpus[index]) - start;
	atomic_fetch_add(&done, 1);
}

static void prepare(unsigned int index)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(first_cpu + index, &set);
	if (first_cpu >= 0 && sched_setaffinity(0, sizeof(set), &set))
		perror("forward: cpu");
	call(WARM);
	atomic_fetch_add(&ready, 1);
}

static void *caller(void *index)
{
	prepare((uintptr_t)index);
	while (!atomic_load(&go))
		;
	measured((uintptr_t)index);
	return NULL;
}

static unsigned int distinct_cpus(void)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < threads; i++) {
		unsigned int j = 0;

		while (j < i && cpus[j] != cpus[i])
			j++;
		count += j == i;
	}
	return count;
}

int main(int argc, char **argv)
{
	pthread_t others[MOST];
	struct clock clock;
	uint64_t start, elapsed;

	if (argc < 3 || (threads = atoi(argv[2])) < 1 || threads > MOST) {
		fprintf(stderr, "usage: forward CALLS THREADS [FIRST_CPU]\n");
		return 2;
	}
	calls = strtoul(argv[1], NULL, 0);
	if (argc > 3)
		first_cpu = atoi(argv[3]);
	clock_start(&clock);
	for (uintptr_t i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, caller, (void *)i))
			return 1;
	prepare(0);
	while (atomic_load(&ready) < threads)
		;
	MARK(MARK_REGION, 1);
	start = ticks();
	atomic_store(&go, 1);
	measured(0);
	while (atomic_load(&done) < threads)
		;
	elapsed = ticks() - start;
	MARK(MARK_REGION_END, 1);
	for (unsigned int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	clock_stop(&clock);
	printf("call_ns %.1f\n", nanoseconds(&clock, middle(took, threads)) / calls);
	printf("elapsed_ns %.0f\n", nanoseconds(&clock, elapsed));
	printf("distinct_cpus %u\n", distinct_cpus());
	return 0;
}
