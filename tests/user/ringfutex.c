/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Threads that wait by futex(2) and by io_uring, woken by the other of the two, and counted by both.
 * Before Linux 6.7 rings know no futexes: then threads do what the rings would.
 */
#include "check.h"

#include <linux/futex.h>
#include <linux/io_uring.h>
#include <pthread.h>

enum { RING_WAIT = 51, RING_WAKE = 52, OF_32_BITS = 2 };

static struct io_uring_params params;
static int ring;
static char *queue;
static struct io_uring_sqe *entries;
static uint32_t word[2];
static int waiting, woken;

static uint32_t *field(uint32_t offset)
{
	return (uint32_t *)(queue + offset);
}

static long futex(uint32_t *at, int op, uint32_t value)
{
	return syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void submit(int op, uint32_t *at, uint64_t value)
{
	uint32_t tail = *field(params.sq_off.tail), slot = tail & *field(params.sq_off.ring_mask);

	memset(&entries[slot], 0, sizeof(entries[slot]));
	entries[slot].opcode = op;
	entries[slot].fd = OF_32_BITS | FUTEX_PRIVATE_FLAG;
	entries[slot].addr = (uintptr_t)at;
	entries[slot].off = value;
	((uint64_t *)&entries[slot])[6] = 0xffffffff;	/* the mask: addr3 */
	field(params.sq_off.array)[slot] = slot;
	store(field(params.sq_off.tail), tail + 1);
	CHECK(syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) == 1);
}

/* The result of the only completion. */
static int completed(void)
{
	uint32_t head = *field(params.cq_off.head);
	struct io_uring_cqe *done = (void *)(queue + params.cq_off.cqes);

	while (load(field(params.cq_off.tail)) == head)
		CHECK(syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 0);
	store(field(params.cq_off.head), head + 1);
	return done[head & *field(params.cq_off.ring_mask)].res;
}

static void *waits(void *at)
{
	add(&waiting, 1);
	while (!load((uint32_t *)at))
		futex(at, FUTEX_WAIT, 0);
	add(&woken, 1);
	return NULL;
}

/* A thread waits for @at: it can be moved there from there. */
static void until_waiting(uint32_t *at)
{
	while (syscall(SYS_futex, at, FUTEX_CMP_REQUEUE_PRIVATE, 0, 1, at, 0) != 1)
		sched_yield();
}

static void *wakes(void *at)
{
	long found;

	while ((found = futex(at, FUTEX_WAKE, 1)) == 0)
		sched_yield();
	return (void *)found;
}

int main(void)
{
	pthread_t thread;
	int known, count;
	void *found;

	/* A thread waits on its CPU before the process has a ring. */
	CHECK(!pthread_create(&thread, NULL, waits, &word[0]));
	until_waiting(&word[0]);
	ring = syscall(SYS_io_uring_setup, 8, &params);
	CHECK(ring >= 0);
	queue = mmap(NULL, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	entries = mmap(NULL, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	CHECK(queue != MAP_FAILED && entries != MAP_FAILED);
	submit(RING_WAKE, &word[1], 1);
	count = completed();
	known = count != -EINVAL;
	CHECK(count == 0 || !known);

	until_waiting(&word[0]);
	store(&word[0], 1);
	if (known) {
		submit(RING_WAKE, &word[0], 1);
		count = completed();
	} else {
		count = futex(&word[0], FUTEX_WAKE, 1);
	}
	CHECK(!pthread_join(thread, NULL));
	say("a thread waits, a ring wakes: %d of %d\n", count, woken);

	if (known)
		submit(RING_WAIT, &word[1], 0);
	CHECK(!pthread_create(&thread, NULL, known ? wakes : waits, &word[1]));
	if (known) {
		count = completed();
	} else {
		until_waiting(&word[1]);
		store(&word[1], 1);
		found = (void *)futex(&word[1], FUTEX_WAKE, 1);
		count = 0;
	}
	CHECK(!pthread_join(thread, known ? &found : NULL));
	say("a ring waits, a thread wakes: %ld, and the wait ends with %d\n", (long)found, count);
	return 0;
}
