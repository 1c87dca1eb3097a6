// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Computes until it is told to end, as the target of a debugger. debug.sh writes `seen` through the debugger; at the
 * end the program says whether it made rounds after that.
 */
#include <signal.h>
#include <stdio.h>

double radius = 6371;
volatile unsigned long rounds, seen;
static volatile sig_atomic_t told;

static void tell(int signal)
{
	(void)signal;
	told = 1;
}

/* The breakpoint is here. */
__attribute__((noinline)) static void make_round(unsigned long number)
{
	for (unsigned long i = 0; i < 200000; i++)
		__asm__ volatile("" : "+r"(i), "+r"(number));
	rounds++;
}

int main(void)
{
	signal(SIGTERM, tell);
	puts("computing");
	fflush(stdout);
	while (!told)
		make_round(rounds);
	printf("went on without the debugger: %s\n", seen && rounds > seen ? "yes" : "no");
	return 0;
}
