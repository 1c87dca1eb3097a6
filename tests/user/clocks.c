/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Clocks: real time from the vDSO and from the kernel, and CPU time that grows while a thread spins. */
#include "check.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>

static int stop, running;

/* Work in user mode without a single system call for at least this much real time. */
static void spin_ns(int64_t ns)
{
	int64_t until = now_ns(CLOCK_MONOTONIC) + ns;

	while (now_ns(CLOCK_MONOTONIC) < until)
		;
}

static int64_t kernel_ns(clockid_t clock)
{
	struct timespec ts;

	CHECK(syscall(SYS_clock_gettime, clock, &ts) == 0);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* The vDSO and the system call give the same time. */
static void one_time(void)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_TAI };
	struct timeval tv;
	struct timespec ts;
	time_t now;

	for (unsigned i = 0; i < ARRAY_LENGTH(clocks); i++)
		for (int n = 0; n < 200; n++) {
			int64_t a = now_ns(clocks[i]), b = kernel_ns(clocks[i]), c = now_ns(clocks[i]);

			CHECK(a <= b && b <= c && a > 0);
		}
	ts.tv_sec = now_ns(CLOCK_REALTIME) / 1000000000;
	CHECK(gettimeofday(&tv, NULL) == 0 && tv.tv_sec >= ts.tv_sec);
	now = time(NULL);	/* a tick behind, at most */
	CHECK(now >= tv.tv_sec - 1 && now <= now_ns(CLOCK_REALTIME) / 1000000000);
	CHECK(tv.tv_sec <= now_ns(CLOCK_REALTIME) / 1000000000);
	CHECK(clock_getres(CLOCK_MONOTONIC, &ts) == 0 && ts.tv_sec == 0 && ts.tv_nsec >= 1);
	CHECK_ERRNO(clock_gettime(9999, &ts), EINVAL);
	say("one time\n");
}

/* Time does not run backwards from one thread (one CPU) to another. */
static int64_t latest;

static void *never_backwards(void *unused)
{
	for (int i = 0; i < 3000; i++) {
		int64_t seen = load(&latest), now = now_ns(CLOCK_MONOTONIC);

		CHECK(now >= seen);
		while (seen < now && !__atomic_compare_exchange_n(&latest, &seen, now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			;
	}
	return unused;
}

static void across_threads(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		CHECK(!pthread_create(&threads[i], NULL, never_backwards, NULL));
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_join(threads[i], NULL));
	say("never backwards\n");
}

static int64_t user_ns(int who)
{
	struct rusage r;

	CHECK(getrusage(who, &r) == 0);
	return (r.ru_utime.tv_sec * 1000000LL + r.ru_utime.tv_usec) * 1000;
}

/* All accounts of CPU time grow while only user code runs. At most two CPUs work for a thread at any instant, the one
 * that runs its code and the one that serves its call, so they grow at most twice as fast as real time. */
static void cpu_time(void)
{
	int64_t real = now_ns(CLOCK_MONOTONIC), user = user_ns(RUSAGE_SELF), least = INT64_MAX;
	int64_t process = now_ns(CLOCK_PROCESS_CPUTIME_ID), thread = now_ns(CLOCK_THREAD_CPUTIME_ID);
	struct tms before, after;
	clock_t clocks = clock();

	times(&before);
	do {
		spin_ns(20000000);
		times(&after);
	} while (after.tms_utime - before.tms_utime < 5 || user_ns(RUSAGE_SELF) - user < 50000000 ||
		 user_ns(RUSAGE_THREAD) < 50000000 || clock() - clocks < 40000 ||
		 now_ns(CLOCK_PROCESS_CPUTIME_ID) - process < 40000000 || now_ns(CLOCK_THREAD_CPUTIME_ID) - thread < 40000000);
	process = now_ns(CLOCK_PROCESS_CPUTIME_ID) - process;
	thread = now_ns(CLOCK_THREAD_CPUTIME_ID) - thread;
	real = now_ns(CLOCK_MONOTONIC) - real;
	CHECK(process >= 40000000 && thread <= 2 * real);
	/* If the host stops a CPU just before or after a sleep, that time counts as the thread's. A wrong clock that runs in
	 * sleep shows it in each sleep. */
	for (int i = 0; i < 5; i++) {
		int64_t slept = now_ns(CLOCK_THREAD_CPUTIME_ID);

		sleep_ms(60);
		slept = now_ns(CLOCK_THREAD_CPUTIME_ID) - slept;
		least = slept < least ? slept : least;
	}
	CHECK(least < 50000000);
	say("CPU time grows in user mode and not in sleep\n");
}

static void *spin_until_stopped(void *unused)
{
	store(&running, 1);
	while (!load(&stop))
		;
	return unused;
}

/* Another thread's clock, read while it spins. */
static void of_another_thread(void)
{
	pthread_t thread;
	clockid_t clock;
	int64_t before;

	CHECK(!pthread_create(&thread, NULL, spin_until_stopped, NULL));
	wait_until(load(&running));
	CHECK(!pthread_getcpuclockid(thread, &clock));
	before = now_ns(clock);
	while (now_ns(clock) - before < 20000000)
		sleep_ms(2);
	store(&stop, 1);
	CHECK(!pthread_join(thread, NULL));
	say("the clock of a spinning thread\n");
}

static void spin_child(void)
{
	while (user_ns(RUSAGE_SELF) < 40000000)
		spin_ns(5000000);
}

static void of_children(void)
{
	int64_t before = user_ns(RUSAGE_CHILDREN);

	CHECK(child_status(spin_child) == 0 && user_ns(RUSAGE_CHILDREN) - before >= 40000000);
	say("the time of children\n");
}

static volatile int rang;

static void ring(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	rang = 1;
}

/* Timers of CPU time interrupt a loop that makes no call. */
static void cpu_timers(void)
{
	static const struct { int which, sig; } timers[] = { { ITIMER_VIRTUAL, SIGVTALRM }, { ITIMER_PROF, SIGPROF } };
	struct itimerval after = { { 0, 0 }, { 0, 20000 } };

	for (unsigned i = 0; i < 2; i++) {
		on_signal(timers[i].sig, ring, 0);
		rang = 0;
		CHECK(setitimer(timers[i].which, &after, NULL) == 0);
		while (!rang)
			;
	}
	say("timers of CPU time\n");
}

int main(void)
{
	PART(one_time);
	PART(across_threads);
	PART(cpu_time);
	PART(of_another_thread);
	PART(of_children);
	PART(cpu_timers);
	return 0;
}
