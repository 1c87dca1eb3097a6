// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Anonymous memory, N times: maps, touches and unmaps it, or only touches it, or moves the break.
 *
 * usage: memory KIND N [CPU]
 * KIND: map_unmap_4k, map_unmap_2m, map_unmap_1g (every page is touched), touch_2m (mapped before), heap (the break
 * grows by 1 MiB, whose pages are touched, and shrinks again). With CPU it pins itself there. Region 1 covers all rounds.
 * Prints `call_ns`, the time of one round.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "marker.h"
#include "pin.h"

#define PAGE 4096ul
#define HUGE (2ul << 20)
#define GIANT (1ul << 30)
#define WARM 5

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void touch(volatile char *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += PAGE)
		memory[i] = 1;
}

static void *map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("memory: mmap");
	return memory;
}

static void map_unmap(size_t bytes)
{
	void *memory = map(bytes);

	touch(memory, bytes);
	if (munmap(memory, bytes))
		fail("memory: munmap");
}

static void small(void) { map_unmap(PAGE); }
static void large(void) { map_unmap(HUGE); }
static void giant(void) { map_unmap(GIANT); }

static void touch_large(void)
{
	static char *memory;

	if (!memory)
		memory = map(HUGE);
	touch(memory, HUGE);
}

static void heap(void)
{
	char *memory = sbrk(1 << 20);

	if (memory == (void *)-1)
		fail("memory: sbrk");
	touch(memory, 1 << 20);
	sbrk(-(1 << 20));
}

static const struct { const char *name; void (*once)(void); int warm; } kinds[] = {
	{ "map_unmap_4k", small, WARM }, { "map_unmap_2m", large, WARM }, { "map_unmap_1g", giant, 1 },
	{ "touch_2m", touch_large, 1 }, { "heap", heap, WARM },
};

int main(int argc, char **argv)
{
	unsigned long count = 0, i;
	struct clock clock;
	size_t kind = 0;
	uint64_t start, took;

	while (argc > 2 && kind < sizeof(kinds) / sizeof(*kinds) && strcmp(argv[1], kinds[kind].name))
		kind++;
	if (argc < 3 || kind == sizeof(kinds) / sizeof(*kinds) || !(count = strtoul(argv[2], NULL, 0))) {
		fprintf(stderr, "usage: memory KIND N [CPU]\n");
		return 2;
	}
	pin(argc > 3 ? atoi(argv[3]) : -1);
	clock_start(&clock);
	for (int warm = 0; warm < kinds[kind].warm; warm++)
		kinds[kind].once();
	MARK(MARK_REGION, 1);
	start = ticks();
	for (i = 0; i < count; i++)
		kinds[kind].once();
	took = ticks() - start;
	MARK(MARK_REGION_END, 1);
	clock_stop(&clock);
	printf("call_ns %.1f\n", nanoseconds(&clock, took) / count);
	return 0;
}
