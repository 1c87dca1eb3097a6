// SPDX-License-Identifier: GPL-2.0
/*
 * The partition is taken, started, stopped and given back, step by step.
 *
 * Called by doors/device.c and by partition/burial.c, with the control lock held. Each
 * step's `give` undoes what its `take` has done, completely or in part, and does nothing
 * if `take` did nothing: so a failed start is undone as every other end is.
 */
#include <linux/cpu.h>
#include <linux/delay.h>

#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "memory/memory.h"
#include "partition/partition.h"
#include "pico/linux/pico.h"
#include "process/process.h"
#include "tacet.h"

#define LEAVE_PATIENCE_MS 30000

/* Takes over the request's CPUs, those that come now and those that may come later, if Linux can do
 * without them. */
static int check_cpus(struct tacet_up *request)
{
	struct tacet_partition *partition = &tacet_partition;
	unsigned int cpu;

	cpumask_clear(&partition->cpus);
	cpumask_clear(&partition->reach);
	for (cpu = 0; cpu < TACET_MAX_CPUS; cpu++) {
		bool now = request->cpus[cpu / 64] >> (cpu % 64) & 1;

		if (!now && !(request->spare[cpu / 64] >> (cpu % 64) & 1))
			continue;
		if (cpu >= nr_cpu_ids || !cpu_online(cpu))
			return tacet_complain(request->message, -EINVAL, "cpu %u: not online", cpu);
		if (!cpu || !cpu_is_hotpluggable(cpu))
			return tacet_complain(request->message, -EINVAL,
					      "cpu %u: Linux cannot do without it", cpu);
		cpumask_set_cpu(cpu, &partition->reach);
		if (now)
			cpumask_set_cpu(cpu, &partition->cpus);
	}
	cpumask_copy(&partition->free, &partition->cpus);
	if (cpumask_empty(&partition->reach))
		return tacet_complain(request->message, -EINVAL, "cpus: none given");
	return 0;
}

static void give_memory(void)
{
	tacet_blocks_give(&tacet_partition);
}

static void give_image(void)
{
	tacet_partition.image = NULL;
}

static int take_tables(struct tacet_up *request)
{
	return tacet_tables_build(&tacet_partition);
}

static void give_tables(void)
{
	if (!tacet_partition.unproven) {
		tacet_tables_jobs_free(&tacet_partition);
		tacet_tables_free(&tacet_partition);
	}
	tacet_partition.tables = NULL;
	memset(tacet_partition.apart, 0, sizeof(tacet_partition.apart));
}

