// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * First touches of anonymous 4 KiB pages. Linux serves each fault: directly, or forwarded by a core.
 *
 * usage: pagefault PAGES ROUNDS [CPU]
 * Region 2 covers the touches of the last round. Prints `fault_ns`, the median of the rounds.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>

#include "clock.h"
#include "marker.h"

#define PAGE 4096
#define MOST 64

static uint64_t touch(volatile char *memory, size_t pages)
{
	uint64_t start = ticks();

	for (size_t i = 0; i < pages; i++)
		memory[i * PAGE] = 1;
	return ticks() - start;
}

int main(int argc, char **argv)
{
	uint64_t took[MOST];
	struct clock clock;
	size_t pages, rounds;

	if (argc < 3 || (rounds = strtoul(argv[2], NULL, 0)) < 1 || rounds > MOST) {
		fprintf(stderr, "usage: pagefault PAGES ROUNDS [CPU]\n");
		return 2;
	}
	pages = strtoul(argv[1], NULL, 0);
	if (argc > 3) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(atoi(argv[3]), &set);
		if (sched_setaffinity(0, sizeof(set), &set))
			perror("pagefault: cpu");
	}
	clock_start(&clock);
	for (size_t round = 0; round < rounds; round++) {
		char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED || madvise(memory, pages * PAGE, MADV_NOHUGEPAGE)) {
			perror("pagefault: memory");
			return 1;
		}
		if (round + 1 == rounds)
			MARK(MARK_REGION, 2);
		took[round] = touch(memory, pages);
		if (round + 1 == rounds)
			MARK(MARK_REGION_END, 2);
		munmap(memory, pages * PAGE);
	}
	clock_stop(&clock);
	printf("fault_ns %.1f\n", nanoseconds(&clock, middle(took, rounds)) / pages);
	return 0;
}
