/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * crowd THREADS [spin|beside|behind]: more threads than cores. They yield, block on a
 * mutex and a condition, pass a byte around in pipes and meet at barriers; at the
 * end every count must be exact. With "spin" they only wait for each other's
 * stores, without any call: a thread gets a turn only if the core preempts another.
 * With "beside" the first one computes until the others have made CALLS calls each.
 * With "behind" the last one makes calls while the others compute on the same core: a call may cost
 * some of them their turns (one, and the watch ends some), and not most of them.
 */
#include "door.h"

#include <pthread.h>
#include <sched.h>

#define ROUNDS 50
#define CALLS 500

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long counted, turn;
static unsigned int yields, threads;
static int pipes[1024][2];

static void count_under_mutex(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		counted++;
		if (i % 8 == 0)
			sched_yield();
		pthread_mutex_unlock(&mutex);
	}
}

static void yield_until_all_have(void)
{
	__atomic_add_fetch(&yields, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&yields, __ATOMIC_SEQ_CST) < threads)
		sched_yield();
}

static void wait_for_turn(unsigned long me)
{
	pthread_mutex_lock(&mutex);
	while (turn != me)
		pthread_cond_wait(&changed, &mutex);
	turn++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void pass_byte(unsigned long me)
{
	unsigned char byte = 0;

	if (me == 0 && write(pipes[1 % threads][1], &byte, 1) != 1)
		fail("cannot write");
	if (read(pipes[me][0], &byte, 1) != 1 || byte != (unsigned char)(me ? me - 1 : threads - 1))
		fail("thread %lu was passed %d", me, byte);
	byte = me;
	if (me && write(pipes[(me + 1) % threads][1], &byte, 1) != 1)
		fail("cannot write");
}

static unsigned long laps = 3, baton;

static void *runner(void *argument)
{
	unsigned long me = (unsigned long)argument;

	for (unsigned long lap = 0; lap < laps; lap++) {
		while (__atomic_load_n(&baton, __ATOMIC_SEQ_CST) != lap * threads + me)
			;
		__atomic_add_fetch(&baton, 1, __ATOMIC_SEQ_CST);
	}
	return argument;
}

static unsigned int still_call;

static void *beside(void *argument)
{
	if (!argument) {
		while (__atomic_load_n(&still_call, __ATOMIC_SEQ_CST))
			;
		return argument;
	}
	for (int i = 0; i < CALLS; i++)
		getppid();
	__atomic_sub_fetch(&still_call, 1, __ATOMIC_SEQ_CST);
	return argument;
}

static unsigned long computing, changes;

static void *behind(void *argument)
{
	unsigned long me = (unsigned long)argument;

	pthread_barrier_wait(&barrier);
	if (me == threads - 1) {
		for (int i = 0; i < CALLS; i++)
			getppid();
		__atomic_store_n(&still_call, 0, __ATOMIC_SEQ_CST);
	}
	while (__atomic_load_n(&still_call, __ATOMIC_SEQ_CST))
		if (__atomic_load_n(&computing, __ATOMIC_SEQ_CST) != me) {
			__atomic_store_n(&computing, me, __ATOMIC_SEQ_CST);
			__atomic_add_fetch(&changes, 1, __ATOMIC_SEQ_CST);
		}
	return argument;
}

static void *member(void *argument)
{
	unsigned long me = (unsigned long)argument;

	pthread_barrier_wait(&barrier);
	count_under_mutex();
	yield_until_all_have();
	wait_for_turn(me);
	pthread_barrier_wait(&barrier);
	pass_byte(me);
	sleep_us(1000 * (me % 7));
	pthread_barrier_wait(&barrier);
	return argument;
}

int main(int count, char **words)
{
	static pthread_t all[1024];
	const char *way = count > 2 ? words[2] : "";
	void *(*body)(void *) = !strcmp(way, "spin") ? runner : !strcmp(way, "beside") ? beside :
			      !strcmp(way, "behind") ? behind : member;

	threads = count > 1 ? atoi(words[1]) : 64;
	if (threads < 2 || threads > 250)
		fail("2 to 250 threads");
	still_call = threads - 1;
	pthread_barrier_init(&barrier, NULL, threads);
	for (unsigned int i = 0; i < threads; i++)
		if (pipe(pipes[i]))
			fail("no pipe %u", i);
	for (unsigned long i = 0; i < threads; i++)
		if (pthread_create(&all[i], NULL, body, (void *)i))
			fail("no thread %lu", i);
	for (unsigned long i = 0; i < threads; i++) {
		void *result;

		if (pthread_join(all[i], &result) || result != (void *)i)
			fail("thread %lu ended wrongly", i);
	}
	if (body == runner)
		return baton == laps * threads ? 0 : 1;
	if (body == beside)
		return 0;
	if (body == behind && changes > CALLS * (threads - 1) / 2)
		fail("%lu others had turns during %d calls", changes, CALLS);
	if (body == behind)
		return 0;
	if (counted != (unsigned long)threads * ROUNDS || turn != threads)
		fail("counted %lu, turn %lu", counted, turn);
	return 0;
}
