// SPDX-License-Identifier: GPL-2.0
/*
 * Which core a thread goes to.
 *
 * Owns hosted->place, core->threads and the bookings in core->posted. A core is chosen by
 * topology when the thread is hosted. It changes on request, when the core is taken while
 * another one idles, and when the core leaves the partition. Nothing else balances: a thread that is alone on its core stays
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

	if (claim(core)) {
		/* Pairs with tacet_cores_desert(): either we see that the core is to leave, or it waits. */
		if (cpumask_test_cpu(core->cpu, tacet_process_reach(READ_ONCE(hosted->process))))
			return core;
		atomic_dec(&core->posted);
	}
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
	if (!hosted->process || !cpumask_test_cpu(cpu, tacet_process_reach(hosted->process))) {
		error = hosted->process ? -EINVAL : -ESRCH;
		spin_unlock_irqrestore(&tacet_hosted_lock, irq);
		return error;
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

/* The thread may go to those of @cpus that are its job's; its core is one of them. */
static void confine(struct tacet_hosted *hosted, const struct cpumask *cpus)
{
	struct tacet_core *core;

	lockdep_assert_held(&tacet_hosted_lock);
	cpumask_and(&hosted->place.cpus, cpus, tacet_process_reach(hosted->process));
	if (hosted->place.state == TACET_THREAD_BOUND)
		hosted->place.state = TACET_THREAD_FREE;
	if (!hosted->process || cpumask_test_cpu(hosted->place.core->cpu, &hosted->place.cpus))
		return;
	core = emptiest_core(&hosted->place.cpus, hosted->place.core);
	if (core)
		rehome(hosted, core);
}

/* The thread asked for @cpus. -EINVAL: its job, or the partition, has none of them. */
int tacet_restrict(struct tacet_hosted *hosted, const struct cpumask *cpus)
{
	unsigned long irq;
	int error = 0;

	spin_lock_irqsave(&tacet_hosted_lock, irq);
	if (cpumask_intersects(cpus, tacet_process_reach(hosted->process)))
		confine(hosted, cpus);
	else
		error = -EINVAL;
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
	if (!error)
		tacet_want(hosted, TACET_WANT_RETURN);
	return error;
}

/* No job has these cores. The cores outside @leaving have room for the threads of those in it. */
static bool have_room(const struct cpumask *leaving)
{
	unsigned int i, homeless = 0, room = 0;

	for (i = 0; i < tacet_partition.core_count; i++) {
		const struct tacet_core *core = &tacet_partition.cores[i];

		if (cpumask_test_cpu(core->cpu, leaving))
			homeless += core->threads;
		else if (cpumask_test_cpu(core->cpu, &tacet_partition.free))
			room += TACET_THREADS_PER_CPU - min(core->threads, TACET_THREADS_PER_CPU);
	}
	return homeless <= room;
}

/* The thread's core may be one of those that leave: it counts on another. */
static void move_off(struct tacet_hosted *hosted, void *data)
{
	const struct cpumask *leaving = data, *here = &tacet_partition.free;
	struct tacet_place *place = &hosted->place;
	struct tacet_core *core;

	if (!cpumask_intersects(&place->cpus, leaving))
		return;
	if (!cpumask_and(&place->cpus, &place->cpus, here))
		cpumask_copy(&place->cpus, here);
	if (!cpumask_test_cpu(place->core->cpu, leaving))
		return;
	if (place->state == TACET_THREAD_BOUND) {
		place->slot->threads--;
		place->slot = NULL;
		place->state = TACET_THREAD_FREE;
	}
	core = emptiest_core(&place->cpus, place->core);
	if (!core) {
		cpumask_copy(&place->cpus, here);
		core = emptiest_core(here, place->core);
	}
	if (core)
		rehome(hosted, core);
}

/*
 * The CPUs @leaving, which are no job's, are not the partition's any more, or become a job's, as far
 * as threads are concerned: none goes there, and those that count there count elsewhere. As on Linux, a thread that may go to none of
 * the other CPUs may then go to all. Threads that are there by now are to be called back by the
 * caller, as long as core->posted says so. Looks at every hosted thread under the hosted lock, with
 * interrupts off. -ENOSPC: there is no room for them; nothing has changed.
 */
int tacet_cores_desert(const struct cpumask *leaving, bool for_job)
{
	unsigned long irq;
	int error = 0;

	spin_lock_irqsave(&tacet_hosted_lock, irq);
	if (have_room(leaving)) {
		cpumask_andnot(&tacet_partition.free, &tacet_partition.free, leaving);
		if (!for_job)
			cpumask_andnot(&tacet_partition.cpus, &tacet_partition.cpus, leaving);
		tacet_processes_confine();
		tacet_for_each_hosted(move_off, (void *)leaving);
	} else {
		error = -ENOSPC;
	}
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
	smp_mb();	/* pairs with tacet_choose_core() */
	return error;
}

/* The cores on @coming run, and are no job's: threads without a job may go there. */
void tacet_cores_join(const struct cpumask *coming)
{
	unsigned long irq;

	spin_lock_irqsave(&tacet_hosted_lock, irq);
	cpumask_or(&tacet_partition.cpus, &tacet_partition.cpus, coming);
	cpumask_or(&tacet_partition.free, &tacet_partition.free, coming);
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
}
