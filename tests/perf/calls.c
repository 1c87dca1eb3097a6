// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * One cheap system call, N times.
 *
 * usage: calls KIND N [CPU]
 * KIND: getpid, getcpu, sched_yield, futex_wake (nobody waits), futex_wait (the word has changed).
 * With CPU it pins itself there. Region 1 covers the calls. Prints `call_ns`.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "marker.h"
#include "pin.h"

#define WARM 20

static unsigned int word;

static void futex(int op, unsigned int value)
{
	syscall(SYS_futex, &word, op, value, NULL, NULL, 0);
}

static void getpid_once(void) { syscall(SYS_getpid); }
static void getcpu_once(void) { unsigned int cpu; syscall(SYS_getcpu, &cpu, NULL, NULL); }
static void yield_once(void) { syscall(SYS_sched_yield); }
static void wake_nobody(void) { futex(FUTEX_WAKE_PRIVATE, 1); }
static void wait_changed(void) { futex(FUTEX_WAIT_PRIVATE, 1); }

static const struct { const char *name; void (*once)(void); } kinds[] = {
	{ "getpid", getpid_once }, { "getcpu", getcpu_once }, { "sched_yield", yield_once },
	{ "futex_wake", wake_nobody }, { "futex_wait", wait_changed },
};

static void run(void (*once)(void), unsigned long n)
{
	while (n--)
		once();
}

int main(int argc, char **argv)
{
	unsigned long count = 0;
	struct clock clock;
	uint64_t start, took;
	size_t kind = 0;

	while (argc > 2 && kind < sizeof(kinds) / sizeof(*kinds) && strcmp(argv[1], kinds[kind].name))
		kind++;
	if (argc < 3 || kind == sizeof(kinds) / sizeof(*kinds) || !(count = strtoul(argv[2], NULL, 0))) {
		fprintf(stderr, "usage: calls KIND N [CPU]\n");
		return 2;
	}
	pin(argc > 3 ? atoi(argv[3]) : -1);
	clock_start(&clock);
	run(kinds[kind].once, WARM);
	MARK(MARK_REGION, 1);
	start = ticks();
	run(kinds[kind].once, count);
	took = ticks() - start;
	MARK(MARK_REGION_END, 1);
	clock_stop(&clock);
	printf("call_ns %.1f\n", nanoseconds(&clock, took) / count);
	return 0;
}
