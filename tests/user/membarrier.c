/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A memory barrier for other threads. The worker only stores and loads, in user
 * mode, and the CPU may do its load before its store; the main thread's barrier
 * must make this impossible to observe (store buffering).
 */
#include "check.h"
#include "sequence.h"

#include <limits.h>
#include <linux/membarrier.h>
#include <pthread.h>

#define ROUNDS 20000	/* or as many as a third of a second allows, but at least: */
#define ROUNDS_AT_LEAST 200

static struct { volatile int x; char a[60]; volatile int y; char b[60]; volatile int seen; char c[60]; int turn; char d[60]; int done; } s __attribute__((aligned(64)));

/*
 * Cache lines that both threads write, so that the worker's stores queue up and
 * the tested one is late: without a barrier this shows within some thousand
 * rounds.
 */
#define LINES 48

static volatile char queue[LINES][4096] __attribute__((aligned(4096)));

static void write_queue(int i)
{
	for (int line = 0; line < LINES; line++)
		queue[line][line % 64 * 64] = (char)i;
}

static int membarrier(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}

static void *worker(void *unused)
{
	for (int i = 1;; i++) {
		wait_until(load(&s.turn) >= i);
		if (load(&s.turn) == INT_MAX)
			break;
		write_queue(i);
		s.x = 1;
		asm volatile("" : : : "memory");
		s.seen = s.y;
		store(&s.done, i);
	}
	return unused;
}

/* Neither saw the other's store: both loads came before the stores, in spite of the barrier. */
static long both_missed(int command)
{
	pthread_t thread;
	long missed = 0;
	int64_t until = now_ns(CLOCK_MONOTONIC) + 300000000;

	s.turn = s.done = 0;
	CHECK(!pthread_create(&thread, NULL, worker, NULL));
	for (int i = 1; i <= ROUNDS && (i <= ROUNDS_AT_LEAST || now_ns(CLOCK_MONOTONIC) < until); i++) {
		int seen;

		s.x = s.y = 0;
		write_queue(i);
		store(&s.turn, i);
		for (volatile int j = 0; j < i % 400; j++)	/* meet at different points */
			;
		s.y = 1;
		CHECK(membarrier(command) == 0);
		seen = s.x;
		wait_until(load(&s.done) == i);
		missed += !seen && !s.seen;
	}
	store(&s.turn, INT_MAX);
	CHECK(!pthread_join(thread, NULL));
	return missed;
}

static void unregistered(void)
{
	CHECK_ERRNO(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED), EPERM);
}

/* A reader spins, and a writer makes the barrier between two stores: the reader must see both in order. */
static int data, ready, stop;

static void *spin_on_data(void *unused)
{
	while (!*(volatile int *)&stop) {
		int r = *(volatile int *)&ready;

		asm volatile("" : : : "memory");
		CHECK(*(volatile int *)&data >= r);
	}
	return unused;
}

static void spinning(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, spin_on_data, NULL));
	for (int i = 1; i <= 200; i++) {
		*(volatile int *)&data = i;
		CHECK(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0);
		*(volatile int *)&ready = i;
	}
	store(&stop, 1);
	CHECK(!pthread_join(thread, NULL));
}

/*
 * A restartable sequence that never ends by itself: it repeatedly stores the
 * generation that it read at its beginning. After the barrier, no older
 * generation may be stored.
 */
static volatile long generation = 1, stored, over;

static void store_for_ever(void)
{
	uint64_t descriptor_at = (uint64_t)&rseq_self()->rseq_cs;

	asm goto(SEQUENCE_BEGIN
		 "1: mov (%1), %%rax\n"
		 "5: mov %%rax, (%2)\n"
		 "cmpq $0, (%3)\n"
		 "je 5b\n"
		 SEQUENCE_END(done, done)
		 : : "r"(descriptor_at), "r"(&generation), "r"(&stored), "r"(&over)
		 : "rax", "memory", "cc" : done);
done:
	return;
}

static void *in_sequences(void *unused)
{
	while (!over)
		store_for_ever();
	return unused;
}

static void restarting(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, in_sequences, NULL));
	for (long i = 2; i < 100; i++) {
		wait_until(stored == generation);
		generation = i;
		CHECK(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ) == 0);
		stored = 0;
		for (int looks = 0; looks < 1000; looks++) {
			long seen = stored;

			CHECK(seen == 0 || seen == i);
		}
	}
	over = 1;
	CHECK(!pthread_join(thread, NULL));
}

int main(void)
{
	int commands = membarrier(MEMBARRIER_CMD_QUERY);

	CHECK(commands >= 0 || errno == ENOSYS);
	if (commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
		CHECK(exited_with(child_status(unregistered), 0));
		CHECK(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0);
		CHECK(both_missed(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0);
		spinning();
	}
	if (commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE)) {
		CHECK(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE) == 0);
		CHECK(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) == 0);
	}
	if (commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ)) {
		CHECK(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ) == 0);
		restarting();
	}
	CHECK_ERRNO(membarrier(1 << 30), EINVAL);
	say("barriers for others\n");
	return 0;
}
