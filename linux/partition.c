// SPDX-License-Identifier: GPL-2.0
/*
 * The partition: taken, started, stopped and given back, step by step.
 *
 * Owns tacet_partition. Called by control.c with the control lock held; the
 * failure path runs in a work item of its own. Each step's `give` undoes what
 * its `take` did, wholly or in part, and may be called when it did nothing:
 * what is undone after a failure is what is undone at the end.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "tacet.h"

#define HALT_PATIENCE_MS 5000
#define LEAVE_PATIENCE_MS 30000

struct tacet_partition tacet_partition;
static size_t carved;

struct tacet_core *tacet_core_of(unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.core_count; i++)
		if (tacet_partition.cores[i].cpu == cpu)
			return &tacet_partition.cores[i];
	return NULL;
}

__printf(3, 4) static int complain(char *message, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, TACET_TEXT_BYTES, format, arguments);
	va_end(arguments);
	return error;
}

/* The request's CPUs, checked. */
static int check_cpus(struct tacet_up *request)
{
	struct tacet_partition *partition = &tacet_partition;
	unsigned int cpu;

	cpumask_clear(&partition->cpus);
	for (cpu = 0; cpu < TACET_MAX_CPUS; cpu++) {

		if (!(request->cpus[cpu / 64] >> (cpu % 64) & 1))
			continue;
		if (cpu >= nr_cpu_ids || !cpu_online(cpu))
			return complain(request->message, -EINVAL, "cpu %u: not online", cpu);
		if (!cpu || !cpu_is_hotpluggable(cpu))
			return complain(request->message, -EINVAL,
					"cpu %u: Linux cannot do without it", cpu);
		cpumask_set_cpu(cpu, &partition->cpus);
	}
	if (cpumask_empty(&partition->cpus))
		return complain(request->message, -EINVAL, "cpus: none given");
	return 0;
}

static int check_memory(struct tacet_up *request)
{
	unsigned int i;

	if (!request->node_count || request->node_count > TACET_MAX_NODES)
		return complain(request->message, -EINVAL, "memory: no NUMA node given");
	for (i = 0; i < request->node_count; i++) {
		const struct tacet_node_memory *node = &request->nodes[i];

		if (node->node >= nr_node_ids || !node_online(node->node))
			return complain(request->message, -EINVAL, "memory: node %u: not online",
					node->node);
		if (!node->bytes || node->bytes % SZ_2M || node->reserved)
			return complain(request->message, -EINVAL,
					"memory: node %u: %llu bytes: not a multiple of 2 MiB",
					node->node, node->bytes);
	}
	return 0;
}

static int take_memory(struct tacet_up *request)
{
	unsigned int i;
	int error;

	for (i = 0; i < request->node_count; i++) {
		error = tacet_memory_take(&tacet_partition, &request->nodes[i]);
		if (error)
			return complain(request->message, error,
					"memory: node %u: %llu MiB of contiguous memory cannot be had",
					request->nodes[i].node, request->nodes[i].bytes >> 20);
	}
	carved = 0;
	return 0;
}

