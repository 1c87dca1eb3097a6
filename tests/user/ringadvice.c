/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory that is given back through a ring (IORING_OP_MADVISE), without a system call that says so: it is
 * zero afterwards, its neighbours are not, and whoever had it before keeps what it had.
 */
#include "check.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sys/uio.h>

#define PAGE 4096L
#define LARGE (2L << 20)
#define SIZE (8L << 20)

static struct io_uring_params params;
static int ring;
static char *queue;
static struct io_uring_sqe *entries;
static char *area;

static uint32_t *field(uint32_t offset)
{
	return (uint32_t *)(queue + offset);
}

static int advise(char *from, long bytes, int advice)
{
	uint32_t tail = *field(params.sq_off.tail), slot = tail & *field(params.sq_off.ring_mask);
	uint32_t head = *field(params.cq_off.head);
	struct io_uring_cqe *done = (void *)(queue + params.cq_off.cqes);

	memset(&entries[slot], 0, sizeof(entries[slot]));
	entries[slot].opcode = IORING_OP_MADVISE;
	entries[slot].fd = -1;
	entries[slot].addr = (uintptr_t)from;
	entries[slot].len = bytes;
	entries[slot].fadvise_advice = advice;
	field(params.sq_off.array)[slot] = slot;
	store(field(params.sq_off.tail), tail + 1);
	CHECK(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	store(field(params.cq_off.head), head + 1);
	return done[head & *field(params.cq_off.ring_mask)].res;
}

/* All bytes of the pages are @value. */
static int all(const char *from, long bytes, char value)
{
	long i = 0;

	while (i < bytes && ((volatile const char *)from)[i] == value)
		i++;
	return i == bytes;
}

static void set_up(void)
{
	long bytes;

	ring = (int)syscall(SYS_io_uring_setup, 4, &params);
	CHECK(ring >= 0);
	bytes = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	queue = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	entries = mmap(NULL, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	CHECK(queue != MAP_FAILED && entries != MAP_FAILED);
	area = private_pages(SIZE / PAGE);
	memset(area, 7, SIZE);
}

static void some_pages(void)
{
	CHECK(advise(area + PAGE, 16 * PAGE, MADV_DONTNEED) == 0);
	CHECK(all(area, PAGE, 7) && all(area + PAGE, 16 * PAGE, 0) && all(area + 17 * PAGE, PAGE, 7));
	CHECK(advise(area + 17 * PAGE, 16 * PAGE, MADV_WILLNEED) == 0 && all(area + 17 * PAGE, 16 * PAGE, 7));
	memset(area, 7, 32 * PAGE);
	CHECK(all(area, 32 * PAGE, 7));
	say("some pages\n");
}

static void many_pages(void)
{
	CHECK(advise(area + LARGE - 3 * PAGE, 2 * LARGE, MADV_DONTNEED) == 0);
	CHECK(all(area, LARGE - 3 * PAGE, 7) && all(area + LARGE - 3 * PAGE, 2 * LARGE, 0));
	CHECK(all(area + 3 * LARGE - 3 * PAGE, SIZE - 3 * LARGE + 3 * PAGE, 7));
	memset(area, 7, SIZE);
	say("many pages\n");
}

/* The kernel has mapped the pages too, and has some of them in a pipe. */
static void known_to_linux(void)
{
	struct iovec page = { .iov_base = area + 5 * PAGE, .iov_len = PAGE };
	static char got[PAGE];
	int pipes[2], zero = open("/dev/zero", O_RDONLY);

	CHECK(!pipe(pipes) && read(zero, area + 64 * PAGE, PAGE) == PAGE);
	CHECK(vmsplice(pipes[1], &page, 1, 0) == PAGE);
	CHECK(advise(area, 128 * PAGE, MADV_DONTNEED) == 0);
	CHECK(all(area, 128 * PAGE, 0) && all(area + 128 * PAGE, PAGE, 7));
	memset(area, 9, 128 * PAGE);
	CHECK(read(pipes[0], got, PAGE) == PAGE && all(got, PAGE, 7) && all(area, 128 * PAGE, 9));
	memset(area, 7, 128 * PAGE);
	close(pipes[0]);
	close(pipes[1]);
	close(zero);
	say("pages that a pipe has\n");
}

static int over, sums;

/* Nobody gives these pages back. */
static void *counts(void *unused)
{
	while (!load(&over)) {
		for (long page = 0; page < 64; page++)
			++*(long *)(area + SIZE / 2 + page * PAGE);
		add(&sums, 1);
	}
	return unused;
}

static void beside_a_thread(void)
{
	pthread_t thread;

	memset(area, 0, SIZE);
	CHECK(!pthread_create(&thread, NULL, counts, NULL));
	for (int i = 1; i <= rounds(50, 1000); i++) {
		memset(area, i, 8 * PAGE);
		CHECK(advise(area, 8 * PAGE, MADV_DONTNEED) == 0 && all(area, 8 * PAGE, 0));
	}
	store(&over, 1);
	CHECK(!pthread_join(thread, NULL));
	for (long page = 0; page < 64; page++)
		CHECK(*(long *)(area + SIZE / 2 + page * PAGE) == sums);
	say("beside a thread that uses others\n");
}

static void sees_zeros(void)
{
	CHECK(all(area, 8 * PAGE, 0) && all(area + 8 * PAGE, PAGE, 5));
	_exit(0);
}

static void before_a_fork(void)
{
	memset(area, 5, 16 * PAGE);
	CHECK(advise(area, 8 * PAGE, MADV_DONTNEED) == 0);
	CHECK(child_status(sees_zeros) == 0);
	say("before a fork\n");
}

int main(void)
{
	set_up();
	some_pages();
	many_pages();
	known_to_linux();
	beside_a_thread();
	before_a_fork();
	return 0;
}
