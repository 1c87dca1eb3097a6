// SPDX-License-Identifier: GPL-2.0
/*
 * Hosting threads: how one becomes hosted and how that ends.
 *
 * Owns hosted->state (drawn in base/hosted.h) and the allocation of contexts. A thread
 * becomes hosted on request or at its birth. It ends that itself, at its exit or when it is
 * told to leave. Others end it only while its task is not parked: a parked thread may be on
 * a core.
 */
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "process/process.h"
#include "tacet.h"

/* The context's number @i becomes one that the cores of job number @job map. What others had there goes. */
static void show_context(unsigned int i, unsigned int job)
{
	if (!job || tacet_partition.context_jobs[i])
		return;
	memset(&tacet_partition.contexts[i], 0, sizeof(tacet_partition.contexts[i]));
	tacet_partition.context_jobs[i] = job;
	tacet_tables_job_show(&tacet_partition, job, i);
}

/* One of those that the cores of job number @maps map, or may; 0: of those that no job has for itself. */
static int take_context(struct tacet_hosted *hosted, unsigned int maps)
{
	unsigned int i;

	lockdep_assert_held(&tacet_hosted_lock);
	for (i = 0; i < tacet_partition.context_count; i++) {
		unsigned int job = tacet_partition.context_jobs[i];

		if (tacet_partition.owners[i] || (job && job != maps))
			continue;
		show_context(i, maps);
		hosted->number = i;
		hosted->context = &tacet_partition.contexts[i];
		memset(hosted->context, 0, offsetof(struct tacet_context, xstate));
		rcu_assign_pointer(tacet_partition.owners[i], hosted);
		return 0;
	}
	return -ENOSPC;
}

/* Gives @hosted a place and a context and enters it into the table. If its process is not
 * hosted yet, @spare becomes that, and *@spare_used is set. */
static int enter(struct tacet_hosted *hosted, struct tacet_process *spare,
		 struct tacet_hosted *relative, bool *spare_used)
{
	struct tacet_process *process = tacet_process_of(task_tgid(hosted->task));
	const struct tacet_job *job;
	int error;

	if (READ_ONCE(tacet_partition.state) != TACET_PARTITION_UP || tacet_partition.failed)
		return -ENODEV;
	if (tacet_hosted_of(hosted->task))
		return -EALREADY;
	job = process ? process->job : spare->job;
	if (!process && job && job->gone)
		return -ESRCH;
	if (!tacet_user_fits(hosted->task, job))
		return -EUSERS;
	if (!process) {
		process = spare;
		tacet_process_confine(spare);
	}
	error = tacet_take_place(hosted, process, relative) ?:
		take_context(hosted, job ? tacet_job_maps(job->number) : 0);
	if (error)
		return error;
	if (process == spare) {
		tacet_process_enter(process);
		*spare_used = true;
		if (relative && relative->burst.on)
			tacet_burst_expect(hosted);
	}
	hosted->job = process->job ? process->job->number : 0;
	tacet_process_join(process, hosted);
	tacet_count_place(hosted);
	tacet_hosted_enter(hosted);
	return 0;
}

/* @hosted is in the table: its task parks, unless it has begun to exit. */
static void announce(struct tacet_hosted *hosted)
{
	tacet_arm(hosted);
	/* Pairs with the exit: the task sets the flag, then looks into the table. */
	smp_mb();
	if (READ_ONCE(hosted->task->flags) & PF_EXITING)
		tacet_unhost_unparked(hosted);
}

/*
 * Makes @task a hosted thread: it goes to a core when it next returns to user mode.
 * @parent: the hosted thread that made it, or NULL. @terms: for its process, if no thread of
 * that is hosted yet.
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
	tacet_burst_init(hosted);
	spare = tacet_process_new(task, terms, gfp);
	if (!spare) {
		tacet_hosted_put(hosted);
		return -ENOMEM;
	}
	spin_lock_irqsave(&tacet_hosted_lock, irq);
	relative = parent ? tacet_hosted_of(parent) : NULL;
	error = enter(hosted, spare, relative, &spare_used);
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);
	if (!spare_used)
		tacet_process_discard(spare);
	if (!error)
		announce(hosted);
	tacet_hosted_put(hosted);
	return error;
}

/* The same on the terms of @process, which @relative is a thread of. A @guest: only until it
 * begins another program. In an RCU read section. */
int tacet_host_relative(struct task_struct *task, struct tacet_hosted *relative,
			const struct tacet_process *process, bool guest)
{
	struct tacet_terms terms = {
		.cpus = &process->cpus,
		.flags = process->flags,
		.privileged = process->privileged,
		.guest = guest,
		.order = process->order,
		.profile = process->profile,
		.job = process->job,
	};

	return tacet_host(task, relative->task, &terms, GFP_ATOMIC);
}

/* The cores do not run the thread in its address space any more. Not while it is posted. */
void tacet_leave_space(struct tacet_hosted *hosted)
{
	struct tacet_space *space = hosted->space;

	WRITE_ONCE(hosted->space, NULL);
	WRITE_ONCE(hosted->space_root, 0);
	if (space)
		tacet_space_put(space);
}

