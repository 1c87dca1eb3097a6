// SPDX-License-Identifier: GPL-2.0
/*
 * Status and counts of the partition, of its CPUs and of hosted threads. A user sees his own
 * threads only.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>
#include <asm/tsc.h>

#include "compat.h"
#include "doors/doors.h"
#include "partition/partition.h"
#include "process/process.h"
#include "tacet.h"

#define LIST_LIMIT 65536u

struct listing {
	struct tacet_thread *threads;
	u32 capacity, count, total;
};

static u32 place_of(const struct tacet_context *context)
{
	if (smp_load_acquire(&context->state) != TACET_CONTEXT_POSTED)
		return TACET_PLACE_LINUX;
	return READ_ONCE(context->entered_tsc) ? TACET_PLACE_RUNNING : TACET_PLACE_WAITING;
}

static void list_one(struct tacet_hosted *hosted, void *data)
{
	struct tacet_context *context = hosted->context;
	struct task_struct *task = hosted->task;
	struct listing *listing = data;
	struct tacet_thread *thread;
	kuid_t uid = __task_cred(task)->uid;

	if (!task_pid_vnr(task) || !(uid_eq(uid, current_uid()) || capable(CAP_SYS_ADMIN)))
		return;
	if (listing->total++ >= listing->capacity)
		return;
	thread = &listing->threads[listing->count++];
	thread->pid = task_pid_vnr(task);
	thread->tgid = task_tgid_vnr(task);
	thread->cpu = hosted->place.core->cpu;
	thread->place = place_of(context);
	thread->bursts = READ_ONCE(hosted->burst.count);
	thread->uid = from_kuid_munged(current_user_ns(), uid);
	thread->forwarded_calls = READ_ONCE(context->syscalls);
	thread->faults = READ_ONCE(context->faults);
	thread->exceptions = READ_ONCE(context->exceptions);
	thread->signals = READ_ONCE(hosted->proxy.signals);
	thread->doorbells = READ_ONCE(context->doorbells);
	thread->user_ns = tacet_user_ns(hosted);
	strscpy(thread->name, task->comm, sizeof(thread->name));
}

int tacet_read_list(struct tacet_list *request)
{
	struct listing listing = { .capacity = request->capacity };
	int error = 0;

	if (request->capacity > LIST_LIMIT)
		return -EINVAL;
	listing.threads = kvcalloc(request->capacity ?: 1, sizeof(*listing.threads), GFP_KERNEL);
	if (!listing.threads)
		return -ENOMEM;
	if (mutex_lock_killable(&tacet_control_lock)) {
		kvfree(listing.threads);
		return -EINTR;
	}
	tacet_for_each_hosted(list_one, &listing);
	mutex_unlock(&tacet_control_lock);
	if (copy_to_user(u64_to_user_ptr(request->address), listing.threads,
			 listing.count * sizeof(*listing.threads)))
		error = -EFAULT;
	request->count = listing.count;
	request->total = listing.total;
	kvfree(listing.threads);
	return error;
}

static void add_block(struct tacet_status *status, const struct tacet_block *block)
{
	unsigned int i;

	for (i = 0; i < status->node_count; i++)
		if (status->nodes[i].node == block->node)
			break;
	if (i == TACET_MAX_NODES)
		return;
	if (i == status->node_count)
		status->node_count++;
	status->nodes[i].node = block->node;
	status->nodes[i].bytes += (u64)block->pages << PAGE_SHIFT;
}

static void count_process(struct tacet_hosted *hosted, void *data)
{
	struct tacet_status *status = data;

	if (thread_group_leader(hosted->task))
		status->hosted_processes++;
}

/* Of the partition's memory: how much programs have, and can have. */
static void count_frames(struct tacet_status *status)
{
	const struct tacet_partition *partition = &tacet_partition;
	u64 taken = 0, returned = 0;
	unsigned int i;

	for (i = 0; i < partition->core_count; i++) {
		taken += READ_ONCE(partition->cores[i].shared->frames_taken);
		returned += READ_ONCE(partition->cores[i].shared->frames_returned);
	}
	status->own_bytes = (taken - returned) << PAGE_SHIFT;
	for (i = 0; partition->memory && i < partition->memory->block_count; i++)
		status->own_bytes_limit += (u64)partition->memory->blocks[i].count << PAGE_SHIFT;
}

