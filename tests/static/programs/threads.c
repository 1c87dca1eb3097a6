/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The C library's threads: creation, waiting, cancellation, locks, thread-local data. */
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>

#include "../../user/check.h"

#define THREADS 8
#define ROUNDS 2000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static __thread long own = 7;
static long counter, initialised, destroyed, turn;

static void initialise(void)
{
	initialised++;
}

static void destroy(void *value)
{
	__atomic_fetch_add(&destroyed, (long)value, __ATOMIC_RELAXED);
}

static void *count(void *argument)
{
	long number = (long)argument;

	CHECK(own == 7);
	own += number;
	CHECK(pthread_once(&once, initialise) == 0 && pthread_setspecific(key, (void *)1) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		counter++;
		pthread_mutex_unlock(&mutex);
	}
	for (int i = 0; i < 20; i++)
		pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutex);
	while (turn != number)
		pthread_cond_wait(&changed, &mutex);
	turn++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	return (void *)own;
}

static void together(void)
{
	pthread_t threads[THREADS];
	long sum = 0;

	CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0 && pthread_key_create(&key, destroy) == 0);
	for (long i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, count, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++) {
		void *result;

		CHECK(pthread_join(threads[i], &result) == 0);
		sum += (long)result;
	}
	say("together: counter %ld, sum %ld, once %ld, destroyed %ld\n", counter, sum, initialised, destroyed);
}

static void *wait_for_ever(void *argument)
{
	sem_post(argument);
	pause();
	return NULL;
}

static void *spin(void *argument)
{
	sem_post(argument);
	for (;;)
		pthread_testcancel();
	return NULL;
}

static void cancellation(void)
{
	void *(*bodies[])(void *) = { wait_for_ever, spin };

	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		sem_t started;
		void *result;

		CHECK(sem_init(&started, 0, 0) == 0 && pthread_create(&thread, NULL, bodies[i], &started) == 0);
		CHECK(sem_wait(&started) == 0 && pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
		CHECK(result == PTHREAD_CANCELED);
	}
	say("cancellation\n");
}

static void *die_with_lock(void *argument)
{
	pthread_mutex_lock(argument);
	return NULL;
}

static void locks(void)
{
	pthread_mutexattr_t attributes;
	pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
	pthread_mutex_t robust, recursive;
	struct timespec past = { .tv_sec = 1 };
	pthread_t thread;

	CHECK(pthread_mutexattr_init(&attributes) == 0);
	CHECK(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
	CHECK(pthread_mutex_init(&robust, &attributes) == 0);
	CHECK(pthread_create(&thread, NULL, die_with_lock, &robust) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD && pthread_mutex_consistent(&robust) == 0);
	CHECK(pthread_mutex_unlock(&robust) == 0 && pthread_mutex_lock(&robust) == 0);
	CHECK(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_STALLED) == 0);
	CHECK(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE) == 0);
	CHECK(pthread_mutex_init(&recursive, &attributes) == 0);
	CHECK(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_lock(&recursive) == 0);
	CHECK(pthread_rwlock_rdlock(&readers) == 0 && pthread_rwlock_tryrdlock(&readers) == 0);
	CHECK(pthread_rwlock_trywrlock(&readers) == EBUSY);
	CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_cond_timedwait(&changed, &mutex, &past) == ETIMEDOUT);
	CHECK(pthread_mutex_unlock(&mutex) == 0);
	say("locks\n");
}

static void *nothing(void *argument)
{
	return argument;
}

static void many(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	CHECK(pthread_attr_init(&attributes) == 0);
	CHECK(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN + 65536) == 0);
	for (long i = 0; i < 200; i++) {
		void *result;

		CHECK(pthread_create(&thread, i % 2 ? &attributes : NULL, nothing, (void *)i) == 0);
		CHECK(pthread_join(thread, &result) == 0 && result == (void *)i);
	}
	CHECK(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
	for (int i = 0; i < 50; i++)
		CHECK(pthread_create(&thread, &attributes, nothing, NULL) == 0);
	say("many\n");
}

int main(void)
{
	together();
	cancellation();
	locks();
	many();
	return 0;
}