static void give_memory(void)
{
	tacet_memory_give(&tacet_partition);
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

static int take_image(struct tacet_up *request)
{
	struct tacet_partition *partition = &tacet_partition;
	u64 bytes = request->image_bytes;
	struct tacet_image_header header;

	if (bytes < sizeof(header) || bytes > TACET_IMAGE_LIMIT_BYTES ||
	    copy_from_user(&header, u64_to_user_ptr(request->image_address), sizeof(header)))
		return complain(request->message, -ENOEXEC, "image: not readable");
	if (!image_valid(&header, bytes))
		return complain(request->message, -ENOEXEC,
				"image: not a Tacet image of revision %u", TACET_ABI_REVISION);
	partition->image_span = PAGE_ALIGN(bytes) + header.bss_bytes;
	partition->image = tacet_memory_carve(partition, &carved, partition->image_span);
	if (!partition->image || partition->image_span > TACET_IMAGE_LIMIT_BYTES)
		return complain(request->message, -ENOMEM, "image: the first block is too small");
	if (copy_from_user(partition->image, u64_to_user_ptr(request->image_address), bytes) ||
	    !image_valid(partition->image, bytes))
		return complain(request->message, -ENOEXEC, "image: not readable");
	partition->image_bytes = bytes;
	return 0;
}

static void give_image(void)
{
	tacet_partition.image = NULL;
}

static void describe_core(struct tacet_core *core, unsigned int cpu)
{
	core->cpu = cpu;
	core->apicid = per_cpu(x86_cpu_to_apicid, cpu);
	core->node = cpu_to_node(cpu);
	core->package = topology_physical_package_id(cpu);
	core->physical_core = topology_core_id(cpu);
	spin_lock_init(&core->inbox_lock);
	raw_spin_lock_init(&core->bell_lock);
}

static int take_cores(struct tacet_up *request)
{
	struct tacet_partition *partition = &tacet_partition;
	unsigned int cpu, count = cpumask_weight(&partition->cpus), i = 0;

	partition->cores = kcalloc(count, sizeof(*partition->cores), GFP_KERNEL);
	partition->context_count = min_t(unsigned int, count * TACET_CONTEXTS_PER_CPU,
					 TACET_CONTEXTS_MAX);
	partition->owners = kvcalloc(partition->context_count, sizeof(*partition->owners),
				     GFP_KERNEL);
	if (!partition->cores || !partition->owners)
		return -ENOMEM;
	partition->cpu_pages = tacet_memory_carve(partition, &carved, count * TACET_CPU_BYTES);
	partition->private = tacet_memory_carve(partition, &carved, count * TACET_PRIVATE_BYTES);
	partition->contexts = tacet_memory_carve(partition, &carved, (size_t)
						 partition->context_count * TACET_CONTEXT_BYTES);
	if (!partition->cpu_pages || !partition->private || !partition->contexts)
		return complain(request->message, -ENOMEM,
				"memory: the first block is too small for %u CPUs: ask for more", count);
	for_each_cpu(cpu, &partition->cpus) {
		describe_core(&partition->cores[i], cpu);
		partition->cores[i].shared = partition->cpu_pages + i * TACET_CPU_BYTES;
		i++;
	}
	partition->core_count = count;
	return 0;
}

static void give_cores(void)
{
	struct tacet_partition *partition = &tacet_partition;

	tacet_log_capture(partition);
	partition->core_count = 0;
	kfree(partition->cores);
	kvfree(partition->owners);
	partition->cores = NULL;
	partition->owners = NULL;
	partition->context_count = 0;
}

static int take_tables(struct tacet_up *request)
{
	return tacet_tables_build(&tacet_partition);
}

static void give_tables(void)
{
	tacet_tables_free(&tacet_partition);
}

static int take_notification(struct tacet_up *request)
{
	unsigned int i;
	int error = 0;

	for (i = 0; i < tacet_partition.core_count && !error; i++) {
		error = tacet_arch_notify_open(&tacet_partition.cores[i], tacet_notified);
		if (error)
			complain(request->message, error, "cpu %u: no interrupt vector left for it",
				 tacet_partition.cores[i].cpu);
	}
	return error;
}

static void give_notification(void)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.core_count; i++)
		tacet_arch_notify_close(&tacet_partition.cores[i]);
}

static int take_cpus(struct tacet_up *request)
{
	unsigned int i;
	int error;

	for (i = 0; i < tacet_partition.core_count; i++) {
		error = tacet_hotplug_take(&tacet_partition.cores[i]);
		if (error)
			return complain(request->message, error,
					"cpu %u: Linux does not let it go offline: error %d",
					tacet_partition.cores[i].cpu, error);
	}
	tacet_hotplug_settle();
	return 0;
}

static void give_cpus(void)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.core_count; i++)
		tacet_hotplug_give(&tacet_partition.cores[i]);
	tacet_hotplug_settle();
}

static int start_cores(struct tacet_up *request)
{
	struct tacet_partition *partition = &tacet_partition;
	unsigned int i;
	int error;

	for (i = 0; i < partition->core_count; i++) {
		struct tacet_core *core = &partition->cores[i];

		tacet_arch_boot_settings(partition, core);
		error = tacet_arch_start(partition, core);
		if (error)
			return complain(request->message, error,
					"cpu %u: did not come up in the co-kernel", core->cpu);
	}
	return 0;
}

/* Asks each core to stop; one that does not is stopped by INIT. */
static void stop_cores(void)
{
	struct tacet_partition *partition = &tacet_partition;
	unsigned int i, waited_ms = 0;

	for (i = 0; i < partition->core_count; i++)
		if (partition->cores[i].started && !partition->failed)
			tacet_attention(&partition->cores[i], TACET_ATTENTION_HALT);
	for (i = 0; i < partition->core_count; i++) {
		struct tacet_core *core = &partition->cores[i];

		if (!core->started)
			continue;
		while (!partition->failed && waited_ms < HALT_PATIENCE_MS &&
		       smp_load_acquire(&core->shared->state) != TACET_CPU_HALTED) {
			msleep(1);
			waited_ms++;
		}
		tacet_arch_kill(core);
		core->started = false;
	}
}

