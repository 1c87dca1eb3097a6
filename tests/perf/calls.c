// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * One cheap system call, N times; or two threads that wake each other N times by a private futex.
 *
 * usage: calls KIND N [CPU CPU]
 * KIND: getpid, getcpu, sched_yield, futex_wake (nobody waits), futex_wait (the word has changed), ping_pong.
 * With CPUs the threads pin themselves there: on Linux; hosted threads are placed by their host. Region 1 lies around
 * the calls. Prints `call_ns`, of a ping-pong for there and back.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "marker.h"

#define WARM 20

static unsigned long count;
static int cpus[2] = { -1, -1 };
/* Whose turn it is: 0 or 1; 2 is the end. */
static atomic_uint turn;
static atomic_uint word;

static long futex(atomic_uint *at, int op, unsigned int value)
{
	return syscall(SYS_futex, at, op, value, NULL, NULL, 0);
}

static void getpid_once(void) { syscall(SYS_getpid); }
static void getcpu_once(void) { unsigned int cpu; syscall(SYS_getcpu, &cpu, NULL, NULL); }
static void yield_once(void) { syscall(SYS_sched_yield); }
static void wake_nobody(void) { futex(&word, FUTEX_WAKE_PRIVATE, 1); }
static void wait_changed(void) { futex(&word, FUTEX_WAIT_PRIVATE, 1); }

static const struct { const char *name; void (*once)(void); } kinds[] = {
	{ "getpid", getpid_once }, { "getcpu", getcpu_once }, { "sched_yield", yield_once },
	{ "futex_wake", wake_nobody }, { "futex_wait", wait_changed }, { "ping_pong", NULL },
};

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (cpu >= 0 && sched_setaffinity(0, sizeof(set), &set))
		perror("calls: cpu");
}

static void await_turn(unsigned int mine)
{
	unsigned int now;

	while ((now = atomic_load(&turn)) != mine && now != 2)
		futex(&turn, FUTEX_WAIT_PRIVATE, now);
}

static void pass_on(unsigned int to)
{
	atomic_store(&turn, to);
	futex(&turn, FUTEX_WAKE_PRIVATE, 1);
}

static void *answer(void *unused)
{
	pin(cpus[1]);
	for (;;) {
		await_turn(1);
		if (atomic_load(&turn) == 2)
			return unused;
		pass_on(0);
	}
}

static void there_and_back(void)
{
	pass_on(1);
	await_turn(0);
}

static void run(void (*once)(void), unsigned long n)
{
	while (n--)
		once();
}

int main(int argc, char **argv)
{
	void (*once)(void) = NULL;
	struct clock clock;
	pthread_t other;
	uint64_t start, took;
	size_t kind = 0;

	while (argc > 2 && kind < sizeof(kinds) / sizeof(*kinds) && strcmp(argv[1], kinds[kind].name))
		kind++;
	if (argc < 3 || kind == sizeof(kinds) / sizeof(*kinds) || !(count = strtoul(argv[2], NULL, 0))) {
		fprintf(stderr, "usage: calls KIND N [CPU CPU]\n");
		return 2;
	}
	if (argc > 4) {
		cpus[0] = atoi(argv[3]);
		cpus[1] = atoi(argv[4]);
	}
	pin(cpus[0]);
	once = kinds[kind].once ? kinds[kind].once : there_and_back;
	if (once == there_and_back && pthread_create(&other, NULL, answer, NULL))
		return 1;
	clock_start(&clock);
	run(once, WARM);
	MARK(MARK_REGION, 1);
	start = ticks();
	run(once, count);
	took = ticks() - start;
	MARK(MARK_REGION_END, 1);
	if (once == there_and_back) {
		pass_on(2);
		pthread_join(other, NULL);
	}
	clock_stop(&clock);
	printf("call_ns %.1f\n", nanoseconds(&clock, took) / count);
	return 0;
}
