/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sleeping and timers: never early, remainders, absolute times, signals to threads. */
#include "check.h"

#include <pthread.h>
#include <sys/time.h>

static volatile int count, value, overruns;
static volatile pid_t arrived_at;
static timer_t timer;

static void on_timer(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	arrived_at = gettid();
	count++;
	if (info->si_code == SI_TIMER) {
		value = info->si_int;
		overruns += timer_getoverrun(timer);
	}
}

static void sleeping(void)
{
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME };
	struct timespec brief = { 0, 2000000 }, hour = { 3600, 0 }, left, until;
	int64_t start;

	for (unsigned i = 0; i < ARRAY_LENGTH(clocks); i++) {
		start = now_ns(clocks[i]);
		CHECK(clock_nanosleep(clocks[i], 0, &brief, NULL) == 0 && now_ns(clocks[i]) - start >= 2000000);
		start = now_ns(clocks[i]) + 2000000;
		until = (struct timespec){ start / 1000000000, start % 1000000000 };
		CHECK(clock_nanosleep(clocks[i], TIMER_ABSTIME, &until, NULL) == 0 && now_ns(clocks[i]) >= start);
		CHECK(clock_nanosleep(clocks[i], TIMER_ABSTIME, &until, NULL) == 0);	/* in the past: at once */
	}
	brief.tv_nsec = 1000000000;
	CHECK_ERRNO(nanosleep(&brief, NULL), EINVAL);
	on_signal(SIGALRM, on_timer, 0);
	/* periodic, because the first one may come before we sleep */
	CHECK(ualarm(3000, 100000) == 0);
	CHECK_ERRNO(nanosleep(&hour, &left), EINTR);
	/* Linux computes the rest from the latest end, including its slack of 50 us. */
	CHECK(count >= 1 && left.tv_sec > 3000 && left.tv_sec <= 3600);
	CHECK(left.tv_sec < 3600 || left.tv_nsec <= 50000);
	count = 0;
	until.tv_sec += 3600;
	CHECK(clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, &left) == EINTR && count >= 1);
	ualarm(0, 0);
	say("sleeping\n");
}

static void alarms(void)
{
	struct itimerval set = { { 0, 0 }, { 1000, 500000 } }, old;

	CHECK(alarm(500) == 0 && alarm(0) >= 400);
	CHECK(setitimer(ITIMER_REAL, &set, NULL) == 0 && getitimer(ITIMER_REAL, &old) == 0);
	CHECK(old.it_value.tv_sec >= 900 && old.it_interval.tv_sec == 0);
	set = (struct itimerval){ 0 };
	CHECK(setitimer(ITIMER_REAL, &set, &old) == 0 && old.it_value.tv_sec >= 900);
	set.it_value.tv_usec = 1000000;
	CHECK_ERRNO(setitimer(ITIMER_REAL, &set, NULL), EINVAL);
	say("alarms\n");
}

static void posix_timers(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3, .sigev_value.sival_int = 4242 };
	struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } }, left;

	on_signal(SIGRTMIN + 3, on_timer, 0);
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	count = overruns = 0;
	CHECK(timer_settime(timer, 0, &often, NULL) == 0);
	while (count + overruns < 10)	/* in user mode */
		;
	CHECK(value == 4242 && timer_gettime(timer, &left) == 0 && left.it_interval.tv_nsec == 1000000);
	CHECK(timer_delete(timer) == 0);
	CHECK_ERRNO(timer_delete(timer), EINVAL);
	say("POSIX timers\n");
}

static pid_t wanted;
static int stop;

static void *target(void *unused)
{
	store(&wanted, gettid());
	while (!load(&stop))
		;
	return unused;
}

/* A timer whose signal goes to one thread, which only spins. */
static void to_a_thread(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 3 };
	struct itimerspec once = { { 0, 0 }, { 0, 1000000 } };
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, target, NULL));
	wait_until(load(&wanted));
	event._sigev_un._tid = wanted;
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	for (int i = 0; i < 5; i++) {
		count = 0;
		CHECK(timer_settime(timer, 0, &once, NULL) == 0);
		wait_until(count == 1);
		CHECK(arrived_at == wanted);
	}
	store(&stop, 1);
	CHECK(!pthread_join(thread, NULL) && timer_delete(timer) == 0);
	say("a timer of one thread\n");
}

/* A timer of this thread's CPU time, which the thread spends spinning. */
static void of_cpu_time(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3 };
	struct itimerspec once = { { 0, 0 }, { 0, 20000000 } };
	int64_t start = now_ns(CLOCK_THREAD_CPUTIME_ID);

	CHECK(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0);
	count = 0;
	CHECK(timer_settime(timer, 0, &once, NULL) == 0);
	while (!count)
		;
	CHECK(now_ns(CLOCK_THREAD_CPUTIME_ID) - start >= 19000000 && timer_delete(timer) == 0);
	say("a timer of CPU time\n");
}

static int called;

static void call(union sigval given)
{
	store(&called, given.sival_int);
}

static void with_a_function(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = call, .sigev_value.sival_int = 8 };
	struct itimerspec once = { { 0, 0 }, { 0, 1000000 } };

	CHECK(timer_create(CLOCK_REALTIME, &event, &timer) == 0 && timer_settime(timer, 0, &once, NULL) == 0);
	while (load(&called) != 8)
		sleep_ms(1);
	CHECK(timer_delete(timer) == 0);
	say("a timer that calls\n");
}

int main(void)
{
	PART(sleeping);
	PART(alarms);
	PART(posix_timers);
	PART(to_a_thread);
	PART(of_cpu_time);
	PART(with_a_function);
	return 0;
}
