/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Futexes: wait and wake, requeue, timeouts, priority inheritance, the death of robust owners. */
#include "check.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/time.h>

static uint32_t word, other;
static int woken;

static long futex(uint32_t *at, int op, uint32_t value, void *timeout, uint32_t *second, uint32_t last)
{
	return syscall(SYS_futex, at, op, value, timeout, second, last);
}

static void *wait_once(void *unused)
{
	CHECK(futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == 0);
	add(&woken, 1);
	return unused;
}

/* Wakes or requeues until it has found n waiting threads. */
static void until_found(int n, long (*find)(void))
{
	for (long found = 0; found < n; found += find())
		sched_yield();
}

static long wake_one(void)
{
	return futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static long requeue_one(void)
{
	return futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 0, (void *)1, &other, 0);
}

/*
 * Of two waiting threads, one is woken and one is requeued: both calls count both. Linux may wake a requeued thread for
 * nothing (a late wake-up from before); it then waits for its first futex again, where the second call leaves it.
 */
static long wake_and_move_once(void)
{
	pthread_t threads[2];
	long moved;

	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, wait_once, NULL));
	until_found(2, requeue_one);
	moved = futex(&other, FUTEX_REQUEUE_PRIVATE, 1, (void *)1, &word, 0);
	CHECK(moved == 1 || moved == 2);
	until_found(1, wake_one);
	CHECK(futex(&other, FUTEX_WAKE_PRIVATE, 100, NULL, NULL, 0) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(threads[i], NULL));
	store(&woken, 0);
	return moved;
}

static void wake_and_move(void)
{
	int attempts = 0;

	while (wake_and_move_once() != 2)
		CHECK(++attempts < 20);
}

static void wait_and_wake(void)
{
	struct timespec brief = { 0, 5000000 }, past = { 1, 0 };
	int64_t before = now_ns(CLOCK_MONOTONIC);
	pthread_t threads[6];

	CHECK(wake_one() == 0);
	CHECK_ERRNO(futex(&word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0), EAGAIN);
	CHECK_ERRNO(futex(&word, FUTEX_WAIT_PRIVATE, 0, &brief, NULL, 0), ETIMEDOUT);
	CHECK(now_ns(CLOCK_MONOTONIC) - before >= 5000000);
	CHECK_ERRNO(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, &past, NULL, 1), ETIMEDOUT);
	CHECK_ERRNO(futex((uint32_t *)((char *)&word + 1), FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0), EINVAL);
	/* A clock flag where none is allowed, or without effect; empty bit masks. */
	CHECK_ERRNO(futex(&word, FUTEX_WAIT_PRIVATE | FUTEX_CLOCK_REALTIME, 0, NULL, NULL, 0), ENOSYS);
	CHECK_ERRNO(futex(&word, FUTEX_WAKE_PRIVATE | FUTEX_CLOCK_REALTIME, 1, NULL, NULL, 0), ENOSYS);
	CHECK_ERRNO(futex(&word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 1, NULL, NULL, 1), EAGAIN);
	CHECK_ERRNO(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 0), EINVAL);
	CHECK_ERRNO(futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 0), EINVAL);
	CHECK_ERRNO(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, -1, (void *)1, &other, 0), EINVAL);
	CHECK_ERRNO(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)-1, &other, 0), EINVAL);
	CHECK_ERRNO(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)1, &other, 1), EAGAIN);
	CHECK_ERRNO(futex((uint32_t *)4096, FUTEX_WAIT, 0, NULL, NULL, 0), EFAULT);
	for (int i = 0; i < 6; i++)
		CHECK(!pthread_create(&threads[i], NULL, wait_once, NULL));
	until_found(3, requeue_one);
	until_found(3, wake_one);
	wait_until(load(&woken) == 3);
	CHECK(wake_one() == 0 && load(&woken) == 3);
	CHECK(futex(&other, FUTEX_WAKE_PRIVATE, 100, NULL, NULL, 0) == 3);
	for (int i = 0; i < 6; i++)
		CHECK(!pthread_join(threads[i], NULL));
	say("wait, wake, requeue, time out\n");
}

