// SPDX-License-Identifier: GPL-2.0
/*
 * Memory joins the partition and leaves it, block by block, while programs run there.
 *
 * Called by doors/device.c with the control lock held; sleeps. Owns the blocks behind the first
 * ones (partition->first_blocks), which stay: their records, their entries in the tables of cores,
 * and their places in struct tacet_memory. That a block joins rings one core only; but to make room
 * Linux may move pages of hosted programs, whose cores are rung for that. A block leaves if all of it
 * is free; nothing is moved out of it.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>

#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "partition/partition.h"
#include "process/process.h"
#include "tacet.h"

static u64 bytes_of(const struct tacet_block *block)
{
	return (u64)block->pages << PAGE_SHIFT;
}

static bool is_new(const struct tacet_block *block)
{
	return block->pages && !block->joined;
}

static bool is_leaving(const struct tacet_block *block)
{
	return block->joined && tacet_partition.memory->blocks[block - tacet_partition.blocks].first == U64_MAX;
}

static bool is_staying(const struct tacet_block *block)
{
	return block->joined && !is_leaving(block);
}

#define for_each_later(block) \
	for (block = tacet_partition.blocks + tacet_partition.first_blocks; \
	     block < tacet_partition.blocks + tacet_partition.block_count; block++)

static u64 sum(bool (*counts)(const struct tacet_block *block))
{
	const struct tacet_block *block;
	u64 bytes = 0;

	for_each_later(block)
		if (counts(block))
			bytes += bytes_of(block);
	return bytes;
}

static bool has_node(unsigned int node)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.first_blocks; i++)
		if (tacet_partition.blocks[i].node == node)
			return true;
	return false;
}

static int check(struct tacet_resize_memory *request)
{
	const struct tacet_partition *partition = &tacet_partition;

	lockdep_assert_held(&tacet_control_lock);
	if (partition->state != TACET_PARTITION_UP || partition->failed)
		return tacet_complain(request->message, -ENODEV, "partition: none is up");
	if (!partition->memory)
		return tacet_complain(request->message, -EOPNOTSUPP, "memory: programs can have none of this partition");
	if (cpumask_empty(&partition->cpus))
		return tacet_complain(request->message, -ENODEV, "memory: the partition has no cpu yet");
	if (!request->bytes || request->bytes % SZ_2M)
		return tacet_complain(request->message, -EINVAL, "memory: not a multiple of 2 MiB");
	if (request->node != TACET_ANY_NODE && !has_node(request->node))
		return tacet_complain(request->message, -EINVAL, "memory: node %u: the partition began without memory of it",
				      request->node);
	return 0;
}

/* Linux's side knows what leaves no more: whoever read `first` before has read the rest. */
static void forget(void)
{
	struct tacet_block *block;

	synchronize_rcu();
	for_each_later(block)
		if (is_leaving(block))
			WRITE_ONCE(tacet_partition.memory->blocks[block - tacet_partition.blocks].count, 0);
}

/* Back to Linux: no core finds these any more. */
static void give(bool (*counts)(const struct tacet_block *block))
{
	struct tacet_block *block;
	bool mapped = false;

	for_each_later(block)
		if (counts(block))
			mapped |= tacet_tables_unmap_block(&tacet_partition, block);
	if (mapped)
		tacet_flush_cores(0);
	/* A core that does not answer may still have them: burial.c gives them back when it has stopped. */
	if (READ_ONCE(tacet_partition.failed))
		return;
	for_each_later(block)
		if (counts(block)) {
			block->joined = false;
			tacet_block_give(block);
		}
}

static int take(struct tacet_resize_memory *request)
{
	int node, error = -ENOMEM;

	for_each_online_node(node) {
		struct tacet_node_memory wanted = { .node = node, .bytes = request->bytes - sum(is_new) };

		if ((request->node != TACET_ANY_NODE && request->node != node) || !has_node(node))
			continue;
		error = tacet_blocks_take(&tacet_partition, &wanted);
		if (error != -ENOMEM)
			break;
	}
	if (error == -ENOMEM)
		tacet_complain(request->message, error, "memory: Linux cannot free %llu MiB in contiguous blocks",
			       request->bytes >> 20);
	return error;
}

