// SPDX-License-Identifier: GPL-2.0
/*
 * The memory that cores find behind TACET_PICO_BASE: the table of devices, the queues, the
 * grants, and each queue's rings and list pages; behind it come the addresses of registers.
 *
 * partition/ carves it from the partition's first block. Called by this folder and the folders
 * of devices. Must never be larger than TACET_PICO_LIMIT_BYTES.
 */
#include "pico/linux/area.h"
#include "pico/linux/pico.h"
#include "tacet.h"

#define WINDOW_BYTES (TACET_PICO_WINDOW_PAGES * PAGE_SIZE)

static struct {
	void *memory;			/* NULL: no device has a fast path; control lock */
	size_t queues, grants, rings, windows;	/* offsets */
	size_t next_window;
} area;

/* The bytes for so many devices, or 0: it would be too large. */
size_t tacet_pico_area_bytes(unsigned int units, unsigned int cores, unsigned int spaces)
{
	size_t queues = units * (size_t)cores;

	area.queues = PAGE_ALIGN(sizeof(struct tacet_pico));
	area.grants = area.queues + PAGE_ALIGN(queues * sizeof(struct tacet_pico_queue));
	area.rings = area.grants + PAGE_ALIGN((size_t)spaces * TACET_PICO_GRANTS *
					      sizeof(struct tacet_pico_grant));
	area.windows = area.rings + queues * TACET_PICO_RING_PAGES * PAGE_SIZE;
	if (area.windows + TACET_PICO_DEVICES * WINDOW_BYTES > TACET_PICO_LIMIT_BYTES)
		return 0;
	return area.windows;
}

/* @memory is zeroed; NULL: there is none any more. */
void tacet_pico_area_place(void *memory, unsigned int units, unsigned int cores)
{
	struct tacet_pico *pico = memory;

	area.memory = memory;
	area.next_window = area.windows;
	tacet_partition.pico = memory;
	tacet_partition.pico_bytes = memory ? area.windows : 0;
	if (!memory)
		return;
	pico->device_count = units;
	pico->core_count = cores;
	pico->queues_base = TACET_PICO_BASE + area.queues;
	pico->grants_base = TACET_PICO_BASE + area.grants;
}

struct tacet_pico *tacet_pico_area(void)
{
	return area.memory;
}

struct tacet_pico_queue *tacet_pico_queue(unsigned int unit, unsigned int core)
{
	struct tacet_pico_queue *queues = area.memory + area.queues;

	return &queues[unit * tacet_pico_area()->core_count + core];
}

struct tacet_pico_grant *tacet_pico_grants(unsigned int space)
{
	struct tacet_pico_grant *grants = area.memory + area.grants;

	return &grants[space * TACET_PICO_GRANTS];
}

void *tacet_pico_rings(unsigned int unit, unsigned int core)
{
	size_t queue = unit * tacet_pico_area()->core_count + core;

	return area.memory + area.rings + queue * TACET_PICO_RING_PAGES * PAGE_SIZE;
}

/* The address for cores of something in the area. */
u64 tacet_pico_for_cores(const void *memory)
{
	return TACET_PICO_BASE + (memory - area.memory);
}

/* The addresses for cores of a device's registers. Each opening of a device has new ones, which no
 * core can have seen mapped elsewhere. 0: all were used. */
u64 tacet_pico_window(void)
{
	size_t offset = area.next_window;

	if (offset + WINDOW_BYTES > TACET_PICO_LIMIT_BYTES)
		return 0;
	area.next_window += WINDOW_BYTES;
	return TACET_PICO_BASE + offset;
}
