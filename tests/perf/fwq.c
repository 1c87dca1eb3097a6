// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Fixed work quanta: the same instructions N times, a marker and a time stamp between them.
 *
 * usage: fwq QUANTA ITERATIONS [TIMES [CPU]]
 * Executes 2 * ITERATIONS instructions of loop a quantum and nothing that needs a kernel. With TIMES, writes the
 * ticks of each quantum there, one a line. With CPU, pins itself there first: on Linux; a hosted thread is placed by
 * its host. Must never enter the kernel between MARK_BEGIN and MARK_END.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "marker.h"
#include "ticks.h"

#define WARM 50

/* Stamps times[0..n]; never inlined twice, so that every quantum is the same code at the same address. */
__attribute__((noinline)) static void quanta(uint64_t *times, size_t n, uint64_t iterations)
{
	for (size_t i = 0; i <= n; i++) {
		uint64_t left = iterations;

		MARK(MARK_QUANTUM, 0);
		times[i] = ticks();
		asm volatile(".p2align 6\n1: dec %0\njnz 1b" : "+r"(left) : : "cc");
	}
}

static int write_times(const char *path, const uint64_t *times, size_t n)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return -1;
	for (size_t i = 0; i < n; i++)
		fprintf(file, "%lu\n", times[i + 1] - times[i]);
	return fclose(file);
}

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
	size_t n, bytes;
	uint64_t *times;

	if (argc < 3) {
		fprintf(stderr, "usage: fwq QUANTA ITERATIONS [TIMES [CPU]]\n");
		return 2;
	}
	n = strtoul(argv[1], NULL, 0);
	bytes = (n + WARM + 1) * sizeof(*times);
	times = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (times == MAP_FAILED || mlockall(MCL_CURRENT | MCL_FUTURE)) {
		perror("fwq: memory");
		return 1;
	}
	memset(times, 0, bytes);
	if (argc > 4 && pin(atoi(argv[4]))) {
		perror("fwq: cpu");
		return 1;
	}
	quanta(times, WARM, strtoul(argv[2], NULL, 0));
	MARK(MARK_BEGIN, 0);
	quanta(times, n, strtoul(argv[2], NULL, 0));
	MARK(MARK_END, 0);
	if (argc > 3 && strcmp(argv[3], "-") && write_times(argv[3], times, n)) {
		perror("fwq: times");
		return 1;
	}
	printf("quanta %zu cpu %d\n", n, sched_getcpu());
	return 0;
}