static int clear(const struct tacet_block *block)
{
	unsigned long i;

	for (i = 0; i < block->pages && tacet_users_want_clean(); i++) {
		clear_page(pfn_to_kaddr(block->pfn + i));
		if (i % 512)
			continue;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static int prepare(struct tacet_block *block)
{
	block->records = vzalloc_node(array_size(block->pages, sizeof(*block->records)), block->node);
	if (!block->records)
		return -ENOMEM;
	return clear(block) ?: tacet_tables_map_block(&tacet_partition, block);
}

/* Whoever looks for a frame's block reads `first` before the rest. */
static int add(struct tacet_block *block)
{
	unsigned int place = block - tacet_partition.blocks;
	struct tacet_memory *memory = tacet_partition.memory;
	struct tacet_frames *frames = &memory->blocks[place];

	block->joined = true;
	frames->node = block->node;
	frames->slot = TACET_JOINED_SLOTS + (place << TACET_JOINED_SHIFT);
	WRITE_ONCE(frames->count, block->pages);
	smp_store_release(&frames->first, block->pfn);
	if (place >= memory->block_count)
		smp_store_release(&memory->block_count, place + 1);
	return tacet_ask_join(place, block->pfn, ilog2(block->pages), block->node);
}

int tacet_memory_join(struct tacet_resize_memory *request)
{
	u64 begin = ktime_get_ns();
	struct tacet_block *block;
	int error = check(request);

	if (error)
		return error;
	error = take(request);
	for_each_later(block)
		if (!error && is_new(block))
			error = prepare(block);
	if (error) {
		give(is_new);
		if (!request->message[0])
			tacet_complain(request->message, error, "memory: error %d", error);
		return error;
	}
	for_each_later(block)
		if (!error && is_new(block))
			error = add(block);
	/* No core answers: the partition fails, and its end gives all back. */
	if (error)
		return tacet_complain(request->message, error, "memory: no core takes it: error %d", error);
	request->done_bytes = request->bytes;
	request->took_ns = ktime_get_ns() - begin;
	tacet_report(TACET_LOG_INFO, "memory: %llu MiB joined the partition", request->bytes >> 20);
	return 0;
}

/* What a core says: 0, or -EBUSY, since not all of it is free. */
static int remove(struct tacet_block *block)
{
	unsigned int place = block - tacet_partition.blocks;
	int error = tacet_ask(TACET_ASK_LEAVE, place, 0);

	if (!error)
		WRITE_ONCE(tacet_partition.memory->blocks[place].first, U64_MAX);
	return error;
}

static int drain(void)
{
	unsigned int i;
	int error = 0;

	for (i = 0; i < tacet_partition.core_count && error != -EINTR; i++)
		if (tacet_core_is_here(&tacet_partition.cores[i]))
			error = tacet_ask_drain(&tacet_partition.cores[i]);
	return error == -EINTR ? error : 0;
}

/* The largest block of at most @most bytes that is not @busy; NULL: none. */
static struct tacet_block *next_block(const struct tacet_resize_memory *request, u64 most, const bool *busy)
{
	struct tacet_block *block, *found = NULL;

	for_each_later(block)
		if (is_staying(block) && !busy[block - tacet_partition.blocks] && bytes_of(block) <= most &&
		    (request->node == TACET_ANY_NODE || request->node == block->node) &&
		    (!found || block->pages > found->pages))
			found = block;
	return found;
}

struct departure {
	bool busy[TACET_MAX_BLOCKS];	/* not all of it is free */
	bool drained;			/* the cores have nothing in store, or had a moment ago */
	pid_t holder;			/* a process with memory in a block that stays, or 0 */
};

/* One block leaves, or stays because of somebody. */
static int remove_or_ask(struct tacet_block *block, struct departure *departure)
{
	int error = remove(block);

	if (error != -EBUSY)
		return error;
	/* If a process has some of it, no core has to be asked what it has in store. */
	departure->holder = tacet_frames_holder(block->pfn, block->pages) ?: departure->holder;
	departure->busy[block - tacet_partition.blocks] = true;
	return 0;
}

static int remove_all(struct tacet_resize_memory *request, struct departure *departure)
{
	struct tacet_block *block;
	int error = 0;

	while (!error && (block = next_block(request, request->bytes - sum(is_leaving), departure->busy)))
		error = fatal_signal_pending(current) ? -EINTR : remove_or_ask(block, departure);
	return error;
}

static int leave(struct tacet_resize_memory *request, struct departure *departure)
{
	int error = remove_all(request, departure);

	if (error || sum(is_leaving) == request->bytes || !memchr(departure->busy, true, sizeof(departure->busy)))
		return error;
	/* What is free may lie in the stores of cores. */
	memset(departure, 0, sizeof(*departure));
	return drain() ?: remove_all(request, departure);
}

static int say_what_stays(struct tacet_resize_memory *request, const struct departure *departure)
{
	u64 stays = (request->bytes - request->done_bytes) >> 20, left = request->done_bytes >> 20;

	if (departure->holder)
		return tacet_complain(request->message, -EBUSY,
				      "memory: %llu MiB left, %llu MiB stay: process %d has some of it", left, stays,
				      departure->holder);
	if (memchr(departure->busy, true, sizeof(departure->busy)))
		return tacet_complain(request->message, -EBUSY,
				      "memory: %llu MiB left, %llu MiB stay: they are in use", left, stays);
	return tacet_complain(request->message, -EBUSY,
			      "memory: %llu MiB left, %llu MiB stay: each block that joined is larger", left, stays);
}

int tacet_memory_leave(struct tacet_resize_memory *request)
{
	struct departure *departure = kzalloc(sizeof(*departure), GFP_KERNEL);
	u64 begin = ktime_get_ns();
	int error;

	if (!departure)
		return -ENOMEM;
	error = check(request);
	if (!error && request->bytes > sum(is_staying))
		error = tacet_complain(request->message, -EINVAL, "memory: %llu MiB joined, so no more can leave",
				       sum(is_staying) >> 20);
	if (!error && request->bytes > tacet_jobs_unpromised())
		error = tacet_complain(request->message, -EBUSY, "memory: jobs may have all but %llu MiB",
				       tacet_jobs_unpromised() >> 20);
	if (error)
		goto out;
	error = leave(request, departure);
	request->done_bytes = sum(is_leaving);
	if (request->done_bytes) {
		forget();
		give(is_leaving);
		tacet_report(TACET_LOG_INFO, "memory: %llu MiB left the partition", request->done_bytes >> 20);
	}
	request->took_ns = ktime_get_ns() - begin;
	if (!error && request->done_bytes < request->bytes)
		error = say_what_stays(request, departure);
	else if (error)
		tacet_complain(request->message, error, "memory: %llu MiB left: error %d", request->done_bytes >> 20,
			       error);
out:
	kfree(departure);
	return error;
}
