// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Fixed work quanta of DAXPY: y = a * x + y on vectors of 256 elements, N times, a marker between them.
 *
 * usage: daxpy QUANTA ROUNDS [CPU]
 * A quantum is ROUNDS passes over the vectors. CPU is for Linux: the program first pins itself there. Prints a line after
 * the last quantum. Must never enter the kernel between MARK_BEGIN and MARK_END. Uses no C library; the Makefile
 * chooses its addresses, by which the plugin recognises it.
 */
#include "calls.h"
#include "marker.h"

#define ELEMENTS 256
#define WARM 50

static double x[ELEMENTS], y[ELEMENTS];

__attribute__((noinline)) static void daxpy(double a, unsigned long rounds)
{
	for (; rounds; rounds--)
		for (long i = 0; i < ELEMENTS; i++) {
			y[i] += a * x[i];
			asm volatile("" : : : "memory");
		}
}

__attribute__((noinline)) static void quanta(unsigned long n, unsigned long rounds)
{
	MARK(MARK_QUANTUM, 0);
	for (; n; n--) {
		daxpy(1e-9, rounds);
		MARK(MARK_QUANTUM, 0);
	}
}

int program(int count, char **words)
{
	unsigned long n, rounds;
	unsigned int cpu = 0;

	if (count < 3) {
		say(2, "usage: daxpy QUANTA ROUNDS [CPU]\n");
		return 2;
	}
	n = number(words[1], 10);
	rounds = number(words[2], 10);
	if (call(SYS_mlockall, MCL_CURRENT, 0, 0) || (count > 3 && pin(number(words[3], 10)))) {
		say(2, "daxpy: cannot lock its memory or keep to its cpu\n");
		return 1;
	}
	for (long i = 0; i < ELEMENTS; i++) {
		x[i] = (double)i;
		y[i] = 1;
	}
	quanta(WARM, rounds);
	MARK(MARK_BEGIN, 0);
	quanta(n, rounds);
	MARK(MARK_END, 0);
	call(SYS_getcpu, (long)&cpu, 0, 0);
	say(1, "quanta ");
	say_number(1, n);
	say(1, " cpu ");
	say_number(1, cpu);
	say(1, "\n");
	return 0;
}