static const struct step {
	const char *name;
	int (*take)(struct tacet_up *request);
	void (*give)(void);
} steps[] = {
	{ "memory", take_memory, give_memory },
	{ "image", take_image, give_image },
	{ "cores", take_cores, give_cores },
	{ "tables", take_tables, give_tables },
	{ "interrupts", take_notification, give_notification },
	{ "cpus", take_cpus, give_cpus },
	{ "start", start_cores, stop_cores },
};

static void give_back(int last)
{
	for (; last >= 0; last--)
		steps[last].give();
}

int tacet_partition_up(struct tacet_up *request)
{
	struct tacet_partition *partition = &tacet_partition;
	u64 begin = ktime_get_ns();
	int i, error;

	if (partition->state != TACET_PARTITION_NONE && partition->state != TACET_PARTITION_FAILED)
		return complain(request->message, -EBUSY, "partition: one is up already");
	error = tacet_arch_check(request->message, sizeof(request->message));
	error = error ?: check_cpus(request);
	error = error ?: check_memory(request);
	if (error)
		return error;
	partition->failed = 0;
	WRITE_ONCE(partition->state, TACET_PARTITION_CHANGING);
	for (i = 0; i < (int)ARRAY_SIZE(steps) && !error; i++) {
		if (tacet_test_hooks && request->fail_step == i + 1)
			error = complain(request->message, -EIO, "%s: failed on request",
					 steps[i].name);
		error = error ?: steps[i].take(request);
		if (error && !request->message[0])
			complain(request->message, error, "%s: error %d", steps[i].name, error);
	}
	if (error) {
		give_back(i - 1);
		WRITE_ONCE(partition->state, TACET_PARTITION_NONE);
		return error;
	}
	partition->message[0] = 0;
	partition->up_count++;
	partition->up_ns = ktime_get_ns() - begin;
	WRITE_ONCE(partition->state, TACET_PARTITION_UP);
	tacet_watch_start();
	tacet_report(TACET_LOG_INFO, "partition up: cpus %*pbl, %u blocks of memory",
		     cpumask_pr_args(&partition->cpus), partition->block_count);
	return 0;
}

/* Every hosted thread goes back to Linux. -ETIMEDOUT: one does not. */
static int recouple_all(void)
{
	unsigned int waited_ms;

	for (waited_ms = 0; tacet_hosted_count(); waited_ms += 2) {
		if (waited_ms > LEAVE_PATIENCE_MS)
			return -ETIMEDOUT;
		tacet_hosted_leave_all();
		msleep(2);
	}
	return 0;
}

/* Ends a partition that hosts nothing. Control lock held. */
void tacet_partition_end(enum tacet_partition_state after)
{
	tacet_watch_stop();
	tacet_births_enable(false);
	mmu_notifier_synchronize();
	synchronize_rcu();
	give_back(ARRAY_SIZE(steps) - 1);
	WRITE_ONCE(tacet_partition.state, after);
}

int tacet_partition_down(struct tacet_down *request)
{
	struct tacet_partition *partition = &tacet_partition;
	u64 begin = ktime_get_ns();

	if (partition->state == TACET_PARTITION_FAILED && !partition->core_count) {
		WRITE_ONCE(partition->state, TACET_PARTITION_NONE);
		return 0;
	}
	if (partition->state != TACET_PARTITION_UP)
		return complain(request->message, -ENODEV, "partition: none is up");
	if (tacet_hosted_count() && !(request->flags & TACET_DOWN_RECOUPLE))
		return complain(request->message, -EBUSY,
				"partition: %u threads are hosted: recouple them, or force",
				tacet_hosted_count());
	WRITE_ONCE(partition->state, TACET_PARTITION_CHANGING);
	if (recouple_all()) {
		WRITE_ONCE(partition->state, TACET_PARTITION_UP);
		return complain(request->message, -ETIMEDOUT,
				"partition: a hosted thread does not come back");
	}
	tacet_partition_end(TACET_PARTITION_NONE);
	partition->down_ns = ktime_get_ns() - begin;
	tacet_report(TACET_LOG_INFO, "partition down");
	return 0;
}

/* The module goes: nothing is hosted (each hosted thread holds it). */
void tacet_partition_exit(void)
{
	struct tacet_down request = {};

	mutex_lock(&tacet_control_lock);
	if (tacet_partition.state == TACET_PARTITION_UP)
		tacet_partition_down(&request);
	mutex_unlock(&tacet_control_lock);
}
