/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* POSIX threads: many more than CPUs, thread-local data, all kinds of synchronisation, and cancellation. */
#include "check.h"

#include <pthread.h>
#include <semaphore.h>

#define MANY 64

static __thread long own = 41;
static __thread char big[10000];
static long total;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *compute(void *argument)
{
	long n = (long)argument, sum = 0;

	own += n;
	memset(big, (char)n, sizeof(big));
	for (volatile long i = 0; i < 2000; i++)
		sum += i % (n + 1);
	CHECK(!pthread_mutex_lock(&mutex));
	total += n;
	CHECK(!pthread_mutex_unlock(&mutex));
	sched_yield();
	CHECK(own == 41 + n && big[0] == (char)n && big[9999] == (char)n);
	return (void *)(n * n);
}

static void create_and_join(void)
{
	pthread_t threads[MANY];
	void *result;

	for (long i = 0; i < MANY; i++)
		CHECK(!pthread_create(&threads[i], NULL, compute, (void *)i));
	for (long i = 0; i < MANY; i++)
		CHECK(!pthread_join(threads[i], &result) && (long)result == i * i);
	CHECK(total == MANY * (MANY - 1) / 2 && own == 41);
	for (long i = 0; i < 100; i++)	/* one after the other, so that ids and stacks are reused */
		CHECK(!pthread_create(&threads[0], NULL, compute, (void *)i) && !pthread_join(threads[0], &result));
	say("create and join\n");
}

/* Threads pass a token around a ring, by yielding only. */
#define RING 5
static int token;

static void *pass_on(void *argument)
{
	int mine = (int)(long)argument;

	for (int round = 0; round < 100; round++) {
		wait_until(load(&token) == round * RING + mine);
		add(&token, 1);
	}
	return NULL;
}

static void yielding(void)
{
	pthread_t threads[RING];

	for (long i = 0; i < RING; i++)
		CHECK(!pthread_create(&threads[i], NULL, pass_on, (void *)i));
	for (int i = 0; i < RING; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(token == 100 * RING);
	say("yield around a ring\n");
}

/* A bounded queue: producers and consumers on two conditions. */
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int queue[4], queued;
static long consumed;

static void *produce(void *unused)
{
	for (int i = 1; i <= 100; i++) {
		pthread_mutex_lock(&mutex);
		while (queued == 4)
			pthread_cond_wait(&not_full, &mutex);
		queue[queued++] = i;
		pthread_cond_signal(&not_empty);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void *consume(void *unused)
{
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&mutex);
		while (!queued)
			pthread_cond_wait(&not_empty, &mutex);
		consumed += queue[--queued];
		pthread_cond_signal(&not_full);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void conditions(void)
{
	struct timespec soon;
	pthread_t threads[8];
	int error;

	for (int i = 0; i < 8; i++)
		CHECK(!pthread_create(&threads[i], NULL, i % 2 ? produce : consume, NULL));
	for (int i = 0; i < 8; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(consumed == 4 * 5050 && queued == 0);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 2000000;
	soon.tv_sec += soon.tv_nsec / 1000000000;
	soon.tv_nsec %= 1000000000;
	pthread_mutex_lock(&mutex);
	while ((error = pthread_cond_timedwait(&not_empty, &mutex, &soon)) == 0)
		;	/* a spurious wake-up, which is allowed */
	CHECK(error == ETIMEDOUT);
	pthread_mutex_unlock(&mutex);
	say("conditions\n");
}

static pthread_barrier_t barrier;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static int phase[8], pair[2];

static void *meet(void *argument)
{
	int me = (int)(long)argument, r;

	for (int round = 1; round <= 20; round++) {
		store(&phase[me], round);
		r = pthread_barrier_wait(&barrier);
		CHECK(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
		for (int i = 0; i < 8; i++)
			CHECK(load(&phase[i]) >= round && load(&phase[i]) <= round + 1);
		if (me % 4 == 0) {
			CHECK(!pthread_rwlock_wrlock(&rwlock));
			pair[0]++;
			sched_yield();
			pair[1]++;
		} else {
			CHECK(!pthread_rwlock_rdlock(&rwlock) && pair[0] == pair[1]);
		}
		CHECK(!pthread_rwlock_unlock(&rwlock) && sem_post(&semaphore) == 0);
	}
	return NULL;
}

static void barriers_and_locks(void)
{
	pthread_t threads[8];

	CHECK(!pthread_barrier_init(&barrier, NULL, 8) && !sem_init(&semaphore, 0, 0));
	for (long i = 0; i < 8; i++)
		CHECK(!pthread_create(&threads[i], NULL, meet, (void *)i));
	for (int i = 0; i < 160; i++)
		CHECK(sem_wait(&semaphore) == 0);
	for (int i = 0; i < 8; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(pair[0] == 40 && pair[1] == 40 && sem_trywait(&semaphore) == -1);
	say("barrier, rwlock, semaphore\n");
}

static int started, cleaned;

static void clean(void *what)
{
	add(&cleaned, *(int *)what);
}

static void *cancelled(void *how)
{
	int ten = 10;

	pthread_cleanup_push(clean, &ten);
	if (how)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	store(&started, 1);
	while (how)	/* no call at all: only the signal can end this */
		;
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancelling(void)
{
	pthread_t thread;
	void *result;

	for (long how = 0; how < 2; how++) {
		store(&started, 0);
		CHECK(!pthread_create(&thread, NULL, cancelled, (void *)how));
		wait_until(load(&started));
		CHECK(!pthread_cancel(thread) && !pthread_join(thread, &result) && result == PTHREAD_CANCELED);
	}
	CHECK(cleaned == 20);
	say("cancelling, also a spinning thread\n");
}

static pthread_key_t key;
static int destroyed;

static void destroy(void *value)
{
	add(&destroyed, (int)(long)value);
}

static void *use_key(void *value)
{
	CHECK(!pthread_setspecific(key, value));
	return NULL;
}

static void *deep(void *unused)
{
	volatile char block[900 * 1024];

	for (size_t i = 0; i < sizeof(block); i += 4096)
		block[i] = 1;
	return unused;
}

static void keys_and_stacks(void)
{
	pthread_t threads[5];
	pthread_attr_t attr;

	CHECK(!pthread_key_create(&key, destroy));
	for (long i = 0; i < 5; i++)
		CHECK(!pthread_create(&threads[i], NULL, use_key, (void *)(i + 1)));
	for (int i = 0; i < 5; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(destroyed == 15 && !pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, 1 << 20));
	CHECK(!pthread_create(&threads[0], &attr, deep, NULL) && !pthread_join(threads[0], NULL));
	say("keys and stacks\n");
}

int main(void)
{
	create_and_join();
	yielding();
	conditions();
	barriers_and_locks();
	cancelling();
	keys_and_stacks();
	return 0;
}
