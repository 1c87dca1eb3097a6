// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that stay in the partition between jobs: a job's begin on them needs no hotplug.
 *
 * Called by partition/jobs.c and partition/resize.c with the control lock held. Only a CPU that joined for a job is lent,
 * and only a lent one is kept: what root gave the partition stays there. Root's `tacet job sweep`
 * decides when a kept CPU returns; this file only remembers since when it is kept.
 */
#include <linux/math64.h>
#include <linux/ktime.h>

#include "partition/partition.h"
#include "tacet.h"

/* A job's begin has made them join. */
void tacet_cores_lend(const u64 *words)
{
	unsigned int i;

	lockdep_assert_held(&tacet_control_lock);
	for (i = 0; i < tacet_partition.core_count; i++)
		if (words[tacet_partition.cores[i].cpu / 64] >> (tacet_partition.cores[i].cpu % 64) & 1)
			tacet_partition.cores[i].lent = true;
}

/* A job has them. */
void tacet_cores_use(const struct cpumask *cpus)
{
	unsigned int cpu;

	lockdep_assert_held(&tacet_control_lock);
	for_each_cpu(cpu, cpus)
		tacet_core_of(cpu)->kept_ns = 0;
}

/* Their job has ended: those that are lent wait for the next one. */
void tacet_cores_keep(const struct cpumask *cpus)
{
	unsigned int cpu;

	lockdep_assert_held(&tacet_control_lock);
	for_each_cpu(cpu, cpus)
		if (tacet_core_of(cpu)->lent)
			tacet_core_of(cpu)->kept_ns = ktime_get_boottime_ns();
}

/* They are root's or Linux's, not lent. */
void tacet_cores_own(const struct cpumask *cpus)
{
	unsigned int cpu;

	lockdep_assert_held(&tacet_control_lock);
	for_each_cpu(cpu, cpus) {
		tacet_core_of(cpu)->lent = false;
		tacet_core_of(cpu)->kept_ns = 0;
	}
}

/* 0: it is not kept. */
u64 tacet_core_kept_ms(const struct tacet_core *core)
{
	lockdep_assert_held(&tacet_control_lock);
	return core->kept_ns ? div_u64(ktime_get_boottime_ns() - core->kept_ns, NSEC_PER_MSEC) + 1 : 0;
}
