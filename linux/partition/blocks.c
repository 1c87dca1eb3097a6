// SPDX-License-Identifier: GPL-2.0
/*
 * The partition's memory: physically contiguous blocks taken from Linux.
 *
 * Owns partition->blocks. Called by partition/partition.c with the control lock held;
 * sleeps. Must never take a page that it does not record at once: what is
 * recorded is what is given back.
 */
#include <linux/memory_hotplug.h>
#include <linux/mmzone.h>

#include "compat.h"
#include "partition/partition.h"
#include "tacet.h"

#define UNIT_PAGES ((unsigned long)(SZ_2M >> PAGE_SHIFT))
#define LARGEST_PAGES ((unsigned long)(SZ_1G >> PAGE_SHIFT))

/* All of [pfn, pfn + pages) is online memory of one zone of @node. */
static bool range_usable(unsigned long pfn, unsigned long pages, int node)
{
	struct zone *zone = NULL;
	unsigned long at;

	for (at = pfn; at < pfn + pages; at += UNIT_PAGES) {
		struct page *page = pfn_to_online_page(at);

		if (!page || page_to_nid(page) != node || PageReserved(page))
			return false;
		if (zone && page_zone(page) != zone)
			return false;
		zone = page_zone(page);
	}
	return true;
}

static int record(struct tacet_partition *partition, unsigned long pfn, unsigned long pages,
		  int node)
{
	if (partition->block_count == TACET_MAX_BLOCKS) {
		free_contig_range(pfn, pages);
		return -ENOMEM;
	}
	partition->blocks[partition->block_count++] =
		(struct tacet_block){ .pfn = pfn, .pages = pages, .node = node };
	return 0;
}

/*
 * Takes blocks of exactly @chunk pages, aligned to that, until *@left is served: pages
 * of programs are as large as their frames are aligned. From the top of the node
 * downwards: low memory is scarce for devices.
 */
static int take_chunks(struct tacet_partition *partition, int node, unsigned long chunk,
		       unsigned long *left)
{
	unsigned long first = ALIGN(node_start_pfn(node), chunk);
	unsigned long pfn = round_down(node_end_pfn(node), chunk);

	while (*left >= chunk && pfn >= first + chunk) {
		pfn -= chunk;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		if (!range_usable(pfn, chunk, node) || tacet_alloc_contig(pfn, pfn + chunk))
			continue;
		if (record(partition, pfn, chunk, node))
			return -ENOMEM;
		*left -= chunk;
	}
	return 0;
}

/* Takes node->bytes of memory of one NUMA node, in blocks as large as can be had. */
int tacet_blocks_take(struct tacet_partition *partition, const struct tacet_node_memory *node)
{
	unsigned long left = node->bytes >> PAGE_SHIFT;
	unsigned long chunk = min(rounddown_pow_of_two(left), LARGEST_PAGES);
	int error = 0;

	lockdep_assert_held(&tacet_control_lock);
	for (; left && chunk >= UNIT_PAGES && !error; chunk /= 2)
		error = take_chunks(partition, node->node, chunk, &left);
	if (error)
		return error;
	return left ? -ENOMEM : 0;
}

/* No page is a file's any more (memory/range.c); true if the kernel holds none of them. */
static bool settle(unsigned long pfn)
{
	unsigned long i;
	bool free = true;

	for (i = 0; i < UNIT_PAGES; i++) {
		struct folio *folio = page_folio(pfn_to_page(pfn + i));

		folio->mapping = NULL;
		free &= folio_ref_count(folio) == 1;
	}
	return free;
}

/* Whoever holds a page, in a pipe or for a device, frees it at last. */
static void give_singly(unsigned long pfn)
{
	unsigned long i;

	for (i = 0; i < UNIT_PAGES; i++)
		__free_page(pfn_to_page(pfn + i));
}

/* A block has up to a quarter of a million pages: others run in between. */
static void give_pages(unsigned long pfn, unsigned long pages)
{
	for (; pages; pfn += UNIT_PAGES, pages -= UNIT_PAGES) {
		if (settle(pfn))
			free_contig_range(pfn, UNIT_PAGES);
		else
			give_singly(pfn);
		cond_resched();
	}
}

void tacet_blocks_give(struct tacet_partition *partition)
{
	lockdep_assert_held(&tacet_control_lock);
	while (partition->block_count) {
		struct tacet_block *block = &partition->blocks[--partition->block_count];

		/* A program's registers and the co-kernel's stacks stay here. */
		memset(pfn_to_kaddr(block->pfn), 0, min_t(size_t, block->pages << PAGE_SHIFT, SZ_64M));
		give_pages(block->pfn, block->pages);
	}
}

/* A zeroed piece of block 0, page-aligned; NULL if the block is too small. */
void *tacet_blocks_carve(struct tacet_partition *partition, size_t *used, size_t bytes)
{
	struct tacet_block *block = &partition->blocks[0];
	void *piece = pfn_to_kaddr(block->pfn) + *used;

	bytes = PAGE_ALIGN(bytes);
	if (*used + bytes > block->pages << PAGE_SHIFT)
		return NULL;
	*used += bytes;
	memset(piece, 0, bytes);
	return piece;
}
