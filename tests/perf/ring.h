/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A ring of io_uring with one read in flight, by the kernel's own interface: a static program needs no library.
 *
 * Included by disk.c. Ends the program with one line if the kernel refuses.
 */
#ifndef TACET_PERF_RING_H
#define TACET_PERF_RING_H

#include <errno.h>
#include <linux/io_uring.h>
#include <linux/nvme_ioctl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_ENTRIES 4u
#define RING_IDLE_MS 10000u
#define NVME_READ 2
#define SECTOR 512u

enum ring_kind {
	RING_PLAIN,
	RING_POLLED,	/* the kernel polls the device for completions instead of waiting for its interrupt */
	RING_THREAD,	/* a thread of the kernel takes the entries; this one looks at the ring, without a call */
	RING_PASSED,	/* polled, and the entries are commands of an NVMe namespace */
};

struct ring {
	enum ring_kind kind;
	int descriptor, namespace;	/* namespace: 0 until it is known */
	char *entries, *completions;
	uint32_t *tail, *head, *completed, *flags, mask, completed_mask, *array;
	size_t entry_bytes, completion_bytes;
	unsigned long entered;		/* calls that were made for reads */
};

static inline void *ring_map(struct ring *ring, size_t bytes, off_t what)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->descriptor, what);

	if (memory == MAP_FAILED) {
		perror("ring: mmap");
		exit(1);
	}
	return memory;
}

static inline void ring_open(struct ring *ring, enum ring_kind kind)
{
	static const uint32_t flags[] = {
		[RING_POLLED] = IORING_SETUP_IOPOLL,
		[RING_THREAD] = IORING_SETUP_SQPOLL,
		[RING_PASSED] = IORING_SETUP_IOPOLL | IORING_SETUP_SQE128 | IORING_SETUP_CQE32,
	};
	struct io_uring_params wanted = { .flags = flags[kind], .sq_thread_idle = RING_IDLE_MS };
	char *submitted, *completed;

	ring->kind = kind;
	ring->entry_bytes = kind == RING_PASSED ? 128 : sizeof(struct io_uring_sqe);
	ring->completion_bytes = kind == RING_PASSED ? 32 : sizeof(struct io_uring_cqe);
	ring->descriptor = syscall(SYS_io_uring_setup, RING_ENTRIES, &wanted);
	if (ring->descriptor < 0) {
		perror("ring: io_uring_setup");
		exit(1);
	}
	submitted = ring_map(ring, wanted.sq_off.array + wanted.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	completed = ring_map(ring, wanted.cq_off.cqes + wanted.cq_entries * ring->completion_bytes, IORING_OFF_CQ_RING);
	ring->entries = ring_map(ring, wanted.sq_entries * ring->entry_bytes, IORING_OFF_SQES);
	ring->tail = (uint32_t *)(submitted + wanted.sq_off.tail);
	ring->mask = *(uint32_t *)(submitted + wanted.sq_off.ring_mask);
	ring->flags = (uint32_t *)(submitted + wanted.sq_off.flags);
	ring->array = (uint32_t *)(submitted + wanted.sq_off.array);
	ring->head = (uint32_t *)(completed + wanted.cq_off.head);
	ring->completed = (uint32_t *)(completed + wanted.cq_off.tail);
	ring->completed_mask = *(uint32_t *)(completed + wanted.cq_off.ring_mask);
	ring->completions = completed + wanted.cq_off.cqes;
}

static inline void ring_command(struct ring *ring, struct io_uring_sqe *entry, int file, void *buffer, size_t bytes,
				off_t at)
{
	struct nvme_uring_cmd *command = (struct nvme_uring_cmd *)entry->cmd;
	uint64_t sector = at / SECTOR;

	if (!ring->namespace)
		ring->namespace = ioctl(file, NVME_IOCTL_ID);
	entry->opcode = IORING_OP_URING_CMD;
	entry->cmd_op = NVME_URING_CMD_IO;
	command->opcode = NVME_READ;
	command->nsid = ring->namespace;
	command->addr = (uintptr_t)buffer;
	command->data_len = bytes;
	command->cdw10 = (uint32_t)sector;
	command->cdw11 = sector >> 32;
	command->cdw12 = bytes / SECTOR - 1;
}

/* The completion is there, or the kernel must be asked for it. */
static inline long ring_enter(struct ring *ring, uint32_t *fresh)
{
	uint32_t flags = IORING_ENTER_GETEVENTS;

	if (ring->kind == RING_THREAD) {
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (!(__atomic_load_n(ring->flags, __ATOMIC_ACQUIRE) & IORING_SQ_NEED_WAKEUP)) {
			__builtin_ia32_pause();
			return 0;
		}
		flags = IORING_ENTER_SQ_WAKEUP;
	}
	ring->entered++;
	if (syscall(SYS_io_uring_enter, ring->descriptor, *fresh, ring->kind != RING_THREAD, flags, NULL, 0) >= 0)
		*fresh = 0;
	else if (errno != EAGAIN && errno != EINTR)
		return -errno;
	return 0;
}

/* Submits one read and waits for it: one call, if the kernel does not return early. How many bytes came, or -errno. */
static inline long ring_read(struct ring *ring, int file, void *buffer, size_t bytes, off_t at)
{
	uint32_t slot = *ring->tail & ring->mask, head = *ring->head, fresh = 1;
	struct io_uring_sqe *entry = (struct io_uring_sqe *)(ring->entries + slot * ring->entry_bytes);
	const struct io_uring_cqe *completion;

	memset(entry, 0, ring->entry_bytes);
	entry->fd = file;
	if (ring->kind == RING_PASSED) {
		ring_command(ring, entry, file, buffer, bytes, at);
	} else {
		entry->opcode = IORING_OP_READ;
		entry->off = at;
		entry->addr = (uintptr_t)buffer;
		entry->len = bytes;
	}
	ring->array[slot] = slot;
	__atomic_store_n(ring->tail, *ring->tail + 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(ring->completed, __ATOMIC_ACQUIRE) == head) {
		long error = ring_enter(ring, &fresh);

		if (error)
			return error;
	}
	completion = (struct io_uring_cqe *)(ring->completions + (head & ring->completed_mask) * ring->completion_bytes);
	__atomic_store_n(ring->head, head + 1, __ATOMIC_RELEASE);
	/* A command that was done answers 0, not a length. */
	return ring->kind == RING_PASSED && !completion->res ? (long)bytes : completion->res;
}

#endif
