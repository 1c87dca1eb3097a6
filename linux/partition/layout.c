// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of the partition's memory. The first block has the image, each core's pages,
 * the contexts, the shared parts of address spaces and the records of frames; everything
 * else is frames for programs.
 *
 * Called by partition/partition.c, as its first steps, with the control lock held. The image
 * is copied from user space, then checked here.
 */
#include <linux/bitmap.h>
#include <linux/cpu.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/topology.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "arch/arch.h"
#include "compat.h"
#include "memory/memory.h"
#include "partition/partition.h"
#include "pico/linux/pico.h"
#include "tacet.h"

static size_t carved;	/* of the first block, in bytes; control lock */

/* Writes into @message why a request is refused; returns @error. */
int tacet_complain(char *message, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, TACET_TEXT_BYTES, format, arguments);
	va_end(arguments);
	return error;
}

int tacet_layout_check(struct tacet_up *request)
{
	unsigned int i;

	if (!request->node_count || request->node_count > TACET_MAX_NODES)
		return tacet_complain(request->message, -EINVAL, "memory: no NUMA node given");
	for (i = 0; i < request->node_count; i++) {
		const struct tacet_node_memory *node = &request->nodes[i];

		if (node->node >= nr_node_ids || !node_online(node->node))
			return tacet_complain(request->message, -EINVAL, "memory: node %u: not online",
					      node->node);
		if (node->node >= TACET_NODES)
			return tacet_complain(request->message, -EINVAL,
					      "memory: node %u: nodes from %u on are not supported",
					      node->node, TACET_NODES);
		if (!node->bytes || node->bytes % SZ_2M || node->reserved)
			return tacet_complain(request->message, -EINVAL,
					      "memory: node %u: %llu bytes: not a multiple of 2 MiB",
					      node->node, node->bytes);
	}
	return 0;
}

int tacet_layout_memory(struct tacet_up *request)
{
	unsigned int i;
	int error;

	for (i = 0; i < request->node_count; i++) {
		error = tacet_blocks_take(&tacet_partition, &request->nodes[i]);
		if (error)
			return tacet_complain(request->message, error,
					      "memory: node %u: Linux cannot free %llu MiB of contiguous memory%s",
					      request->nodes[i].node, request->nodes[i].bytes >> 20,
					      tacet_blocks_some_movable(request->nodes[i].node) ?
					      " outside ZONE_MOVABLE" : "");
	}
	tacet_partition.first_blocks = tacet_partition.block_count;
	carved = 0;
	return 0;
}

static bool image_valid(const struct tacet_image_header *header, u64 bytes)
{
	u64 file = header->text_bytes + header->rodata_bytes + header->data_bytes;

	return header->magic == TACET_IMAGE_MAGIC && header->revision == TACET_ABI_REVISION &&
	       header->header_bytes == sizeof(*header) && header->text_bytes <= bytes &&
	       header->rodata_bytes <= bytes && header->data_bytes <= bytes && file <= bytes &&
	       header->bss_bytes <= TACET_IMAGE_LIMIT_BYTES &&
	       !((header->text_bytes | header->rodata_bytes | header->data_bytes |
		  header->bss_bytes) % PAGE_SIZE) &&
	       header->entry >= TACET_IMAGE_BASE &&
	       header->entry < TACET_IMAGE_BASE + header->text_bytes;
}

int tacet_layout_image(struct tacet_up *request)
{
	struct tacet_partition *partition = &tacet_partition;
	u64 bytes = request->image_bytes;
	struct tacet_image_header header;

	if (bytes < sizeof(header) || bytes > TACET_IMAGE_LIMIT_BYTES ||
	    copy_from_user(&header, u64_to_user_ptr(request->image_address), sizeof(header)))
		return tacet_complain(request->message, -ENOEXEC, "image: not readable");
	if (!image_valid(&header, bytes))
		return tacet_complain(request->message, -ENOEXEC,
				      "image: not a Tacet image of revision %u", TACET_ABI_REVISION);
	partition->image_span = PAGE_ALIGN(bytes) + header.bss_bytes;
	partition->image = tacet_blocks_carve(partition, &carved, partition->image_span);
	if (!partition->image || partition->image_span > TACET_IMAGE_LIMIT_BYTES)
		return tacet_complain(request->message, -ENOMEM, "image: the first block is too small");
	if (copy_from_user(partition->image, u64_to_user_ptr(request->image_address), bytes) ||
	    !image_valid(partition->image, bytes))
		return tacet_complain(request->message, -ENOEXEC, "image: not readable");
	partition->image_bytes = bytes;
	if (!tacet_image_trusted(partition->image, bytes))
		return tacet_complain(request->message, -EPERM,
				      "image: not the one that the module was built with, and this kernel runs only signed code");
	return 0;
}

static void describe_core(struct tacet_core *core, unsigned int cpu)
{
	unsigned int slot;

	core->cpu = cpu;
	core->apicid = per_cpu(x86_cpu_to_apicid, cpu);
	core->node = cpu_to_node(cpu);
	core->package = topology_physical_package_id(cpu);
	core->physical_core = topology_core_id(cpu);
	spin_lock_init(&core->inbox_lock);
	for (slot = 0; slot < TACET_SLOTS; slot++)
		mutex_init(&core->slots[slot]);
	raw_spin_lock_init(&core->bell_lock);
}

