// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs join the partition and leave it while programs run on its other CPUs.
 *
 * Called by doors/device.c with the control lock held; sleeps. What a core needs besides its CPU,
 * memory above all, was laid out when the partition came up (partition->reach). Other cores are not
 * disturbed: no thread of theirs is recalled, and none of them is rung.
 */
#include <linux/delay.h>

#include "arch/arch.h"
#include "border/border.h"
#include "memory/memory.h"
#include "partition/partition.h"
#include "process/process.h"
#include "tacet.h"

#define LEAVE_PATIENCE_MS 30000

/* The request's CPUs; each must be here, or must not. */
static int read_cpus(struct tacet_resize *request, bool here, struct cpumask *cpus)
{
	const struct tacet_partition *partition = &tacet_partition;
	unsigned int cpu;

	lockdep_assert_held(&tacet_control_lock);
	if (partition->state != TACET_PARTITION_UP || partition->failed)
		return tacet_complain(request->message, -ENODEV, "partition: none is up");
	cpumask_clear(cpus);
	for (cpu = 0; cpu < TACET_MAX_CPUS; cpu++) {
		if (!(request->cpus[cpu / 64] >> (cpu % 64) & 1))
			continue;
		if (cpu >= nr_cpu_ids || !cpumask_test_cpu(cpu, &partition->reach))
			return tacet_complain(request->message, -EINVAL, "cpu %u: %s", cpu,
					      here ? "not the partition's" : "not one that may join the partition");
		if (cpumask_test_cpu(cpu, &partition->cpus) != here)
			return tacet_complain(request->message, -EINVAL, "cpu %u: %s", cpu,
					      here ? "not the partition's" : "the partition has it already");
		if (here && tacet_core_of(cpu)->job)
			return tacet_complain(request->message, -EBUSY, "cpu %u: job %s has it", cpu,
					      tacet_job_numbered(tacet_core_of(cpu)->job)->id);
		cpumask_set_cpu(cpu, cpus);
	}
	if (cpumask_empty(cpus))
		return tacet_complain(request->message, -EINVAL, "cpus: none given");
	return 0;
}

/* Undoes what add() has done, completely or in part. */
static void remove(struct tacet_core *core)
{
	tacet_core_stop(core);
	tacet_topology_withdraw_cpu(core->cpu);
	tacet_hotplug_give(core);
	tacet_arch_notify_close(core);
}

static int add(struct tacet_core *core, char *message)
{
	int error;

	if (!cpu_online(core->cpu))
		return tacet_complain(message, -EINVAL, "cpu %u: not online", core->cpu);
	tacet_arch_performance_save(core);
	error = tacet_core_open(core, message);
	if (error)
		return error;
	error = tacet_hotplug_take(core);
	if (error) {
		tacet_arch_notify_close(core);
		return tacet_complain(message, error, "cpu %u: Linux does not let it go offline: error %d",
				      core->cpu, error);
	}
	tacet_hotplug_settle();
	error = tacet_topology_publish_cpu(core->cpu) ?: tacet_core_start(core, message);
	if (error)
		remove(core);
	return error;
}

static void remove_all(const struct cpumask *cpus)
{
	unsigned int cpu;

	for_each_cpu(cpu, cpus)
		remove(tacet_core_of(cpu));
	tacet_hotplug_settle();
}

int tacet_partition_grow(struct tacet_resize *request)
{
	struct cpumask *cpus = kzalloc(2 * sizeof(*cpus), GFP_KERNEL), *added = cpus + 1;
	u64 begin = ktime_get_ns();
	unsigned int cpu;
	int error;

	if (!cpus)
		return -ENOMEM;
	error = read_cpus(request, false, cpus);
	if (error)
		goto out;
	for_each_cpu(cpu, cpus) {
		error = fatal_signal_pending(current) ? -EINTR : add(tacet_core_of(cpu), request->message);
		if (error)
			break;
		cpumask_set_cpu(cpu, added);
	}
	if (error) {
		if (!request->message[0])
			tacet_complain(request->message, error, "cpu %u: error %d", cpu, error);
		remove_all(added);
		goto out;
	}
	tacet_cores_join(cpus);
	request->took_ns = ktime_get_ns() - begin;
	tacet_report(TACET_LOG_INFO, "cpus %*pbl: joined the partition", cpumask_pr_args(cpus));
out:
	kfree(cpus);
	return error;
}

struct departure {
	const struct cpumask *cpus;
	pid_t held_by;			/* a thread that is there, or 0 */
	unsigned int cpu;
};

static void call_back(struct tacet_hosted *hosted, void *data)
{
	unsigned int cpu = READ_ONCE(hosted->context->cpu);
	struct departure *departure = data;

	if (smp_load_acquire(&hosted->context->state) != TACET_CONTEXT_POSTED || cpu >= nr_cpu_ids ||
	    !cpumask_test_cpu(cpu, departure->cpus))
		return;
	departure->held_by = task_pid_nr(hosted->task);
	departure->cpu = cpu;
	tacet_want(hosted, TACET_WANT_RETURN);
}

static bool are_deserted(const struct cpumask *cpus)
{
	unsigned int cpu;

	for_each_cpu(cpu, cpus)
		if (atomic_read(&tacet_core_of(cpu)->posted))
			return false;
	return true;
}

/* Waits until no thread is on these CPUs, to which none goes any more. */
int tacet_cores_await_deserted(const struct cpumask *cpus, char *message)
{
	struct departure departure = { .cpus = cpus };
	unsigned int waited_ms;

	for (waited_ms = 0; !are_deserted(cpus); waited_ms += 2) {
		if (READ_ONCE(tacet_partition.failed))
			return tacet_complain(message, -EIO, "partition: it has failed");
		if (fatal_signal_pending(current))
			return -EINTR;
		if (waited_ms > LEAVE_PATIENCE_MS)
			return tacet_complain(message, -ETIMEDOUT, "cpu %u: thread %d does not leave it",
					      departure.cpu, departure.held_by);
		tacet_for_each_hosted(call_back, &departure);
		msleep(2);
	}
	return 0;
}

int tacet_partition_shrink(struct tacet_resize *request)
{
	struct cpumask *cpus = kzalloc(sizeof(*cpus), GFP_KERNEL);
	u64 begin = ktime_get_ns();
	unsigned int cpu;
	int error;

	if (!cpus)
		return -ENOMEM;
	error = read_cpus(request, true, cpus);
	if (error)
		goto out;
	if (!tacet_apart_leaves_core(cpus) && (tacet_hosted_any_of_all() || tacet_range_any_of_all())) {
		error = tacet_complain(request->message, -EBUSY,
				       "partition: %u threads are hosted, and these are its last cpus",
				       tacet_hosted_count());
		goto out;
	}
	error = tacet_cores_desert(cpus, false);
	if (error) {
		tacet_complain(request->message, error, "partition: its other cpus have no room for the threads");
		goto out;
	}
	error = tacet_cores_await_deserted(cpus, request->message);
	if (error) {
		tacet_cores_join(cpus);
		goto out;
	}
	for_each_cpu(cpu, cpus)
		tacet_requests_settle(tacet_core_of(cpu));
	remove_all(cpus);
	tacet_cores_own(cpus);
	request->took_ns = ktime_get_ns() - begin;
	tacet_report(TACET_LOG_INFO, "cpus %*pbl: left the partition", cpumask_pr_args(cpus));
out:
	kfree(cpus);
	return error;
}