static pthread_mutex_t mutex;
static long counter;

static void *count_under_lock(void *unused)
{
	for (int i = 0; i < 500; i++) {
		CHECK(!pthread_mutex_lock(&mutex));
		counter++;
		if (i % 50 == 0)
			sched_yield();
		CHECK(!pthread_mutex_unlock(&mutex));
	}
	return unused;
}

static void inheriting(void)
{
	pthread_mutexattr_t attr;
	pthread_t threads[6];
	uint32_t tid = 0;

	pthread_mutexattr_init(&attr);
	CHECK(!pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT) && !pthread_mutex_init(&mutex, &attr));
	for (int i = 0; i < 6; i++)
		CHECK(!pthread_create(&threads[i], NULL, count_under_lock, NULL));
	for (int i = 0; i < 6; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(counter == 6 * 500);
	CHECK(futex(&tid, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0 && (tid & FUTEX_TID_MASK) == (uint32_t)gettid());
	CHECK_ERRNO(futex(&tid, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0), EDEADLK);
	CHECK(futex(&tid, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0 && tid == 0);
	say("priority inheritance\n");
}

struct shared { pthread_mutex_t robust, robust_pi; uint32_t held; };

static struct shared *shared;

static void *die_holding(void *unused)
{
	CHECK(!pthread_mutex_lock(&shared->robust) && !pthread_mutex_lock(&shared->robust_pi));
	return unused;
}

static void hold_and_spin(void)
{
	die_holding(NULL);
	store(&shared->held, 1);
	for (;;)
		;
}

static void expect_dead_owner(pthread_mutex_t *m)
{
	CHECK(pthread_mutex_lock(m) == EOWNERDEAD);
	CHECK(!pthread_mutex_consistent(m) && !pthread_mutex_unlock(m));
	CHECK(!pthread_mutex_lock(m) && !pthread_mutex_unlock(m));
}

static void *wait_for_dead_owner(void *m)
{
	expect_dead_owner(m);
	return NULL;
}

static void robust(void)
{
	pthread_mutexattr_t attr;
	pthread_t thread;
	pid_t pid;
	int status;

	shared = shared_memory(4096);
	pthread_mutexattr_init(&attr);
	CHECK(!pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	CHECK(!pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	CHECK(!pthread_mutex_init(&shared->robust, &attr));
	CHECK(!pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
	CHECK(!pthread_mutex_init(&shared->robust_pi, &attr));

	CHECK(!pthread_create(&thread, NULL, die_holding, NULL) && !pthread_join(thread, NULL));
	expect_dead_owner(&shared->robust);
	expect_dead_owner(&shared->robust_pi);
	say("a thread ended holding a robust mutex\n");

	pid = fork();
	if (pid == 0)
		hold_and_spin();
	wait_until(load(&shared->held));
	CHECK(!pthread_create(&thread, NULL, wait_for_dead_owner, &shared->robust));
	CHECK(pthread_mutex_trylock(&shared->robust_pi) == EBUSY);
	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && killed_by(status, SIGKILL));
	CHECK(!pthread_join(thread, NULL));
	expect_dead_owner(&shared->robust_pi);
	say("a spinning process was killed holding robust mutexes\n");
}

static void wake_parent(void)
{
	wait_until(futex(&shared->held, FUTEX_WAKE, 1, NULL, NULL, 0) == 1);
}

static void across_processes(void)
{
	pid_t pid;
	int status;

	shared->held = 0;
	pid = fork();
	if (pid == 0) {
		wake_parent();
		_exit(0);
	}
	CHECK(futex(&shared->held, FUTEX_WAIT, 0, NULL, NULL, 0) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	say("across processes\n");
}

int main(void)
{
	PART(wake_and_move);
	PART(wait_and_wake);
	PART(inheriting);
	PART(robust);
	PART(across_processes);
	return 0;
}
