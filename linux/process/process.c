// SPDX-License-Identifier: GPL-2.0
/*
 * Hosted processes: made with the first hosted thread, freed after the last.
 *
 * Owns the list of them and their lifetime. doors/sysfs.c registers operations for a process
 * that comes and goes.
 */
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "compat.h"
#include "process/process.h"
#include "tacet.h"

static LIST_HEAD(processes);	/* hosted lock */
static const struct tacet_process_operations *operations;

/* Before the first process is hosted. */
void tacet_process_register(const struct tacet_process_operations *registered)
{
	operations = registered;
}

/* @process was never entered, or is out of the list and has no readers. */
void tacet_process_discard(struct tacet_process *process)
{
	tacet_order_put(process->order);
	tacet_profile_put(process->profile);
	tacet_job_put(process->job);
	put_pid(process->tgid);
	kfree(process);
}

static void free_process(struct work_struct *work)
{
	struct tacet_process *process = container_of(work, struct tacet_process, free);

	operations->gone(process);
	synchronize_rcu();
	tacet_process_discard(process);
}

/* @process is out of the list. It is freed when its readers are done. */
void tacet_process_end(struct tacet_process *process)
{
	queue_work(tacet_workqueue, &process->free);
}

/* A thread of @process is about to go to a core for the first time, or again. The thread's
 * own context; sleeps. */
void tacet_process_announce(struct tacet_process *process)
{
	operations->came(process);
}

/* A process for @task, not entered yet. */
struct tacet_process *tacet_process_new(struct task_struct *task, const struct tacet_terms *terms,
					gfp_t gfp)
{
	struct tacet_process *process = kzalloc(sizeof(*process), gfp);

	if (!process)
		return NULL;
	process->tgid = get_task_pid(task, PIDTYPE_TGID);
	process->flags = terms->flags;
	process->privileged = terms->privileged;
	process->guest = terms->guest;
	if (terms->order)
		kref_get(&terms->order->references);
	process->order = terms->order;
	tacet_profile_get(terms->profile);
	process->profile = terms->profile;
	if (terms->job)
		kref_get(&terms->job->references);
	process->job = terms->job;
	cpumask_copy(&process->cpus, terms->cpus);
	INIT_WORK(&process->free, free_process);
	return process;
}

/* The hosted process @tgid, or NULL. */
struct tacet_process *tacet_process_of(struct pid *tgid)
{
	struct tacet_process *process;

	lockdep_assert_held(&tacet_hosted_lock);
	list_for_each_entry(process, &processes, link)
		if (process->tgid == tgid)
			return process;
	return NULL;
}

/* CPUs may have left the partition since the process's were chosen: as on Linux, one that has none
 * any more may use all of its job, or all that are no job's. */
void tacet_process_confine(struct tacet_process *process)
{
	const struct cpumask *reach = tacet_process_reach(process);

	if (!cpumask_and(&process->cpus, &process->cpus, reach))
		cpumask_copy(&process->cpus, reach);
}

/* CPUs have left the partition. */
void tacet_processes_confine(void)
{
	struct tacet_process *process;

	lockdep_assert_held(&tacet_hosted_lock);
	list_for_each_entry(process, &processes, link)
		tacet_process_confine(process);
}

void tacet_process_enter(struct tacet_process *process)
{
	lockdep_assert_held(&tacet_hosted_lock);
	list_add(&process->link, &processes);
}

void tacet_process_join(struct tacet_process *process, struct tacet_hosted *hosted)
{
	lockdep_assert_held(&tacet_hosted_lock);
	process->threads++;
	hosted->process = process;
}

/* @hosted leaves its process. NULL, or the process if that was its last thread: then the
 * caller ends it. */
struct tacet_process *tacet_process_leave(struct tacet_hosted *hosted)
{
	struct tacet_process *process = hosted->process;

	lockdep_assert_held(&tacet_hosted_lock);
	hosted->process = NULL;
	if (--process->threads)
		return NULL;
	list_del(&process->link);
	return process;
}
