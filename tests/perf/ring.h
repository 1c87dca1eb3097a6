/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A ring of io_uring with one read in flight, by the kernel's own interface: a static program needs no library for that.
 *
 * Included by disk.c. Ends the program with one line if the kernel refuses.
 */
#ifndef TACET_PERF_RING_H
#define TACET_PERF_RING_H

#include <errno.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_ENTRIES 4u

struct ring {
	int descriptor;
	struct io_uring_sqe *entries;
	struct io_uring_cqe *completions;
	uint32_t *tail, *head, *completed, mask, completed_mask, *array;
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

/* @polled: the kernel polls the device for completions instead of waiting for its interrupt. */
static inline void ring_open(struct ring *ring, bool polled)
{
	struct io_uring_params wanted = { .flags = polled ? IORING_SETUP_IOPOLL : 0 };
	char *submitted, *completed;

	ring->descriptor = syscall(SYS_io_uring_setup, RING_ENTRIES, &wanted);
	if (ring->descriptor < 0) {
		perror("ring: io_uring_setup");
		exit(1);
	}
	submitted = ring_map(ring, wanted.sq_off.array + wanted.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	completed = ring_map(ring, wanted.cq_off.cqes + wanted.cq_entries * sizeof(struct io_uring_cqe),
			     IORING_OFF_CQ_RING);
	ring->entries = ring_map(ring, wanted.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	ring->tail = (uint32_t *)(submitted + wanted.sq_off.tail);
	ring->mask = *(uint32_t *)(submitted + wanted.sq_off.ring_mask);
	ring->array = (uint32_t *)(submitted + wanted.sq_off.array);
	ring->head = (uint32_t *)(completed + wanted.cq_off.head);
	ring->completed = (uint32_t *)(completed + wanted.cq_off.tail);
	ring->completed_mask = *(uint32_t *)(completed + wanted.cq_off.ring_mask);
	ring->completions = (struct io_uring_cqe *)(completed + wanted.cq_off.cqes);
}

/* Submits one read and waits for it: one call, if the kernel does not return early. How many bytes came, or -errno. */
static inline long ring_read(struct ring *ring, int file, void *buffer, size_t bytes, off_t at)
{
	uint32_t slot = *ring->tail & ring->mask, head = *ring->head, fresh = 1;
	struct io_uring_sqe *entry = &ring->entries[slot];

	memset(entry, 0, sizeof(*entry));
	entry->opcode = IORING_OP_READ;
	entry->fd = file;
	entry->off = at;
	entry->addr = (uintptr_t)buffer;
	entry->len = bytes;
	ring->array[slot] = slot;
	__atomic_store_n(ring->tail, *ring->tail + 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(ring->completed, __ATOMIC_ACQUIRE) == head) {
		if (syscall(SYS_io_uring_enter, ring->descriptor, fresh, 1, IORING_ENTER_GETEVENTS, NULL, 0) >= 0)
			fresh = 0;
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	__atomic_store_n(ring->head, head + 1, __ATOMIC_RELEASE);
	return ring->completions[head & ring->completed_mask].res;
}

#endif
