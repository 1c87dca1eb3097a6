/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sleeps, and waits for a futex with a time limit: they never end early, only handlers interrupt
 * them, and then they report the remaining time; and calls that are refused.
 */
#include "check.h"

#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>

#define HOUR_S 3600
#define MS 1000000LL

static uint32_t word, other;
static int handled, sleeping, done;

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

static long wait_on(uint32_t *at, uint32_t value, const struct timespec *until)
{
	return syscall(SYS_futex, at, FUTEX_WAIT_BITSET_PRIVATE, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
}

static long sleep_raw(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	return syscall(SYS_clock_nanosleep, clock, flags, time, left);
}

static void long_enough(void)
{
	static const int64_t lengths[] = { 0, 1, 999, 50000, 300000, 3 * MS, 30 * MS };

	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		struct timespec time = timespec_of(lengths[i]), until;
		struct timespec left = { 7, 7 };
		int64_t start = now_ns(CLOCK_MONOTONIC);

		CHECK(syscall(SYS_nanosleep, &time, &left) == 0);
		CHECK(now_ns(CLOCK_MONOTONIC) >= start + lengths[i]);
		start = now_ns(CLOCK_MONOTONIC);
		CHECK(sleep_raw(CLOCK_REALTIME, 0, &time, NULL) == 0);
		CHECK(now_ns(CLOCK_MONOTONIC) >= start + lengths[i]);
		start = now_ns(CLOCK_MONOTONIC);
		CHECK(sleep_raw(CLOCK_MONOTONIC, 0, &time, &left) == 0);
		CHECK(now_ns(CLOCK_MONOTONIC) >= start + lengths[i]);
		start = now_ns(CLOCK_MONOTONIC);
		until = timespec_of(start + lengths[i]);
		CHECK(sleep_raw(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
		CHECK(now_ns(CLOCK_MONOTONIC) >= start + lengths[i]);
		CHECK_ERRNO(wait_on(&word, 0, &until), ETIMEDOUT);
		until = timespec_of(now_ns(CLOCK_MONOTONIC) + lengths[i]);
		start = until.tv_sec * 1000000000LL + until.tv_nsec;
		CHECK_ERRNO(wait_on(&word, 0, &until), ETIMEDOUT);
		CHECK(now_ns(CLOCK_MONOTONIC) >= start);
	}
	say("long enough\n");
}

static void refused(void)
{
	struct timespec wrong[] = { { 0, 1000000000 }, { 0, -1 }, { -1, 0 } };
	struct timespec zero = { 0, 0 };

	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
		CHECK_ERRNO(syscall(SYS_nanosleep, &wrong[i], NULL), EINVAL);
		CHECK_ERRNO(sleep_raw(CLOCK_MONOTONIC, TIMER_ABSTIME, &wrong[i], NULL), EINVAL);
		CHECK_ERRNO(wait_on(&word, 0, &wrong[i]), EINVAL);
	}
	CHECK_ERRNO(syscall(SYS_nanosleep, wild(8), NULL), EFAULT);
	CHECK_ERRNO(sleep_raw(CLOCK_MONOTONIC, 0, wild(8), NULL), EFAULT);
	CHECK_ERRNO(wait_on(&word, 0, wild(8)), EFAULT);
	CHECK_ERRNO(sleep_raw(1000, 0, &zero, NULL), EINVAL);
	CHECK_ERRNO(wait_on(&word, 1, &zero), EAGAIN);
	CHECK_ERRNO(wait_on((uint32_t *)((char *)&word + 1), 0, &zero), EINVAL);
	say("refused\n");
}

static void count_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	add(&handled, 1);
}

/* The remaining time of an interrupted sleep of an hour: less than an hour, more than zero. */
static void check_left(struct timespec left)
{
	CHECK(left.tv_sec >= HOUR_S - 60 && left.tv_sec < HOUR_S && left.tv_nsec >= 0 && left.tv_nsec < 1000000000);
}

