// SPDX-License-Identifier: GPL-2.0
/*
 * Who is hosted, and where.
 *
 * Owns the table of hosted threads (by task), the processes, the contexts'
 * allocation; process/placement.c says which core. A hosted thread is made by someone
 * else's request or at its birth, and forgotten by itself: at its exit, or when
 * it was told to leave. From outside it is forgotten only while its thread is
 * not inside tacet_park().
 */
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "process/process.h"
#include "tacet.h"

/* Under the hosted lock. */
static int take_context(struct tacet_hosted *hosted)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.context_count; i++) {
		if (tacet_partition.owners[i])
			continue;
		hosted->number = i;
		hosted->context = &tacet_partition.contexts[i];
		memset(hosted->context, 0, offsetof(struct tacet_context, xstate));
		rcu_assign_pointer(tacet_partition.owners[i], hosted);
		return 0;
	}
	return -ENOSPC;
}

/* Where it goes first, and may go. As on Linux, a thread inherits where it may run from
 * the one that made it. Under the hosted lock. */
static int take_place(struct tacet_hosted *hosted, const struct tacet_process *process,
		      const struct tacet_hosted *relative)
{
	const struct tacet_core *near = relative ? relative->place.core : NULL;
	struct tacet_place *place = &hosted->place;
	struct tacet_order_slot *slot = NULL;

	cpumask_copy(&place->cpus, relative ? &relative->place.cpus : &process->cpus);
	if (process->order)
		slot = tacet_order_next(process->order, &place->cpus);
	if (slot && slot->core->threads >= TACET_THREADS_PER_CPU)
		return -ENOSPC;
	place->slot = slot;
	place->state = slot ? TACET_THREAD_BOUND : TACET_THREAD_FREE;
	place->core = slot ? slot->core : tacet_emptiest_core(&place->cpus, near);
	return place->core ? 0 : -ENOSPC;
}

/* Puts @hosted where everyone finds it. @spare becomes its process if it has
 * none yet; returns whether it did. Under the hosted lock. */
static int link(struct tacet_hosted *hosted, struct tacet_process *spare,
		struct tacet_hosted *relative, bool *spare_used)
{
	struct tacet_process *process = tacet_process_of(task_tgid(hosted->task));
	int error;

	if (READ_ONCE(tacet_partition.state) != TACET_PARTITION_UP || tacet_partition.failed)
		return -ENODEV;
	if (tacet_hosted_of(hosted->task))
		return -EALREADY;
	if (!process)
		process = spare;
	error = take_place(hosted, process, relative) ?: take_context(hosted);
	if (error)
		return error;
	if (process == spare) {
		tacet_process_enter(process);
		*spare_used = true;
	}
	tacet_process_join(process, hosted);
	hosted->place.core->threads++;
	if (hosted->place.slot)
		hosted->place.slot->threads++;
	tacet_hosted_enter(hosted);
	return 0;
}

/* It is in the table: have it parked, unless its task has begun to exit. */
static void announce(struct tacet_hosted *hosted)
{
	tacet_arm(hosted);
	/* Pairs with the exit: it sets the flag, then looks into the table. */
	smp_mb();
	if (READ_ONCE(hosted->task->flags) & PF_EXITING)
		tacet_unhost_unparked(hosted);
}

/*
 * Makes @task a hosted thread; it goes to a core when it next returns to user
 * mode. @parent: the hosted thread that made it, or NULL. @terms are for its process if
 * it is the first of that.
 */
int tacet_host(struct task_struct *task, struct task_struct *parent,
	       const struct tacet_terms *terms, gfp_t gfp)
{
	struct tacet_hosted *hosted = tacet_hosted_new(task, gfp);
	struct tacet_process *spare;
	struct tacet_hosted *relative;
	bool spare_used = false;
	unsigned long irq;
	int error;

	if (!hosted)
		return -ENOMEM;
	tacet_arm_init(hosted);
	spare = tacet_process_new(task, terms, gfp);
	if (!spare) {
		tacet_hosted_put(hosted);
		return -ENOMEM;
	}
	spin_lock_irqsave(&tacet_hosted_lock, irq);
	relative = parent ? tacet_hosted_of(parent) : NULL;
	error = link(hosted, spare, relative, &spare_used);
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
	if (!spare_used)
		tacet_process_discard(spare);
	if (!error)
		announce(hosted);
	tacet_hosted_put(hosted);
	return error;
}

