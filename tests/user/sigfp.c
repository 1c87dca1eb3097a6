/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Many signals, in several threads whose registers must stay unchanged. */
#include "check.h"
#include "xregs.h"

#include <pthread.h>
#include <sys/time.h>

#define SIGNALS 60

static __thread volatile int flag;
static volatile int storms;
static int done;

static void clobber(int sig, siginfo_t *info, void *context)
{
	struct xregs in, out;
	struct xevent nothing = { NULL, -1, 0, 0 };

	(void)info, (void)context;
	xregs_fill(&in, 0xee + sig);
	xregs_hold(&in, &out, &nothing);
	CHECK(!memcmp(&in, &out, sizeof(in)));
	storms++;
	flag = 1;
}

static void *hold(void *seed)
{
	struct xregs in, out;

	for (unsigned i = 0; i < SIGNALS; i++) {
		struct xevent spin = { &flag, -1, 0, 0 };

		xregs_fill(&in, (unsigned)(long)seed + i);
		flag = 0;
		xregs_hold(&in, &out, &spin);
		CHECK(!memcmp(&in, &out, sizeof(in)));
	}
	add(&done, 1);
	return NULL;
}

static void from_a_timer(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, off = { 0 };

	on_signal(SIGALRM, clobber, 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	hold((void *)1L);
	CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
	say("registers under a storm of alarms\n");
}

/* Signals to certain threads, which spin with their registers filled. */
static void from_a_thread(void)
{
	pthread_t threads[3];
	int n = spinners(3);

	done = 0;
	on_signal(SIGUSR1, clobber, 0);
	for (long i = 0; i < n; i++)
		CHECK(!pthread_create(&threads[i], NULL, hold, (void *)(i * 1000)));
	while (load(&done) < n) {
		for (int i = 0; i < n; i++)
			CHECK(!pthread_kill(threads[i], SIGUSR1));
		usleep(300);
	}
	for (int i = 0; i < n; i++)
		CHECK(!pthread_join(threads[i], NULL));
	say("registers under signals to threads\n");
}

/* The same sum with and without interruptions, to the last bit. */
static double series(long n)
{
	double sum = 0;

	for (long i = 1; i <= n; i++)
		sum += 1.0 / ((double)i * (double)i) * (i % 2 ? 1 : -0.5);
	return sum;
}

static void arithmetic(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, off = { 0 };
	volatile double calm = series(200000), stormy;

	storms = 0;
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	do {
		stormy = series(200000);
		CHECK(memcmp((void *)&calm, (void *)&stormy, sizeof(calm)) == 0);
	} while (storms < 20);
	CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
	say("sums under a storm of alarms\n");
}

int main(void)
{
	from_a_timer();
	from_a_thread();
	arithmetic();
	return 0;
}
