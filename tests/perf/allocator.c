// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Allocates and frees memory on T threads at once, N times on each.
 *
 * usage: allocator malloc|map N T [FIRST_CPU]
 * malloc: the C library's. Each thread keeps SLOTS pieces of 16 bytes to 4 KiB, one in 16 of up to 512 KiB, and replaces
 * them one after the other. map: each round maps, touches and unmaps 16 to 512 KiB. With FIRST_CPU, thread i pins itself
 * to FIRST_CPU + i; this is for Linux, since the co-kernel places hosted threads. All threads start together and wait for
 * the last; region 1 covers this time. Prints `call_ns`: the time from the first start to the last end, divided by N. So
 * it does not depend on T if no thread waits for another.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "marker.h"
#include "pin.h"

#define MOST 64
#define SLOTS 64
#define WARM 256
#define PAGE 4096ul

static unsigned long count;
static unsigned int threads;
static int first_cpu = -1;
static void (*once)(unsigned long *state, char **slot);
static atomic_uint ready, go, done;

static unsigned int drawn(unsigned long *state, unsigned int below)
{
	*state = *state * 6364136223846793005UL + 1442695040888963407UL;
	return (*state >> 33) % below;
}

static void touch(volatile char *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += PAGE)
		memory[i] = 1;
}

static void replace(unsigned long *state, char **slot)
{
	size_t bytes = drawn(state, 16) ? 16 + drawn(state, 4080) : PAGE + drawn(state, 508 << 10);

	free(*slot);
	*slot = malloc(bytes);
	if (!*slot)
		abort();
	touch(*slot, bytes);
}

static void map(unsigned long *state, char **unused)
{
	size_t bytes = (4 + drawn(state, 125)) * PAGE;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	if (memory == MAP_FAILED)
		abort();
	touch(memory, bytes);
	if (munmap(memory, bytes))
		abort();
}

static void run(unsigned long n, unsigned long *state, char **slots)
{
	for (unsigned long i = 0; i < n; i++)
		once(state, &slots[i % SLOTS]);
}

static void *caller(void *index)
{
	unsigned long state = 1 + (uintptr_t)index;
	char *slots[SLOTS] = { NULL };

	if (first_cpu >= 0)
		pin(first_cpu + (int)(uintptr_t)index);
	run(WARM, &state, slots);
	atomic_fetch_add(&ready, 1);
	while (!atomic_load(&go))
		;
	run(count, &state, slots);
	atomic_fetch_add(&done, 1);
	for (size_t i = 0; i < SLOTS; i++)
		free(slots[i]);
	return NULL;
}

/* The first thread takes part, and measures. */
static uint64_t measured(void)
{
	unsigned long state = 1;
	char *slots[SLOTS] = { NULL };
	uint64_t start;

	run(WARM, &state, slots);
	while (atomic_load(&ready) < threads - 1)
		;
	MARK(MARK_REGION, 1);
	start = ticks();
	atomic_store(&go, 1);
	run(count, &state, slots);
	while (atomic_load(&done) < threads - 1)
		;
	start = ticks() - start;
	MARK(MARK_REGION_END, 1);
	for (size_t i = 0; i < SLOTS; i++)
		free(slots[i]);
	return start;
}

int main(int argc, char **argv)
{
	pthread_t others[MOST];
	struct clock clock;
	uint64_t elapsed;

	if (argc > 3) {
		once = !strcmp(argv[1], "malloc") ? replace : !strcmp(argv[1], "map") ? map : NULL;
		count = strtoul(argv[2], NULL, 0);
		threads = atoi(argv[3]);
	}
	if (!once || !count || threads < 1 || threads > MOST) {
		fprintf(stderr, "usage: allocator malloc|map N T [FIRST_CPU]\n");
		return 2;
	}
	first_cpu = argc > 4 ? atoi(argv[4]) : -1;
	pin(first_cpu);
	clock_start(&clock);
	for (uintptr_t i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, caller, (void *)i))
			return 1;
	elapsed = measured();
	for (unsigned int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	clock_stop(&clock);
	printf("call_ns %.1f\n", nanoseconds(&clock, elapsed) / count);
	return 0;
}
