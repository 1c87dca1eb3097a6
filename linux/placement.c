// SPDX-License-Identifier: GPL-2.0
/*
 * Which core a thread goes to: chosen by topology when it comes, changed when
 * somebody asks. Nothing balances: a thread stays where it was put.
 */
#include "compat.h"
#include "tacet.h"

/* Lower is better: free CPUs first, then free physical cores, then near ones. */
static unsigned int crowding(const struct tacet_core *core, const struct tacet_core *near)
{
	const struct tacet_partition *partition = &tacet_partition;
	unsigned int siblings = 0, i;

	for (i = 0; i < partition->core_count; i++) {
		const struct tacet_core *other = &partition->cores[i];

		if (other != core && other->package == core->package &&
		    other->physical_core == core->physical_core)
			siblings += other->threads;
	}
	return core->threads * 4096 + min(siblings, 1023u) * 4 +
	       (near && near->node != core->node ? 2 : 0) +
	       (near && near->package != core->package ? 1 : 0);
}

/* Under the hosted lock. NULL: every allowed core is full. */
struct tacet_core *tacet_place(const struct cpumask *cpus, const struct tacet_core *near)
{
	struct tacet_core *best = NULL;
	unsigned int i, least = UINT_MAX;

	for (i = 0; i < tacet_partition.core_count; i++) {
		struct tacet_core *core = &tacet_partition.cores[i];
		unsigned int crowd = crowding(core, near);

		if (!cpumask_test_cpu(core->cpu, cpus) || core->threads >= TACET_THREADS_PER_CPU)
			continue;
		if (crowd < least) {
			least = crowd;
			best = core;
		}
	}
	return best;
}

/* Sends the thread to another core when it is next posted, which is soon. */
int tacet_move(struct tacet_hosted *hosted, unsigned int cpu)
{
	struct tacet_core *core = tacet_core_of(cpu);
	unsigned long irq;
	int error = 0;

	if (!core)
		return -EINVAL;
	spin_lock_irqsave(&tacet_hosted_lock, irq);
	if (hosted->core != core) {
		if (core->threads >= TACET_THREADS_PER_CPU) {
			error = -ENOSPC;
		} else {
			hosted->core->threads--;
			core->threads++;
			WRITE_ONCE(hosted->core, core);
			cpumask_set_cpu(cpu, &hosted->process->cpus);
		}
	}
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
	if (!error) {
		WRITE_ONCE(hosted->kick, true);
		wake_up(&hosted->wait);
	}
	return error;
}

/* The thread asked for @cpus, some of which are the partition's. */
void tacet_restrict(struct tacet_hosted *hosted, const struct cpumask *cpus)
{
	struct tacet_core *core;
	unsigned long irq;

	spin_lock_irqsave(&tacet_hosted_lock, irq);
	if (!cpumask_test_cpu(hosted->core->cpu, cpus)) {
		core = tacet_place(cpus, hosted->core);
		if (core) {
			hosted->core->threads--;
			core->threads++;
			WRITE_ONCE(hosted->core, core);
		}
	}
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
}
