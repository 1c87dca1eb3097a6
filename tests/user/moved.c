/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A thread that waits for a futex is moved from CPU to CPU while others wake it without a change of
 * the futex's value. No wake-up is lost: a wait that had begun ends by it, or before it.
 */
#include "check.h"

#include <linux/futex.h>
#include <pthread.h>

#define ROUNDS 400

static uint32_t word;
static int waiter, ended, moving = 1;
static cpu_set_t allowed;

static long futex(int op, uint32_t value, void *second)
{
	return syscall(SYS_futex, &word, op | FUTEX_PRIVATE_FLAG, value, second, &word, 0);
}

static void *waits(void *unused)
{
	store(&waiter, gettid());
	for (int i = 1; i <= ROUNDS; i++) {
		CHECK(futex(FUTEX_WAIT, 0, NULL) == 0);
		store(&ended, i);
	}
	return unused;
}

/* Its own CPUs, one after another. */
static void *moves(void *unused)
{
	while (load(&moving))
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			cpu_set_t one;

			if (!CPU_ISSET(cpu, &allowed))
				continue;
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			CHECK(sched_setaffinity(waiter, sizeof(one), &one) == 0 || errno == ESRCH);
		}
	return unused;
}

int main(void)
{
	pthread_t threads[2];

	CHECK(sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
	CHECK(!pthread_create(&threads[0], NULL, waits, NULL));
	wait_until(load(&waiter));
	CHECK(!pthread_create(&threads[1], NULL, moves, NULL));
	for (int round = 1; round <= ROUNDS; round++) {
		/* It waits if it can be moved to the same futex again. */
		while (load(&ended) < round && futex(FUTEX_REQUEUE, 0, (void *)1) != 1)
			sched_yield();
		CHECK(futex(FUTEX_WAKE, 1, NULL) >= 0);
		wait_until(load(&ended) >= round);
	}
	store(&moving, 0);
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(threads[i], NULL));
	say("no wake-up is lost\n");
	return 0;
}