static void *sleep_interrupted(void *unused)
{
	struct timespec hour = { HOUR_S, 0 }, left = { 7, 7 }, until;

	store(&sleeping, 1);
	CHECK_ERRNO(syscall(SYS_nanosleep, &hour, &left), EINTR);
	check_left(left);
	store(&sleeping, 2);
	CHECK_ERRNO(sleep_raw(CLOCK_MONOTONIC, 0, &hour, &hour), EINTR);
	check_left(hour);
	store(&sleeping, 3);
	CHECK_ERRNO(sleep_raw(CLOCK_REALTIME, 0, &hour, NULL), EINTR);
	until = timespec_of(now_ns(CLOCK_MONOTONIC) + HOUR_S * 1000 * MS);
	left = (struct timespec){ 7, 7 };
	store(&sleeping, 4);
	CHECK_ERRNO(sleep_raw(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, &left), EINTR);
	CHECK(left.tv_sec == 7 && left.tv_nsec == 7);
	store(&sleeping, 5);
	CHECK_ERRNO(wait_on(&word, 0, &until), EINTR);
	CHECK_ERRNO(syscall(SYS_restart_syscall), EINTR);
	store(&sleeping, 6);
	return unused;
}

/* Handlers interrupt each of these, with and without SA_RESTART. */
static void interrupted(int flags)
{
	pthread_t thread;

	on_signal(SIGUSR1, count_signal, flags);
	store(&sleeping, 0);
	CHECK(!pthread_create(&thread, NULL, sleep_interrupted, NULL));
	for (int kind = 1; kind < 6; kind++) {
		wait_until(load(&sleeping) >= kind);
		while (load(&sleeping) == kind) {
			sleep_ms(10);
			CHECK(!pthread_kill(thread, SIGUSR1));
		}
	}
	CHECK(!pthread_join(thread, NULL));
}

/* Neither a stop nor a move to another CPU ends a sleep. */
static void stopped(void)
{
	int *state = shared_memory(2 * sizeof(*state)), *stops_are_over = state + 1;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct timespec time = timespec_of(400 * MS), left = { 7, 7 };
		int64_t start = now_ns(CLOCK_MONOTONIC);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		store(state, 1);
		CHECK(syscall(SYS_nanosleep, &time, &left) == 0);
		CHECK(now_ns(CLOCK_MONOTONIC) >= start + 400 * MS);
		time = timespec_of(now_ns(CLOCK_MONOTONIC) + 200 * MS);
		store(state, 2);
		CHECK(sleep_raw(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == 0);
		CHECK(now_ns(CLOCK_MONOTONIC) >= time.tv_sec * 1000000000LL + time.tv_nsec);
		time = timespec_of(now_ns(CLOCK_MONOTONIC) + 200 * MS);
		store(state, 3);
		CHECK_ERRNO(wait_on(&word, 0, &time), ETIMEDOUT);
		wait_until(load(stops_are_over));
		_exit(5);
	}
	for (int kind = 1; kind < 4; kind++) {
		wait_until(load(state) >= kind);
		for (int times = 0; times < 3; times++) {
			sleep_ms(20);
			CHECK(!kill(pid, SIGSTOP) && waitpid(pid, &status, WUNTRACED) == pid);
			CHECK(WIFSTOPPED(status));
			CHECK(!kill(pid, SIGCONT));
		}
	}
	store(stops_are_over, 1);
	CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 5));
	say("stopped and continued\n");
}

static void *sleep_often(void *number)
{
	long which = (long)number;

	for (int times = 1; times <= 20; times++) {
		int64_t length = (which * 7 + times * 13) % 10 * MS / 3;
		struct timespec time = timespec_of(length);
		int64_t start = now_ns(CLOCK_MONOTONIC);

		if (which % 2) {
			CHECK(syscall(SYS_nanosleep, &time, NULL) == 0);
		} else {
			time = timespec_of(start + length);
			CHECK_ERRNO(wait_on(&word, 0, &time), ETIMEDOUT);
		}
		CHECK(now_ns(CLOCK_MONOTONIC) >= start + length);
	}
	add(&done, 1);
	return NULL;
}

/* More threads than CPUs; one of them never sleeps. */
static void together(void)
{
	pthread_t threads[12];

	done = 0;
	for (long i = 0; i < 12; i++)
		CHECK(!pthread_create(&threads[i], NULL, sleep_often, (void *)i));
	wait_until(load(&done) == 12);
	for (int i = 0; i < 12; i++)
		CHECK(!pthread_join(threads[i], NULL));
	say("many at once\n");
}