/* The process has a range, and this thread of it will run on Linux. Not if the thread has begun
 * another program since it was on a core: the range may be that of the parent, which waits in vfork(). */
static bool needs_handover(const struct tacet_hosted *hosted)
{
	const struct tacet_space *space = hosted->space;

	return space && hosted->space_mm == READ_ONCE(hosted->task->mm) && space->range && READ_ONCE(space->range->visibility) != TACET_RANGE_HANDED_OVER &&
	       !(hosted->task->flags & PF_EXITING);
}

/* The thread's state is GONE, by the caller: this ends what it has. It is not on a core. Any context:
 * probes and those who visit all threads call it. */
static void unhost(struct tacet_hosted *hosted)
{
	struct tacet_process *process;
	unsigned long irq;

	tacet_range_forked(hosted);
	spin_lock_irqsave(&tacet_hosted_lock, irq);
	tacet_hosted_hide(hosted);
	rcu_assign_pointer(tacet_partition.owners[hosted->number], NULL);
	tacet_release_core(hosted);
	tacet_profile_end(hosted);
	process = tacet_process_leave(hosted);
	spin_unlock_irqrestore(&tacet_hosted_lock, irq);

	if (needs_handover(hosted)) {
		tacet_handover_queue(hosted->space->range, hosted->task);
		/* If the thread waits in a call, it waits for the hand-over after that. */
		tacet_arm(hosted);
	}
	tacet_leave_space(hosted);
	if (process)
		tacet_process_end(process);
	tacet_disarm(hosted);
	tacet_burst_stop(hosted);
	tacet_hosted_leave(hosted);
}

/* The call in progress has an argument that the program did not pass, copies the process, or has a task
 * whose extended state is old. The thread stays hosted until the call's end, which puts the program's
 * argument and state back; and until then its process's memory is not handed over. */
static bool needs_call_end(const struct tacet_hosted *hosted)
{
	return smp_load_acquire(&hosted->lazy.in_context) || READ_ONCE(hosted->call.advice_given) ||
	       READ_ONCE(hosted->call.ring_params) || READ_ONCE(hosted->memory.spoiling) ||
	       READ_ONCE(hosted->memory.to_copy);
}

/* Makes the extended state of the task right, if the context has it. Any context of the thread itself. */
void tacet_lazy_fetch(struct tacet_hosted *hosted)
{
	if (!hosted->lazy.in_context)
		return;
	tacet_state_take(hosted->context);
	/* From here on others may end the thread's hosting, and give its context to another. */
	smp_store_release(&hosted->lazy.in_context, false);
}

/* The thread parks. False: it is not hosted any more. */
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

/* The thread does not park any more. True: it is not hosted any more either, because it @leaves or
 * others wanted that meanwhile, or because it is exiting: after the tracepoint of its exit only
 * announce() looks at it, and may have found it parked. */
bool tacet_park_leave(struct tacet_hosted *hosted, bool leaves)
{
	unsigned long irq;

	spin_lock_irqsave(&hosted->lock, irq);
	/* Others who want it to leave have found it parked, and do not come again. */
	if (leaves || atomic_read(&hosted->wanted) & TACET_WANT_LEAVE)
		tacet_lazy_fetch(hosted);
	leaves |= atomic_read(&hosted->wanted) & TACET_WANT_LEAVE && !needs_call_end(hosted);
	leaves |= current->flags & PF_EXITING;
	hosted->state = leaves ? TACET_HOSTED_GONE : TACET_HOSTED_ON_LINUX;
	spin_unlock_irqrestore(&hosted->lock, irq);
	if (leaves)
		unhost(hosted);
	return leaves;
}

/* @hosted is not hosted any more, unless it is parked or has to put something back. Then its task does that: it is
 * told what is wanted of it before. */
void tacet_unhost_unparked(struct tacet_hosted *hosted)
{
	unsigned long irq;
	bool mine, asked;

	spin_lock_irqsave(&hosted->lock, irq);
	asked = hosted->state == TACET_HOSTED_ON_LINUX && hosted->lazy.in_context;
	mine = hosted->state == TACET_HOSTED_ON_LINUX &&
	       (!needs_call_end(hosted) || hosted->task->flags & PF_EXITING);
	if (mine)
		hosted->state = TACET_HOSTED_GONE;
	spin_unlock_irqrestore(&hosted->lock, irq);
	if (mine)
		unhost(hosted);
	else if (asked)
		tacet_arm_at_once(hosted);
}

static void leave_one(struct tacet_hosted *hosted, void *data)
{
	tacet_want(hosted, TACET_WANT_LEAVE);
	tacet_unhost_unparked(hosted);
}

/* Every hosted thread goes back to Linux, sooner or later. */
void tacet_hosted_leave_all(void)
{
	tacet_for_each_hosted(leave_one, NULL);
}
