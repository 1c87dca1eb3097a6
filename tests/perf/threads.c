// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * What threads cost each other, N rounds: by system calls, or by what the C library makes of them.
 *
 * usage: threads KIND N [CPU CPU]
 * KIND:
 *   ping_pong         two threads wake each other by a private futex, there and back; on two CPUs, or on one: a
 *                     context switch each way
 *   yield             the same on one CPU, by sched_yield until it is one's turn
 *   wake              from the wake-up to the first instruction of a thread that has waited for a while, its CPU idle
 *   mutex             a mutex that nobody else wants is taken and given back
 *   contended_mutex   one that another thread takes all the time
 *   barrier           two threads meet
 *   thread            a thread is made, does nothing, and is joined
 * With CPUs the threads pin themselves there: on Linux; hosted threads are placed by their host. Region 1 lies around
 * the rounds. Prints `call_ns`, of a round; for `wake` the middle of them.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "marker.h"
#include "pin.h"

#define WARM 20
/* Long enough for a waiter to have gone to sleep: 0.3 to 1 ms, as fast as time stamps count. */
#define PAUSE_TICKS 1000000
/* Inside of the mutex, and outside. */
#define WORK 100

struct kind {
	const char *name;
	void (*round)(void);
	void (*answer)(void);	/* what the other thread does in each round; none if there is no other */
	bool endless;		/* the other thread does not count rounds */
};

static unsigned long rounds;	/* with those that warm up */
static int cpus[2] = { -1, -1 };
static const struct kind *kind;
static atomic_bool ended;

static long futex(atomic_uint *at, int op, unsigned int value)
{
	return syscall(SYS_futex, at, op, value, NULL, NULL, 0);
}

/* Whose turn it is: 0 or 1. */
static atomic_uint turn;

static void await_turn(unsigned int mine)
{
	unsigned int now;

	while ((now = atomic_load(&turn)) != mine)
		futex(&turn, FUTEX_WAIT_PRIVATE, now);
}

static void pass_on(unsigned int to)
{
	atomic_store(&turn, to);
	futex(&turn, FUTEX_WAKE_PRIVATE, 1);
}

static void ping(void) { pass_on(1); await_turn(0); }
static void pong(void) { await_turn(1); pass_on(0); }

static void yield_until(unsigned int mine)
{
	while (atomic_load(&turn) != mine)
		sched_yield();
}

static void yield_ping(void) { atomic_store(&turn, 1); yield_until(0); }
static void yield_pong(void) { yield_until(1); atomic_store(&turn, 0); }

/* Rounds that the waiter has begun, was woken for, and has ended; when it was woken, and when it ran. */
static atomic_uint begun, woken_for, finished;
static uint64_t woken_at, ran_at, *latencies;
static size_t latency_count;

static void wake(void)
{
	unsigned int round = atomic_load(&woken_for) + 1;
	uint64_t start;

	while (atomic_load(&begun) != round)
		;
	for (start = ticks(); ticks() - start < PAUSE_TICKS;)
		;
	woken_at = ticks();
	atomic_store(&woken_for, round);
	if (futex(&woken_for, FUTEX_WAKE_PRIVATE, 1) != 1)
		woken_at = 0;	/* it did not wait yet */
	while (atomic_load(&finished) != round)
		;
	if (woken_at && round > WARM)
		latencies[latency_count++] = ran_at - woken_at;
}

static void be_woken(void)
{
	unsigned int before = atomic_load(&finished);

	atomic_store(&begun, before + 1);
	while (atomic_load(&woken_for) == before)
		futex(&woken_for, FUTEX_WAIT_PRIVATE, before);
	ran_at = ticks();
	atomic_store(&finished, before + 1);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void work(void)
{
	for (volatile int i = 0; i < WORK; i++)
		;
}

static void lock_alone(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void lock_and_work(void)
{
	pthread_mutex_lock(&mutex);
	work();
	pthread_mutex_unlock(&mutex);
	work();
}

static pthread_barrier_t barrier;

static void meet(void) { pthread_barrier_wait(&barrier); }

static void *nothing(void *unused)
{
	return unused;
}

static void make_and_join(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL)) {
		fprintf(stderr, "threads: no thread\n");
		exit(1);
	}
}

static const struct kind kinds[] = {
	{ "ping_pong", ping, pong, false },	{ "yield", yield_ping, yield_pong, false },
	{ "wake", wake, be_woken, false },	{ "mutex", lock_alone, NULL, false },
	{ "barrier", meet, meet, false },	{ "contended_mutex", lock_and_work, lock_and_work, true },
	{ "thread", make_and_join, NULL, false },
};

static void *other(void *unused)
{
	pin(cpus[1]);
	for (unsigned long i = 0; kind->endless ? !atomic_load(&ended) : i < rounds; i++)
		kind->answer();
	return unused;
}

/* Ticks of one round. */
static double measure(unsigned long count)
{
	pthread_t thread;
	uint64_t start, took;

	if (kind->answer && pthread_create(&thread, NULL, other, NULL)) {
		fprintf(stderr, "threads: no thread\n");
		exit(1);
	}
	for (int i = 0; i < WARM; i++)
		kind->round();
	MARK(MARK_REGION, 1);
	start = ticks();
	for (unsigned long i = 0; i < count; i++)
		kind->round();
	took = ticks() - start;
	MARK(MARK_REGION_END, 1);
	atomic_store(&ended, true);
	if (kind->answer)
		pthread_join(thread, NULL);
	return kind->round == wake ? middle(latencies, latency_count) : (double)took / count;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	struct clock clock;
	double round;

	for (size_t i = 0; count && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kind = &kinds[i];
	if (!kind || !(latencies = calloc(count, sizeof(*latencies))) || pthread_barrier_init(&barrier, NULL, 2)) {
		fprintf(stderr, "usage: threads KIND N [CPU CPU]\n");
		return 2;
	}
	if (argc > 4) {
		cpus[0] = atoi(argv[3]);
		cpus[1] = atoi(argv[4]);
	}
	rounds = WARM + count;
	pin(cpus[0]);
	clock_start(&clock);
	round = measure(count);
	clock_stop(&clock);
	if (kind->round == wake && !latency_count) {
		fprintf(stderr, "threads: nobody waited\n");
		return 1;
	}
	printf("call_ns %.1f\n", nanoseconds(&clock, 1) * round);
	return 0;
}