/* Blocks were taken from the top of a node downwards; cores expect the lowest one first. */
static int by_first(const void *a, const void *b)
{
	const struct tacet_frames *one = a, *other = b;

	return one->first < other->first ? -1 : one->first > other->first;
}

static void describe_frames(struct tacet_memory *memory)
{
	const struct tacet_block *block = tacet_partition.blocks;
	unsigned long used = carved >> PAGE_SHIFT;	/* of the first one */
	unsigned int i, slot = 0;

	for (; memory->block_count < tacet_partition.block_count; block++, used = 0)
		memory->blocks[memory->block_count++] = (struct tacet_frames){
			.first = block->pfn + used, .count = block->pages - used,
			.node = block->node };
	sort(memory->blocks, memory->block_count, sizeof(memory->blocks[0]), by_first, NULL);
	for (i = 0; i < memory->block_count; i++) {
		memory->blocks[i].slot = slot;
		slot += memory->blocks[i].count;
	}
}

/*
 * The rest of the memory is for programs: all blocks except the carved part of the first,
 * which ends with a table of records. If the first block has no room for the table, programs
 * get none; this is no error.
 */
static int lay_out_frames(void)
{
	struct tacet_partition *partition = &tacet_partition;
	const struct tacet_block *first = &partition->blocks[0];
	size_t slots = 0, bytes, owns = partition->context_count * sizeof(struct tacet_range_shared);
	struct tacet_memory *memory;
	unsigned int i;

	BUILD_BUG_ON(TACET_MAX_BLOCKS > TACET_MEMORY_BLOCKS);
	for (i = 0; i < partition->block_count; i++)
		slots += partition->blocks[i].pages;
	bytes = PAGE_ALIGN(sizeof(*memory)) + PAGE_ALIGN(owns) +
		PAGE_ALIGN(slots * sizeof(struct tacet_frame));
	if (slots > TACET_JOINED_SLOTS || carved + bytes >= first->pages << PAGE_SHIFT)
		return 0;
	memory = tacet_blocks_carve(partition, &carved, sizeof(*memory));
	partition->ranges = tacet_blocks_carve(partition, &carved, owns);
	partition->frames = tacet_blocks_carve(partition, &carved, slots * sizeof(struct tacet_frame));
	memory->slot_count = slots;
	memory->range_count = partition->context_count;
	memory->largest_order = tacet_arch_largest_page() - PAGE_SHIFT;
	memory->ranges_base = TACET_DIRECT_BASE + __pa(partition->ranges);
	memory->records_base = TACET_DIRECT_BASE + __pa(partition->frames);
	describe_frames(memory);
	tacet_policy_describe(memory);
	partition->memory = memory;
	return tacet_ranges_begin();
}

/* Devices with a fast path: without room for their queues they have none. */
static void lay_out_pico(void)
{
	struct tacet_partition *partition = &tacet_partition;
	size_t bytes = tacet_pico_find(partition->core_count, partition->context_count,
				       partition->blocks[0].pages << PAGE_SHIFT);

	if (bytes)
		tacet_pico_place(tacet_blocks_carve(partition, &carved, bytes));
}

int tacet_layout_cores(struct tacet_up *request)
{
	struct tacet_partition *partition = &tacet_partition;
	unsigned int cpu, count = cpumask_weight(&partition->reach), i = 0;

	partition->cores = kcalloc(count, sizeof(*partition->cores), GFP_KERNEL);
	partition->context_count = min_t(unsigned int, count * TACET_CONTEXTS_PER_CPU,
					 TACET_CONTEXTS_LIMIT);
	partition->owners = kvcalloc(partition->context_count, sizeof(*partition->owners),
				     GFP_KERNEL);
	partition->spaces_taken = bitmap_zalloc(partition->context_count, GFP_KERNEL);
	partition->context_jobs = kvzalloc(partition->context_count, GFP_KERNEL);
	if (!partition->cores || !partition->owners || !partition->spaces_taken ||
	    !partition->context_jobs)
		return -ENOMEM;
	partition->cpu_pages = tacet_blocks_carve(partition, &carved, count * TACET_CPU_BYTES);
	partition->private = tacet_blocks_carve(partition, &carved, count * TACET_PRIVATE_BYTES);
	partition->contexts = tacet_blocks_carve(partition, &carved, (size_t)
						 partition->context_count * TACET_CONTEXT_BYTES);
	partition->spaces = tacet_blocks_carve(partition, &carved, partition->context_count *
					       sizeof(*partition->spaces));
	if (!partition->cpu_pages || !partition->private || !partition->contexts ||
	    !partition->spaces)
		return tacet_complain(request->message, -ENOMEM,
				      "memory: the first block is too small for %u CPUs", count);
	for_each_cpu(cpu, &partition->reach) {
		describe_core(&partition->cores[i], cpu);
		partition->cores[i].shared = partition->cpu_pages + i * TACET_CPU_BYTES;
		i++;
	}
	partition->core_count = count;
	lay_out_pico();
	return lay_out_frames();
}

void tacet_layout_end(void)
{
	struct tacet_partition *partition = &tacet_partition;

	tacet_memory_end();
	partition->memory = NULL;
	tacet_pico_forget();
	tacet_log_capture(partition);
	partition->core_count = 0;
	kfree(partition->cores);
	kvfree(partition->owners);
	kvfree(partition->context_jobs);
	partition->context_jobs = NULL;
	bitmap_free(partition->spaces_taken);
	partition->spaces_taken = NULL;
	partition->cores = NULL;
	partition->owners = NULL;
	partition->context_count = 0;
}
