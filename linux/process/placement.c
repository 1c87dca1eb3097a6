// SPDX-License-Identifier: GPL-2.0
/*
 * Which core a thread goes to.
 *
 * Owns hosted->place, core->threads and the bookings in core->posted. A core is chosen by
 * topology when the thread is hosted. It changes on request, and when the core is taken
 * while another one idles. Nothing else balances: a thread that is alone on its core stays
 * there.
 */
#include "compat.h"
#include "process/process.h"
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

/* NULL: every allowed core is full. */
static struct tacet_core *emptiest_core(const struct cpumask *cpus, const struct tacet_core *near)
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

/* Decides where @hosted goes first and where it may go. As on Linux, a thread inherits that
 * from the thread that made it, its @relative. -ENOSPC: all these cores are full. */
int tacet_take_place(struct tacet_hosted *hosted, const struct tacet_process *process,
		     const struct tacet_hosted *relative)
{
	const struct tacet_core *near = relative ? relative->place.core : NULL;
	struct tacet_place *place = &hosted->place;
	struct tacet_order_slot *slot = NULL;

	lockdep_assert_held(&tacet_hosted_lock);
	cpumask_copy(&place->cpus, relative ? &relative->place.cpus : &process->cpus);
	if (process->order)
		slot = tacet_order_next(process->order, &place->cpus);
	if (slot && slot->core->threads >= TACET_THREADS_PER_CPU)
		return -ENOSPC;
	place->slot = slot;
	place->state = slot ? TACET_THREAD_BOUND : TACET_THREAD_FREE;
	place->core = slot ? slot->core : emptiest_core(&place->cpus, near);
	return place->core ? 0 : -ENOSPC;
}

/* @hosted has taken its place: from here on it counts there. */
void tacet_count_place(struct tacet_hosted *hosted)
{
	lockdep_assert_held(&tacet_hosted_lock);
	hosted->place.core->threads++;
	if (hosted->place.slot)
		hosted->place.slot->threads++;
}

static void rehome(struct tacet_hosted *hosted, struct tacet_core *core)
{
	lockdep_assert_held(&tacet_hosted_lock);
	if (hosted->place.state != TACET_THREAD_RELEASED) {
		hosted->place.core->threads--;
		core->threads++;
	}
	WRITE_ONCE(hosted->place.core, core);
}

/* @hosted does not count on its core any more. More than once does no harm. */
void tacet_release_core(struct tacet_hosted *hosted)
{
	lockdep_assert_held(&tacet_hosted_lock);
	if (hosted->place.state == TACET_THREAD_RELEASED)
		return;
	hosted->place.state = TACET_THREAD_RELEASED;
	hosted->place.core->threads--;
	if (hosted->place.slot)
		hosted->place.slot->threads--;
}

/* Books a stay on @core if no thread computes there or is about to. A thread that waits in a
 * local call does not count. */
static bool claim(struct tacet_core *core)
{
	int posted = atomic_read(&core->posted);

	return posted <= (int)READ_ONCE(core->shared->blocked) &&
	       atomic_cmpxchg(&core->posted, posted, posted + 1) == posted;
}

/* Books an idle core for a stay that is about to begin. */
static struct tacet_core *claim_idle(const struct cpumask *cpus)
{
	unsigned int i;

	lockdep_assert_held(&tacet_hosted_lock);
	for (i = 0; i < tacet_partition.core_count; i++) {
		struct tacet_core *core = &tacet_partition.cores[i];

		if (cpumask_test_cpu(core->cpu, cpus) && core->threads < TACET_THREADS_PER_CPU &&
		    claim(core))
			return core;
	}
	return NULL;
}

/* The core that a thread left last. A core whose thread spins was left long ago. */
static struct tacet_core *liveliest(const struct tacet_hosted *hosted)
{
	struct tacet_core *best = hosted->place.core;
	unsigned int i;

	lockdep_assert_held(&tacet_hosted_lock);
	for (i = 0; i < tacet_partition.core_count; i++) {
		struct tacet_core *core = &tacet_partition.cores[i];

		if (cpumask_test_cpu(core->cpu, &hosted->place.cpus) &&
		    core->threads < TACET_THREADS_PER_CPU &&
		    READ_ONCE(core->last_return_ns) > READ_ONCE(best->last_return_ns))
			best = core;
	}
	return best;
}

/*
 * The core for the thread's next stay: its own if that is free or the thread is bound to it;
 * else one that idles; else one where threads come and go, because behind a thread that
 * spins this one would wait until the watch rotates. The stay is booked in core->posted; the
 * caller ends the booking.
 */
struct tacet_core *tacet_choose_core(struct tacet_hosted *hosted)
{
	struct tacet_core *core = READ_ONCE(hosted->place.core), *idle;
	unsigned long irq;
	bool bound;

	if (claim(core))
		return core;
	spin_lock_irqsave(&tacet_hosted_lock, irq);
	bound = hosted->place.state == TACET_THREAD_BOUND;
	idle = bound ? NULL : claim_idle(&hosted->place.cpus);
	core = idle ?: bound ? hosted->place.core : liveliest(hosted);
	if (!idle)
		atomic_inc(&core->posted);
	if (core != hosted->place.core)
		rehome(hosted, core);
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
	return core;
}

/* The thread may go to @cpu only; it goes there at once. */
int tacet_move(struct tacet_hosted *hosted, unsigned int cpu)
{
	struct tacet_core *core = tacet_core_of(cpu);
	unsigned long irq;
	int error = 0;

	if (!core)
		return -EINVAL;
	spin_lock_irqsave(&tacet_hosted_lock, irq);
	if (!hosted->process) {
		spin_unlock_irqrestore(&tacet_hosted_lock, irq);
		return -ESRCH;
	}
	cpumask_clear(&hosted->place.cpus);
	cpumask_set_cpu(cpu, &hosted->place.cpus);
	if (hosted->place.core != core) {
		if (core->threads >= TACET_THREADS_PER_CPU)
			error = -ENOSPC;
		else
			rehome(hosted, core);
	}
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
	if (!error)
		tacet_want(hosted, TACET_WANT_RETURN);
	return error;
}

/* The thread asked for @cpus, all of the partition. */
void tacet_restrict(struct tacet_hosted *hosted, const struct cpumask *cpus)
{
	struct tacet_core *core;
	unsigned long irq;

	spin_lock_irqsave(&tacet_hosted_lock, irq);
	cpumask_copy(&hosted->place.cpus, cpus);
	if (hosted->place.state == TACET_THREAD_BOUND)
		hosted->place.state = TACET_THREAD_FREE;
	if (hosted->process && !cpumask_test_cpu(hosted->place.core->cpu, cpus)) {
		core = emptiest_core(cpus, hosted->place.core);
		if (core)
			rehome(hosted, core);
	}
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
	tacet_want(hosted, TACET_WANT_RETURN);
}
