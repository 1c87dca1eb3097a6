// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Deliberate noise: a second program on the measured CPU, with a known number of instructions each time it wakes.
 *
 * usage: tacet-intruder CPU WAKES ROUNDS
 * Sleeps a millisecond, then executes 2 * ROUNDS instructions in a loop; repeats this WAKES times. Built and run by
 * tests/exact.rs.
 */
#include "calls.h"

int program(int count, char **words)
{
	long millisecond[2] = { 0, 1000000 };

	if (count != 4 || pin(number(words[1], 10)))
		return 2;
	for (unsigned long wakes = number(words[2], 10); wakes; wakes--) {
		unsigned long left = number(words[3], 10);

		call(SYS_nanosleep, (long)millisecond, 0, 0);
		asm volatile("1: dec %0\njnz 1b" : "+r"(left) : : "cc");
	}
	return 0;
}
