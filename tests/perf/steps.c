// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A computation in time steps that allocates its arrays anew in each step, as Lulesh does: few large ones, some very
 * large ones, many whose sizes differ between regions and steps, so that the heap grows and shrinks; and one that it
 * maps itself.
 *
 * usage: steps STEPS EDGE [CPU]
 * EDGE: elements of each side of the cube. STEPS may be 0: then it only starts and ends. With CPU it pins itself there.
 * Region 1 covers the steps. Prints `call_ns`, the time of a step, `faults` (page faults that Linux counted from the
 * first step to the last) and `sum`, which is the same on every kernel.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "clock.h"
#include "marker.h"
#include "pin.h"

#define REGIONS 11
#define MOST 32

static size_t elements;
/* Arrays that live as long as the program. */
static double *energy;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Allocates `count` arrays of `length` numbers, fills them from each other, adds them to the energies, and frees them in
 * the order of allocation. */
static void phase(size_t count, size_t length)
{
	double *arrays[MOST];

	for (size_t a = 0; a < count; a++) {
		const double *from = a ? arrays[a - 1] : energy;
		size_t within = a ? length : elements;

		arrays[a] = malloc(length * sizeof(double));
		if (!arrays[a])
			fail("steps: malloc");
		for (size_t i = 0; i < length; i++)
			arrays[a][i] = from[i % within] * 0.5 + 1;
	}
	for (size_t i = 0; i < elements && i < length; i++)
		energy[i] = energy[i] * 0.75 + arrays[count - 1][i] * 0.25;
	for (size_t a = 0; a < count; a++)
		free(arrays[a]);
}

static void exchange(void)
{
	size_t bytes = elements * 3 * sizeof(double);
	double *buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buffer == MAP_FAILED)
		fail("steps: mmap");
	for (size_t i = 0; i < elements * 3; i++)
		buffer[i] = energy[i % elements];
	energy[0] = buffer[elements * 3 - 1];
	if (munmap(buffer, bytes))
		fail("steps: munmap");
}

static void step(size_t number)
{
	phase(4, elements);
	phase(6, 8 * elements);
	phase(3, elements);
	for (size_t region = 0; region < REGIONS; region++)
		phase(16, elements / 2 / (1 + (region + number) % REGIONS));
	exchange();
}

static long faults(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		fail("steps: getrusage");
	return usage.ru_minflt + usage.ru_majflt;
}

int main(int argc, char **argv)
{
	size_t steps, edge = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	struct clock clock;
	double sum = 0;
	uint64_t took;
	long before;

	if (edge < 2 || edge > 100) {
		fprintf(stderr, "usage: steps STEPS EDGE [CPU]\n");
		return 2;
	}
	steps = strtoul(argv[1], NULL, 0);
	pin(argc > 3 ? atoi(argv[3]) : -1);
	elements = edge * edge * edge;
	energy = calloc(elements, sizeof(double));
	if (!energy)
		fail("steps: malloc");
	for (size_t i = 0; i < elements; i++)
		energy[i] = i % 97;
	clock_start(&clock);
	before = faults();
	MARK(MARK_REGION, 1);
	took = ticks();
	for (size_t number = 0; number < steps; number++)
		step(number);
	took = ticks() - took;
	MARK(MARK_REGION_END, 1);
	before = faults() - before;
	clock_stop(&clock);
	for (size_t i = 0; i < elements; i++)
		sum += energy[i];
	printf("call_ns %.1f\n", steps ? nanoseconds(&clock, took) / steps : 0);
	printf("faults %ld\n", before);
	printf("sum %.6f\n", sum);
	return 0;
}
