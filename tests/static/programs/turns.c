/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * More threads than CPUs compute or spin, and none of them ever yields: they hand a token round, one sleeps, one waits for
 * a futex with a time limit, one reads from a pipe, and all keep what they have in vector registers. Each makes progress.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "../../user/check.h"

#define THREADS 9
#define ROUNDS 4

static atomic_int token, stop;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *hands_on(void *argument)
{
	int own = (int)(long)argument;

	for (int round = 0; round < ROUNDS; round++) {
		while (atomic_load(&token) % THREADS != own)
			;
		atomic_fetch_add(&token, 1);
	}
	return NULL;
}

/* Sums that live in vector registers while others have their turns: exact in doubles. */
static void *computes(void *argument)
{
	double own = (double)(long)argument, sums[8] = { 0 }, rounds = 0;

	while (!atomic_load(&stop)) {
		for (int i = 0; i < 8; i++)
			sums[i] += own + i;
		rounds++;
	}
	for (int i = 0; i < 8; i++)
		CHECK(sums[i] == rounds * (own + i));
	return NULL;
}

static void *sleeps(void *unused)
{
	struct timespec until, while_ns = { .tv_nsec = 3000000 };
	int pipes[2];
	char byte = 0;

	CHECK(nanosleep(&while_ns, NULL) == 0);
	CHECK(clock_gettime(CLOCK_REALTIME, &until) == 0);
	CHECK(pthread_mutex_lock(&mutex) == 0);
	CHECK(pthread_cond_timedwait(&never, &mutex, &until) == ETIMEDOUT);
	CHECK(pthread_mutex_unlock(&mutex) == 0);
	CHECK(pipe(pipes) == 0 && write(pipes[1], "x", 1) == 1 && read(pipes[0], &byte, 1) == 1 && byte == 'x');
	CHECK(poll(&(struct pollfd){ .fd = pipes[0], .events = POLLIN }, 1, 2) == 0);
	atomic_store(&stop, 1);
	return unused;
}

static void together(void *(*first)(void *), void *(*others)(void *))
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, i ? others : first, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void)
{
	together(hands_on, hands_on);
	say("token %d\n", atomic_load(&token));
	together(sleeps, computes);
	say("slept, waited and read\n");
	return 0;
}