/* Nobody finds it any more; its context is free. Not while it is posted. */
static void unlink(struct tacet_hosted *hosted)
{
	struct tacet_process *process;
	struct tacet_space *space;
	unsigned long irq;

	tacet_range_forked(hosted);
	spin_lock_irqsave(&tacet_hosted_lock, irq);
	tacet_hosted_hide(hosted);
	rcu_assign_pointer(tacet_partition.owners[hosted->number], NULL);
	tacet_release_core(hosted);
	tacet_profile_end(hosted);
	process = tacet_process_leave(hosted);
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);

	space = hosted->space;
	/* In case its thread waits in a call; it waits for this before it goes on. */
	if (space && space->range && READ_ONCE(space->range->visibility) != TACET_RANGE_HANDED_OVER &&
	    !(hosted->task->flags & PF_EXITING)) {
		tacet_handover_queue(space->range, hosted->task);
		tacet_arm(hosted);
	}
	WRITE_ONCE(hosted->space, NULL);
	WRITE_ONCE(hosted->space_root, 0);
	if (space)
		tacet_space_put(space);
	if (process)
		tacet_process_end(process);
	tacet_disarm(hosted);
	tacet_hosted_leave(hosted);
}

/* The call in progress has an argument that the program did not pass: it stays
 * hosted until the call's end, which puts it back. */
static bool replaced(const struct tacet_hosted *hosted)
{
	return READ_ONCE(hosted->call.path_given) || READ_ONCE(hosted->call.advice_given) ||
	       READ_ONCE(hosted->memory.spoiling);
}

/* Its thread enters tacet_park(). False: it is not hosted any more. */
bool tacet_park_enter(struct tacet_hosted *hosted)
{
	unsigned long irq;
	bool go;

	spin_lock_irqsave(&hosted->lock, irq);
	go = hosted->state != TACET_HOSTED_GONE;
	if (go)
		hosted->state = TACET_HOSTED_PARKED;
	spin_unlock_irqrestore(&hosted->lock, irq);
	return go;
}

/* Its thread leaves tacet_park(), for good if @drop, if asked to meanwhile, or if
 * it is exiting: nobody but announce() looks at it after its exit's tracepoint,
 * and that may have found it busy here. */
void tacet_park_leave(struct tacet_hosted *hosted, bool drop)
{
	unsigned long irq;

	spin_lock_irqsave(&hosted->lock, irq);
	drop |= atomic_read(&hosted->wanted) & TACET_WANT_LEAVE && !replaced(hosted);
	drop |= current->flags & PF_EXITING;
	hosted->state = drop ? TACET_HOSTED_GONE : TACET_HOSTED_ON_LINUX;
	spin_unlock_irqrestore(&hosted->lock, irq);
	if (drop)
		unlink(hosted);
}

/* Forgets a thread that is not on a core; does nothing if it may be. */
void tacet_unhost_unparked(struct tacet_hosted *hosted)
{
	unsigned long irq;
	bool mine;

	spin_lock_irqsave(&hosted->lock, irq);
	mine = hosted->state == TACET_HOSTED_ON_LINUX &&
	       (!replaced(hosted) || hosted->task->flags & PF_EXITING);
	if (mine)
		hosted->state = TACET_HOSTED_GONE;
	spin_unlock_irqrestore(&hosted->lock, irq);
	if (mine)
		unlink(hosted);
}

static void leave_one(struct tacet_hosted *hosted, void *data)
{
	tacet_want(hosted, TACET_WANT_LEAVE);
	tacet_unhost_unparked(hosted);
}

void tacet_hosted_leave_all(void)
{
	tacet_for_each_hosted(leave_one, NULL);
}
