// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Makes the cheapest system call, N times on each of T threads at once. The call is native if the program runs on
 * Linux, and forwarded if it is hosted.
 *
 * usage: forward CALLS THREADS [FIRST_CPU [GAP]]
 * With FIRST_CPU, thread i pins itself to FIRST_CPU + i; this is for Linux, since the co-kernel places hosted threads.
 * With GAP, one thread marks a step before each call, after GAP rounds of a loop: it gives the call's proxy time to
 * sleep. A negative FIRST_CPU is none. Prints the figures of together.h.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "together.h"

#define WARM 20

static unsigned long calls, gap;
static bool stepped;

static void call(unsigned long n)
{
	while (n--)
		syscall(SYS_getppid);
}

static void *prepare(unsigned int index)
{
	(void)index;
	call(WARM);
	return NULL;
}

static void work(void *own)
{
	(void)own;
	if (!stepped) {
		call(calls);
		return;
	}
	for (unsigned long n = 0; n <= calls; n++) {
		for (unsigned long i = 0; i < gap; i++)
			asm volatile("" ::: "memory");
		MARK(MARK_STEP, 1);
		if (n < calls)
			call(1);
	}
}

int main(int argc, char **argv)
{
	struct together wanted = { .first_cpu = argc > 3 ? atoi(argv[3]) : -1, .prepare = prepare, .work = work };

	stepped = argc > 4;
	gap = stepped ? strtoul(argv[4], NULL, 0) : 0;
	if (argc < 3 || (wanted.threads = atoi(argv[2])) < 1 || wanted.threads > (stepped ? 1 : TOGETHER_MOST)) {
		fprintf(stderr, "usage: forward CALLS THREADS [FIRST_CPU [GAP]]\n");
		return 2;
	}
	calls = strtoul(argv[1], NULL, 0);
	together(wanted, calls);
	return 0;
}