int tacet_read_status(struct tacet_status *status)
{
	struct tacet_partition *partition = &tacet_partition;
	unsigned int i;

	lockdep_assert_held(&tacet_control_lock);
	memset(status, 0, sizeof(*status));
	status->revision = TACET_ABI_REVISION;
	status->state = partition->state;
	for (i = 0; i < partition->core_count; i++) {
		const struct tacet_core *core = &partition->cores[i];
		u64 *words = tacet_core_is_here(core) ? status->cpus : status->spare;

		if (!tacet_job_shows(core))
			continue;
		words[core->cpu / 64] |= 1ull << (core->cpu % 64);
		if (tacet_core_kept_ms(core))
			status->kept[core->cpu / 64] |= 1ull << (core->cpu % 64);
	}
	for (i = 0; i < partition->block_count; i++)
		add_block(status, &partition->blocks[i]);
	tacet_for_each_hosted(count_process, status);
	status->hosted_threads = tacet_hosted_count();
	status->context_count = partition->context_count;
	status->up_count = partition->up_count;
	status->image_bytes = partition->image_bytes;
	status->up_ns = partition->up_ns;
	status->down_ns = partition->down_ns;
	status->tsc_khz = tsc_khz;
	status->test_hooks = tacet_test_hooks;
	status->measures = partition->measures;
	status->waived = partition->waived;
	status->user = tacet_users_current();
	count_frames(status);
	strscpy(status->message, partition->message, sizeof(status->message));
	return 0;
}

/* The most that the stack of core number @index has held: what lies below was never used, or not
 * since the core cleared it and wrote down what it had held. No line that the core uses is read but
 * the last one. */
static u32 stack_bytes(const struct tacet_partition *partition, unsigned int index)
{
	const u64 *stack = partition->private + index * TACET_PRIVATE_BYTES +
			   TACET_PRIVATE_MAIN_STACK * PAGE_SIZE;
	u32 unused = 0;

	while (unused < TACET_STACK_BYTES && READ_ONCE(*stack++) == TACET_STACK_UNUSED)
		unused += sizeof(*stack);
	return max(TACET_STACK_BYTES - unused, READ_ONCE(partition->cores[index].shared->stack_bytes));
}

int tacet_read_cpu_status(struct tacet_cpu_status *status)
{
	struct tacet_core *core = tacet_core_of(status->cpu);
	struct tacet_cpu *shared;
	unsigned int vector;

	lockdep_assert_held(&tacet_control_lock);
	if (!core || !tacet_core_is_here(core) || !tacet_job_shows(core))
		return -ENODEV;
	shared = core->shared;
	status->node = core->node;
	status->package = core->package;
	status->physical_core = core->physical_core;
	status->state = READ_ONCE(shared->state);
	status->mode = READ_ONCE(shared->mode);
	status->hosted_threads = core->threads;
	status->doorbells_sent = READ_ONCE(shared->doorbells_sent) +
				 READ_ONCE(shared->doorbells_from_cores);
	status->doorbells_user = READ_ONCE(shared->doorbells_user);
	status->doorbells_kernel = READ_ONCE(shared->doorbells_kernel);
	status->doorbells_empty = READ_ONCE(shared->doorbells_empty);
	status->notifications = READ_ONCE(shared->notifications);
	status->switches = READ_ONCE(shared->switches);
	status->flushes = READ_ONCE(shared->flush_requested);
	status->frames_taken = READ_ONCE(shared->frames_taken);
	status->frames_returned = READ_ONCE(shared->frames_returned);
	status->alarms = READ_ONCE(shared->alarms);
	status->stack_bytes = stack_bytes(&tacet_partition, core - tacet_partition.cores);
	status->performance = core->performance.control;
	status->performance_before = core->performance.before;
	status->performance_now = READ_ONCE(shared->performance_now);
	status->kept_ms = tacet_core_kept_ms(core);
	for (vector = 0; vector < ARRAY_SIZE(status->foreign); vector++)
		status->foreign[vector] = READ_ONCE(shared->foreign[vector]);
	return 0;
}
