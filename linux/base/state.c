// SPDX-License-Identifier: GPL-2.0
/*
 * The state that the whole module shares: the partition, the lock of its changes, the
 * module's parameters. Calls no other file.
 */
#include <linux/module.h>

#include "tacet.h"

struct tacet_partition tacet_partition;
DEFINE_MUTEX(tacet_control_lock);
struct workqueue_struct *tacet_workqueue;
DEFINE_PER_CPU(atomic64_t, tacet_core_user_ns);
DEFINE_PER_CPU(u64, tacet_core_taken_ns);

bool tacet_test_hooks;
module_param_named(test_hooks, tacet_test_hooks, bool, 0444);
MODULE_PARM_DESC(test_hooks, "Allow faults on purpose (for Tacet's own tests only)");

/* Longer, and a core that looks could hide that it hangs; the emulator needs some hundred. */
#define LOOKS_MOST_US 10000u

static unsigned int core_looks_us = 50;
module_param(core_looks_us, uint, 0644);
MODULE_PARM_DESC(core_looks_us, "How long a core looks for the answer to a call before it halts (0: not); read when it starts");

/* How long a core looks for an answer. Any context. */
u32 tacet_core_looks_ns(void)
{
	return min(READ_ONCE(core_looks_us), LOOKS_MOST_US) * NSEC_PER_USEC;
}

/* The partition has the CPU of @core now: threads may go there, and it answers requests. With the
 * control lock or the hosted lock that stays so. */
bool tacet_core_is_here(const struct tacet_core *core)
{
	return cpumask_test_cpu(core->cpu, &tacet_partition.cpus);
}

/* NULL: the partition neither has nor may have @cpu. */
struct tacet_core *tacet_core_of(unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.core_count; i++)
		if (tacet_partition.cores[i].cpu == cpu)
			return &tacet_partition.cores[i];
	return NULL;
}