static int take_cpus(struct tacet_up *request)
{
	unsigned int i;
	int error;

	for (i = 0; i < tacet_partition.core_count; i++) {
		if (!tacet_core_is_here(&tacet_partition.cores[i]))
			continue;
		tacet_arch_performance_save(&tacet_partition.cores[i]);
		error = tacet_hotplug_take(&tacet_partition.cores[i]);
		if (error)
			return tacet_complain(request->message, error,
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

static const struct step {
	const char *name;
	int (*take)(struct tacet_up *request);
	void (*give)(void);
} steps[] = {
	{ "memory", tacet_layout_memory, give_memory },
	{ "image", tacet_layout_image, give_image },
	{ "cores", tacet_layout_cores, tacet_layout_end },
	{ "tables", take_tables, give_tables },
	{ "devices", tacet_pico_open, tacet_pico_close },
	{ "interrupts", tacet_cores_open, tacet_cores_close },
	{ "topology", tacet_topology_keep, tacet_topology_forget },
	{ "cpus", take_cpus, give_cpus },
	{ "directories", tacet_topology_publish, tacet_topology_withdraw },
	{ "compaction", tacet_compaction_restrain, tacet_compaction_release },
	{ "start", tacet_cores_start, tacet_cores_stop },
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

	lockdep_assert_held(&tacet_control_lock);
	if (partition->state != TACET_PARTITION_NONE && partition->state != TACET_PARTITION_FAILED)
		return tacet_complain(request->message, -EBUSY, "partition: one is up already");
	error = tacet_arch_check(request->message, sizeof(request->message));
	error = error ?: check_cpus(request);
	error = error ?: tacet_layout_check(request);
	if (error)
		return error;
	partition->failed = 0;
	partition->unproven = false;
	partition->waived = request->waived & ~request->spared;
	partition->measures = tacet_arch_measures(TACET_MEASURES_ALL & ~request->spared & ~request->waived);
	tacet_users_begin();
	WRITE_ONCE(partition->state, TACET_PARTITION_CHANGING);
	for (i = 0; i < (int)ARRAY_SIZE(steps) && !error; i++) {
		if (tacet_test_hooks && request->fail_step == i + 1)
			error = tacet_complain(request->message, -EIO, "%s: failed on request",
					       steps[i].name);
		error = error ?: steps[i].take(request);
		if (error && !request->message[0])
			tacet_complain(request->message, error, "%s: error %d", steps[i].name, error);
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
	tacet_bad_start();
	tacet_watch_start();
	tacet_report(TACET_LOG_INFO, "partition up: cpus %*pbl, %u blocks of memory",
		     cpumask_pr_args(&partition->cpus), partition->block_count);
	return 0;
}

/* Sends every hosted thread back to Linux, and every process's memory. -ETIMEDOUT: one
 * does not come. */
static int recouple_all(void)
{
	unsigned int waited_ms;

	for (waited_ms = 0; tacet_hosted_count() || tacet_range_count(); waited_ms += 2) {
		if (waited_ms > LEAVE_PATIENCE_MS)
			return -ETIMEDOUT;
		tacet_hosted_leave_all();
		msleep(2);
	}
	return 0;
}

/* Ends a partition that hosts nothing. */
void tacet_partition_end(enum tacet_partition_state after)
{
	lockdep_assert_held(&tacet_control_lock);
	tacet_watch_stop();
	tacet_bad_stop();
	tacet_tracepoints_off();
	tacet_errands_settle();
	tacet_space_settle();
	tacet_jobs_drop();
	give_back(ARRAY_SIZE(steps) - 1);
	WRITE_ONCE(tacet_partition.state, after);
}

int tacet_partition_down(struct tacet_down *request)
{
	struct tacet_partition *partition = &tacet_partition;
	u64 begin = ktime_get_ns();

	lockdep_assert_held(&tacet_control_lock);
	if (partition->state == TACET_PARTITION_FAILED && !partition->core_count) {
		WRITE_ONCE(partition->state, TACET_PARTITION_NONE);
		return 0;
	}
	if (partition->state != TACET_PARTITION_UP)
		return tacet_complain(request->message, -ENODEV, "partition: none is up");
	if (tacet_hosted_count() && !(request->flags & TACET_DOWN_RECOUPLE))
		return tacet_complain(request->message, -EBUSY,
				      "partition: %u threads are hosted: recouple them, or force",
				      tacet_hosted_count());
	if (tacet_job_after(NULL) && !(request->flags & TACET_DOWN_RECOUPLE))
		return tacet_complain(request->message, -EBUSY, "partition: job %s has not ended: end it, or force",
				      tacet_job_after(NULL)->id);
	WRITE_ONCE(partition->state, TACET_PARTITION_CHANGING);
	if (recouple_all()) {
		WRITE_ONCE(partition->state, TACET_PARTITION_UP);
		return tacet_complain(request->message, -ETIMEDOUT,
				      tacet_hosted_count() ? "partition: a hosted thread does not come back" :
							     "partition: Linux has no room for a process's memory");
	}
	tacet_partition_end(TACET_PARTITION_NONE);
	partition->down_ns = ktime_get_ns() - begin;
	tacet_report(TACET_LOG_INFO, "partition down");
	return 0;
}

/*
 * The module goes; this cannot be refused any more. Nothing is hosted and no process has a
 * range, since each of these holds the module: there is nothing to wait for, and the end of
 * the partition cannot fail. The control lock was taken by whoever changed the partition
 * before, so it is up, or there is none (a failed one may still wait for its burial, which
 * then finds nothing to do).
 */
void tacet_partition_exit(void)
{
	mutex_lock(&tacet_control_lock);
	WARN_ON(tacet_hosted_count() || tacet_range_count());
	if (tacet_partition.state == TACET_PARTITION_UP) {
		WRITE_ONCE(tacet_partition.state, TACET_PARTITION_CHANGING);
		tacet_partition_end(TACET_PARTITION_NONE);
	}
	mutex_unlock(&tacet_control_lock);
	tacet_fail_exit();
}