static void *wait_long(void *unused)
{
	struct timespec until = timespec_of(now_ns(CLOCK_MONOTONIC) + HOUR_S * 1000 * MS);

	store(&sleeping, 1);
	CHECK(wait_on(&word, 0, &until) == 0);
	return unused;
}

static void *wait_shortly(void *unused)
{
	struct timespec until = timespec_of(now_ns(CLOCK_MONOTONIC) + 100 * MS);

	store(&sleeping, 1);
	CHECK_ERRNO(wait_on(&word, 0, &until), ETIMEDOUT);
	return unused;
}

static long move_one(void)
{
	return syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PRIVATE, 0, 1L, &other, 0);
}

static long wake(uint32_t *at)
{
	return syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0);
}

static void woken_in_time(void)
{
	pthread_t thread;

	for (int times = 0; times < 30; times++) {
		CHECK(!pthread_create(&thread, NULL, wait_long, NULL));
		while (wake(&word) != 1)
			sched_yield();
		CHECK(!pthread_join(thread, NULL));
	}
	CHECK(!pthread_create(&thread, NULL, wait_long, NULL));
	while (move_one() != 1)
		sched_yield();
	CHECK(wake(&word) == 0 && wake(&other) == 1);
	CHECK(!pthread_join(thread, NULL));
	CHECK(!pthread_create(&thread, NULL, wait_shortly, NULL));
	wait_until(load(&sleeping));
	sleep_ms(20);
	move_one();
	CHECK(!pthread_join(thread, NULL) && wake(&other) == 0 && wake(&word) == 0);
	say("woken in time\n");
}

static void *sleep_bound(void *thread_id)
{
	struct timespec time = timespec_of(200 * MS);
	int64_t start = now_ns(CLOCK_MONOTONIC);

	store((pid_t *)thread_id, gettid());
	CHECK(syscall(SYS_nanosleep, &time, NULL) == 0);
	CHECK(now_ns(CLOCK_MONOTONIC) >= start + 200 * MS);
	return NULL;
}

/* A thread is called to Linux without a signal. */
static void moved(void)
{
	cpu_set_t set, one;
	pthread_t thread;
	pid_t id = 0;
	int cpu = 0;

	CHECK(!sched_getaffinity(0, sizeof(set), &set));
	CHECK(!pthread_create(&thread, NULL, sleep_bound, &id));
	wait_until(load(&id));
	for (int times = 0; times < 8; times++) {
		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &set));
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		CHECK(!sched_setaffinity(id, sizeof(one), &one) || errno == ESRCH);
		sleep_ms(10);
	}
	CHECK(!pthread_join(thread, NULL));
	say("moved while asleep\n");
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static int turn;

static void *take_turns(void *mine)
{
	for (int times = 0; times < 200; times++) {
		CHECK(!pthread_mutex_lock(&mutex));
		while (turn != (int)(long)mine) {
			struct timespec until = timespec_of(now_ns(CLOCK_MONOTONIC) + 5 * MS);
			int error = pthread_cond_timedwait(&condition, &mutex, &until);

			CHECK(!error || error == ETIMEDOUT);
		}
		turn = !turn;
		CHECK(!pthread_mutex_unlock(&mutex));
		CHECK(!pthread_cond_signal(&condition));
	}
	return NULL;
}

static void conditions(void)
{
	pthread_condattr_t attributes;
	struct timespec past = { 1, 0 };
	pthread_t thread;
	sem_t semaphore;

	CHECK(!pthread_condattr_init(&attributes));
	CHECK(!pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC));
	CHECK(!pthread_cond_init(&condition, &attributes));
	CHECK(!pthread_create(&thread, NULL, take_turns, (void *)1L));
	take_turns(NULL);
	CHECK(!pthread_join(thread, NULL));
	CHECK(!sem_init(&semaphore, 0, 0));
	CHECK_ERRNO(sem_timedwait(&semaphore, &past), ETIMEDOUT);
	say("conditions\n");
}

int main(void)
{
	PART(long_enough);
	PART(refused);
	interrupted(0);
	interrupted(SA_RESTART);
	say("interrupted\n");
	PART(stopped);
	PART(together);
	PART(woken_in_time);
	PART(moved);
	PART(conditions);
	return 0;
}
