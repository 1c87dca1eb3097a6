/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* io_uring by its plain calls: the kernel writes completions into memory that we only read. */
#include "check.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/uio.h>

#define ENTRIES 8
#define PAGE 4096

static struct io_uring_params params;
static int ring;
static char *queues;
static struct io_uring_sqe *sqes;

static uint32_t *field(uint32_t offset)
{
	return (uint32_t *)(queues + offset);
}

static void submit(uint8_t op, int fd, void *at, uint32_t size, uint64_t offset, uint64_t tag)
{
	uint32_t tail = *field(params.sq_off.tail), slot = tail & *field(params.sq_off.ring_mask);

	sqes[slot] = (struct io_uring_sqe){ .opcode = op, .fd = fd, .addr = (uintptr_t)at, .len = size, .off = offset, .user_data = tag };
	field(params.sq_off.array)[slot] = slot;
	store(field(params.sq_off.tail), tail + 1);
	CHECK(syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) == 1);
}

/* Spins in user mode until the completion with this tag appears; returns its result. */
static int completed(uint64_t tag, int spin)
{
	uint32_t head = *field(params.cq_off.head);
	struct io_uring_cqe *cqe = (void *)(queues + params.cq_off.cqes);

	while (load(field(params.cq_off.tail)) == head)
		if (!spin)
			CHECK(syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 0);
	cqe += head & *field(params.cq_off.ring_mask);
	CHECK(cqe->user_data == tag);
	store(field(params.cq_off.head), head + 1);
	return cqe->res;
}

/* Registered buffers, whose pages the kernel pins once: it must use their contents at the time of use. */
static void registered(int fd)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec buffer = { p, 2 * PAGE };

	CHECK(p != MAP_FAILED);
	/* before Linux 6.5 a file's mapping cannot be registered, and this memory may be one */
	if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1) != 0) {
		CHECK(errno == EOPNOTSUPP && munmap(p, 2 * PAGE) == 0);
		return;
	}
	for (int i = 0; i < 3; i++) {
		memset(p, 'a' + i, PAGE);
		submit(IORING_OP_WRITE_FIXED, fd, p, PAGE, 0, 6);
		CHECK(completed(6, 0) == PAGE);
		submit(IORING_OP_READ_FIXED, fd, p + PAGE, PAGE, 0, 7);
		CHECK(completed(7, 0) == PAGE && !memcmp(p, p + PAGE, PAGE) && p[PAGE] == 'a' + i);
	}
	CHECK(syscall(SYS_io_uring_register, ring, IORING_UNREGISTER_BUFFERS, NULL, 0) == 0 && munmap(p, 2 * PAGE) == 0);
}

static void with_ring(void)
{
	struct __kernel_timespec pause = { 0, 5000000 };
	char buf[32] = { 0 };
	size_t size = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	int fd = open("ring", O_RDWR | O_CREAT | O_TRUNC, 0600), ends[2];

	if (size < params.sq_off.array + params.sq_entries * 4)
		size = params.sq_off.array + params.sq_entries * 4;
	queues = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	sqes = mmap(NULL, params.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	CHECK(queues != MAP_FAILED && sqes != MAP_FAILED);
	for (int i = 0; i < 20; i++) {
		submit(IORING_OP_NOP, -1, NULL, 0, 0, 100 + i);
		CHECK(completed(100 + i, 1) == 0);
	}
	submit(IORING_OP_WRITE, fd, "through a ring", 14, 3, 1);
	CHECK(completed(1, 0) == 14);
	submit(IORING_OP_READ, fd, buf, 32, 3, 2);
	CHECK(completed(2, 0) == 14 && !strcmp(buf, "through a ring"));
	submit(IORING_OP_READ, 999, buf, 32, 0, 3);
	CHECK(completed(3, 0) == -EBADF);
	submit(IORING_OP_TIMEOUT, -1, &pause, 1, 0, 4);
	CHECK(completed(4, 0) == -ETIME);
	registered(fd);
	CHECK(pipe(ends) == 0);
	submit(IORING_OP_READ, ends[0], buf, 4, 0, 5);	/* this thread must enter Linux for the completion */
	if (fork() == 0) {
		sleep_ms(5);
		_exit(write(ends[1], "late", 4) != 4);
	}
	CHECK(completed(5, 1) == 4 && !memcmp(buf, "late", 4) && wait(NULL) > 0);
	close(ring), close(fd);
}

int main(void)
{
	ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
	if (ring >= 0)
		with_ring();
	else
		CHECK(errno == ENOSYS || errno == EPERM);
	say("submissions complete\n");
	return 0;
}
