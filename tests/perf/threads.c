// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Synchronisation of threads, N rounds: by system calls, or by functions of the C library.
 *
 * usage: threads KIND N [CPU CPU]
 * KIND:
 *   ping_pong         two threads wake each other by a private futex, there and back; on two CPUs, or on one: a
 *                     context switch each way
 *   yield             the same on one CPU, by sched_yield until it is the thread's turn
 *   wake              from the wake-up to the first instruction of a thread that has waited so long that its CPU idles
 *   mutex             lock and unlock a mutex without contention
 *   contended_mutex   the same, while another thread locks it all the time
 *   barrier           two threads meet
 *   thread            create a thread that does nothing, and join it
 * With CPUs the threads pin themselves there; this is for Linux, since the co-kernel places hosted threads. Region 1
 * covers the rounds. Prints `call_ns`, the time of a round; for `wake`, the median.
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
/* Long enough for a waiter to go to sleep: 0.3 to 1 ms, depending on the rate of the time stamp counter. */
#define PAUSE_TICKS 1000000
/* The work inside the mutex, and outside. */
#define WORK 100

struct kind {
	const char *name;
	void (*round)(void);
	void (*answer)(void);	/* the other thread's part of a round; NULL: there is no other thread */
	bool endless;		/* the other thread does not count rounds */
};

static unsigned long rounds;	/* including warm-up rounds */
static int cpus[2] = { -1, -1 };
static const struct kind *kind;
static atomic_bool ended;

static long futex(atomic_uint *at, int op, unsigned int value)
{
	return syscall(SYS_futex, at, op, value, NULL, NULL, 0);
}

/* The thread whose turn it is: 0 or 1. */
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

/* The last round that the waiter began, was woken for, and finished; when it was woken, and when it ran. */
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
		woken_at = 0;	/* the waiter did not wait yet */
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
