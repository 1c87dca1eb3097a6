// SPDX-License-Identifier: GPL-2.0
/*
 * The partition's memory as a device sees it: mapped once, for as long as the device is open.
 *
 * Called by devices.c, with the control lock held. Without an IOMMU a mapping is arithmetic; with
 * one the device reaches all of the partition's memory and nothing else of Linux by our commands.
 */
#include <linux/dma-mapping.h>
#include <linux/sort.h>

#include "pico/linux/pico.h"
#include "tacet.h"

static int by_physical(const void *left, const void *right)
{
	const struct tacet_pico_piece *a = left, *b = right;

	return a->physical < b->physical ? -1 : a->physical > b->physical;
}

int tacet_pico_map(struct tacet_pico_unit *unit)
{
	struct tacet_pico_device *shared = unit->shared;
	const struct tacet_block *block = tacet_partition.blocks;

	BUILD_BUG_ON(TACET_MAX_BLOCKS > TACET_MEMORY_BLOCKS);
	for (shared->piece_count = 0; shared->piece_count < tacet_partition.first_blocks; block++) {
		size_t bytes = block->pages << PAGE_SHIFT;
		dma_addr_t address = dma_map_page_attrs(unit->device, pfn_to_page(block->pfn), 0, bytes,
							DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);

		if (dma_mapping_error(unit->device, address)) {
			tacet_pico_unmap(unit);
			return -ENOMEM;
		}
		shared->pieces[shared->piece_count++] = (struct tacet_pico_piece){
			.physical = PFN_PHYS(block->pfn), .bytes = bytes, .device = address };
	}
	sort(shared->pieces, shared->piece_count, sizeof(shared->pieces[0]), by_physical, NULL);
	return 0;
}

/* The device has no command of ours any more. */
void tacet_pico_unmap(struct tacet_pico_unit *unit)
{
	struct tacet_pico_device *shared = unit->shared;

	while (shared->piece_count) {
		const struct tacet_pico_piece *piece = &shared->pieces[--shared->piece_count];

		dma_unmap_page_attrs(unit->device, piece->device, piece->bytes, DMA_BIDIRECTIONAL,
				     DMA_ATTR_SKIP_CPU_SYNC);
	}
}

/* The device address of something in the partition's memory. */
u64 tacet_pico_for_device(const struct tacet_pico_unit *unit, const void *memory)
{
	u64 physical = __pa(memory);
	unsigned int i;

	for (i = 0; i < unit->shared->piece_count; i++) {
		const struct tacet_pico_piece *piece = &unit->shared->pieces[i];

		if (physical - piece->physical < piece->bytes)
			return physical - piece->physical + piece->device;
	}
	WARN_ON(1);
	return 0;
}
