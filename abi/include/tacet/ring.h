/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A one-way queue of context numbers between Linux and one core.
 *
 * Owns: the layout and the arithmetic. Only the producer writes `tail` and the entries,
 * only the consumer writes `head`. Both counters wrap at 2^32, so tail - head is the
 * number of entries in the ring. A number above the capacity means that the peer is
 * corrupt: this is the peer's terminal fault, and the reader stops using the ring. The
 * producer stores the entry, then releases tail; the consumer acquires tail, then loads
 * the entry.
 */
#ifndef TACET_ABI_RING_H
#define TACET_ABI_RING_H

#include "types.h"

#define TACET_RING_ENTRIES 256u

struct tacet_ring {
	__u32 tail;			/* producer */
	__u32 reserved0[15];
	__u32 head;			/* consumer */
	__u32 reserved1[15];
	__u32 entries[TACET_RING_ENTRIES];	/* producer; context numbers */
};

static_assert(sizeof(struct tacet_ring) == 1152, "ring layout");

/* 0: done; -1: full; -2: the peer's index is corrupt. */
static inline int tacet_ring_push(struct tacet_ring *ring, __u32 value)
{
	__u32 tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
	__u32 fill = tail - __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

	if (fill > TACET_RING_ENTRIES)
		return -2;
	if (fill == TACET_RING_ENTRIES)
		return -1;
	__atomic_store_n(&ring->entries[tail % TACET_RING_ENTRIES], value, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->tail, tail + 1, __ATOMIC_RELEASE);
	return 0;
}

/* 1: *value holds the oldest entry; 0: empty; -2: the peer's index is corrupt. */
static inline int tacet_ring_pop(struct tacet_ring *ring, __u32 *value)
{
	__u32 head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
	__u32 fill = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) - head;

	if (fill > TACET_RING_ENTRIES)
		return -2;
	if (fill == 0)
		return 0;
	*value = __atomic_load_n(&ring->entries[head % TACET_RING_ENTRIES], __ATOMIC_RELAXED);
	__atomic_store_n(&ring->head, head + 1, __ATOMIC_RELEASE);
	return 1;
}

#endif
