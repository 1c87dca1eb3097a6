// SPDX-License-Identifier: GPL-2.0
/*
 * The partition's memory: physically contiguous blocks taken from Linux.
 *
 * Owns partition->blocks. Called by partition/layout.c, partition/partition.c and partition/memory.c
 * with the control lock held; sleeps. Records every block at once: only recorded blocks are given
 * back.
 */
#include <linux/memory_hotplug.h>
#include <linux/mmzone.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "partition/partition.h"
#include "tacet.h"

#define UNIT_PAGES ((unsigned long)(SZ_2M >> PAGE_SHIFT))
#define LARGEST_PAGES ((unsigned long)(SZ_1G >> PAGE_SHIFT))

/*
 * [pfn, pfn + pages) is online memory of one zone of @node, in which pages may stay where they
 * are. Before a device gets a program's page permanently (FOLL_LONGTERM: RDMA, io_uring's
 * buffers, vfio), Linux moves the page out of ZONE_MOVABLE and of areas for contiguous
 * allocation (CMA), and ours cannot move. From CMA, tacet_alloc_contig() gets nothing: Linux
 * gives that only to a caller that names it.
 */
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
		if (zone_idx(zone) == ZONE_MOVABLE)
			return false;
	}
	return true;
}

static int record(struct tacet_partition *partition, unsigned long pfn, unsigned long pages,
		  int node)
{
	unsigned int i = partition->first_blocks;

	while (i < partition->block_count && partition->blocks[i].pages)
		i++;		/* else the place of a block that has left */
	if (i == TACET_MAX_BLOCKS) {
		free_contig_range(pfn, pages);
		return -ENOMEM;
	}
	partition->blocks[i] = (struct tacet_block){ .pfn = pfn, .pages = pages, .node = node };
	partition->block_count = max(partition->block_count, i + 1);
	return 0;
}

/*
 * Takes blocks of exactly @chunk pages until *@left pages are taken. The blocks are aligned
 * to their size, so that programs get large pages. From the top of the node downwards,
 * because devices need low memory, which is scarce.
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

/* The node has memory that a partition cannot have, because its pages have to be movable. */
bool tacet_blocks_some_movable(int node)
{
	return populated_zone(&NODE_DATA(node)->node_zones[ZONE_MOVABLE]);
}

/* Takes node->bytes of memory of one NUMA node, in the largest blocks that Linux can free. What Linux
 * has not is not tried: the attempt would leave others without memory, and the killer would come. */
int tacet_blocks_take(struct tacet_partition *partition, const struct tacet_node_memory *node)
{
	unsigned long left = node->bytes >> PAGE_SHIFT;
	unsigned long chunk = min(rounddown_pow_of_two(left), LARGEST_PAGES);
	int error = 0;

	lockdep_assert_held(&tacet_control_lock);
	if (left > (unsigned long)si_mem_available())
		return -ENOMEM;
	for (; left && chunk >= UNIT_PAGES && !error; chunk /= 2)
		error = take_chunks(partition, node->node, chunk, &left);
	if (error)
		return error;
	return left ? -ENOMEM : 0;
}

static bool in_use(unsigned long pfn)
{
	return folio_ref_count(page_folio(pfn_to_page(pfn))) != 1;
}

/* Takes the pages out of their ranges' files; true if the kernel uses none of them. */
static bool settle(unsigned long pfn)
{
	unsigned long i;
	bool free = true;

	for (i = 0; i < UNIT_PAGES; i++) {
		struct folio *folio = page_folio(pfn_to_page(pfn + i));

		folio->mapping = NULL;
		free &= !in_use(pfn + i) && !PageHWPoison(pfn_to_page(pfn + i));
	}
	return free;
}

/* The kernel still uses some, in a pipe or for a device: these keep their content, and the last
 * user frees each. Bad pages stay taken permanently: Linux may even have unmapped them. */
static void give_singly(unsigned long pfn, bool wipe)
{
	unsigned long i;

	for (i = pfn; i < pfn + UNIT_PAGES; i++) {
		if (PageHWPoison(pfn_to_page(i)))
			continue;
		if (wipe && !in_use(i))
			clear_page(pfn_to_kaddr(i));
		__free_page(pfn_to_page(i));
	}
}

/* A block has up to a quarter of a million pages, so other threads run in between. Nobody may
 * find programs' registers and the co-kernel's stacks in the first @wiped pages. */
static void give_pages(unsigned long pfn, unsigned long pages, unsigned long wiped)
{
	unsigned long done;

	for (done = 0; done < pages; done += UNIT_PAGES, pfn += UNIT_PAGES) {
		bool wipe = done < wiped;

		if (settle(pfn)) {
			if (wipe)
				memset(pfn_to_kaddr(pfn), 0, UNIT_PAGES << PAGE_SHIFT);
			free_contig_range(pfn, UNIT_PAGES);
		} else {
			give_singly(pfn, wipe);
		}
		cond_resched();
	}
}

void tacet_blocks_give(struct tacet_partition *partition)
{
	lockdep_assert_held(&tacet_control_lock);
	partition->first_blocks = 0;
	if (partition->unproven)
		partition->block_count = 0;
	while (partition->block_count) {
		struct tacet_block *block = &partition->blocks[--partition->block_count];

		give_pages(block->pfn, block->pages, SZ_64M >> PAGE_SHIFT);
		vfree(block->records);
	}
}

/* One block that joined later, of which nobody knows any more. */
void tacet_block_give(struct tacet_block *block)
{
	lockdep_assert_held(&tacet_control_lock);
	give_pages(block->pfn, block->pages, block->pages);
	vfree(block->records);
	*block = (struct tacet_block){};
}

/* Zeroed, page-aligned memory from block 0, of which *@used bytes are used. NULL: the block
 * is too small. */
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
