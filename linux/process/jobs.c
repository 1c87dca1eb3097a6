// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs: CPUs of the partition and a share of its memory, each for one user (ioctl.h).
 *
 * Owns the list of them and their lifetime, and decides to which one a program belongs. Called by
 * partition/jobs.c, which begins and ends them, and by doors/requests.c before it hosts a task.
 * The list changes under the control lock and the hosted lock; either is enough to read it.
 */
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/slab.h>

#include "compat.h"
#include "process/process.h"
#include "tacet.h"

static LIST_HEAD(jobs);

static void free_job(struct kref *references)
{
	kfree_rcu(container_of(references, struct tacet_job, references), rcu);
}

/* @job may be NULL. */
void tacet_job_put(struct tacet_job *job)
{
	if (job)
		kref_put(&job->references, free_job);
}

/* NULL: there is none. */
struct tacet_job *tacet_job_named(const char *id)
{
	struct tacet_job *job;

	lockdep_assert_held(&tacet_control_lock);
	list_for_each_entry(job, &jobs, link)
		if (!strcmp(job->id, id))
			return job;
	return NULL;
}

struct tacet_job *tacet_job_numbered(unsigned int number)
{
	struct tacet_job *job;

	lockdep_assert_held(&tacet_control_lock);
	list_for_each_entry(job, &jobs, link)
		if (job->number == number)
			return job;
	return NULL;
}

/* The next one in the list, the first for NULL; NULL after the last. */
struct tacet_job *tacet_job_after(const struct tacet_job *job)
{
	const struct list_head *next = job ? job->link.next : jobs.next;

	lockdep_assert_held(&tacet_control_lock);
	return next == &jobs ? NULL : list_entry(next, struct tacet_job, link);
}

/* Text of the caller that may become part of a path, of a log or of another command. */
bool tacet_job_id_valid(const char *id)
{
	unsigned int i;

	if (!isalnum(id[0]) || strnlen(id, TACET_JOB_ID_BYTES) >= TACET_JOB_ID_BYTES)
		return false;
	for (i = 0; id[i]; i++)
		if (!isalnum(id[i]) && !strchr("._-", id[i]))
			return false;
	return true;
}

/* @frame is one that a job has for itself. */
bool tacet_jobs_own(u64 frame)
{
	const struct tacet_job *job;
	const struct tacet_job_run *run;

	lockdep_assert_held(&tacet_control_lock);
	list_for_each_entry(job, &jobs, link)
		list_for_each_entry(run, &job->runs, link)
			if (frame >= run->first && frame - run->first < run->pages)
				return true;
	return false;
}

static bool may_use(const struct tacet_job *job, kuid_t user, bool privileged)
{
	return privileged || uid_eq(job->user, user);
}

static int find_only(kuid_t user, bool privileged, struct tacet_job **found)
{
	struct tacet_job *job;

	list_for_each_entry(job, &jobs, link) {
		if (job->ending || !uid_eq(job->user, user))
			continue;
		if (*found)
			return -ENOTUNIQ;
		*found = job;
	}
	return *found || privileged || list_empty(&jobs) ? 0 : -EACCES;
}

/*
 * The job of a program that a @user hosts: the one that he names, or his only one. *@found is NULL
 * if it belongs to none, as every program does while there are no jobs, and root's may.
 */
int tacet_job_find(const char *id, kuid_t user, bool privileged, struct tacet_job **found)
{
	struct tacet_job *job;

	lockdep_assert_held(&tacet_control_lock);
	*found = NULL;
	if (!id[0])
		return find_only(user, privileged, found);
	job = tacet_job_id_valid(id) ? tacet_job_named(id) : NULL;
	if (!job || job->ending)
		return -ESRCH;
	if (!may_use(job, user, privileged))
		return -EACCES;
	*found = job;
	return 0;
}

/* Whether the calling task may see @cpu's core: it is root, there are no jobs, or the core is one
 * of his jobs'. */
bool tacet_job_shows(const struct tacet_core *core)
{
	const struct tacet_job *job;

	lockdep_assert_held(&tacet_control_lock);
	if (list_empty(&jobs) || capable(CAP_SYS_ADMIN))
		return true;
	job = core->job ? tacet_job_numbered(core->job) : NULL;
	return job && uid_eq(job->user, current_uid());
}

static void write_core_jobs(const struct tacet_job *job, unsigned int number)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.core_count; i++)
		if (cpumask_test_cpu(tacet_partition.cores[i].cpu, &job->cpus))
			WRITE_ONCE(tacet_partition.cores[i].job, number);
}

/* From here on programs may join the job; its CPUs have no thread, and are no other's. */
void tacet_job_enter(struct tacet_job *job)
{
	lockdep_assert_held(&tacet_control_lock);
	spin_lock_irq(&tacet_hosted_lock);
	list_add_tail(&job->link, &jobs);
	write_core_jobs(job, job->number);
	spin_unlock_irq(&tacet_hosted_lock);
}

/* Nobody joins the job any more but the children of its programs. */
void tacet_job_close(struct tacet_job *job)
{
	lockdep_assert_held(&tacet_control_lock);
	WRITE_ONCE(job->ending, true);
}

/* The job has no program any more, nor will it have. Puts the list's reference. */
void tacet_job_leave(struct tacet_job *job)
{
	lockdep_assert_held(&tacet_control_lock);
	spin_lock_irq(&tacet_hosted_lock);
	list_del(&job->link);
	job->gone = true;
	write_core_jobs(job, 0);
	spin_unlock_irq(&tacet_hosted_lock);
	tacet_job_put(job);
}

/* Where the threads of @process, which may be NULL, may go at most. Under the hosted lock, or in
 * the context of one of its threads. */
const struct cpumask *tacet_process_reach(const struct tacet_process *process)
{
	return process && process->job ? &process->job->cpus : &tacet_partition.free;
}

/* The partition has @cpu, and the calling program may know of it. Any context. */
bool tacet_job_cpu_mine(unsigned int cpu)
{
	const struct tacet_hosted *hosted;
	const struct tacet_core *core = tacet_core_of(cpu);
	bool mine;

	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	mine = core && tacet_core_is_here(core) && (!hosted || !hosted->job || hosted->job == READ_ONCE(core->job));
	rcu_read_unlock();
	return mine;
}

/* The partition's CPUs that the calling program may know of. Any context. */
void tacet_job_cpus_mine(struct cpumask *cpus)
{
	struct tacet_hosted *hosted;
	struct tacet_process *process;

	cpumask_copy(cpus, &tacet_partition.cpus);
	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	process = hosted ? READ_ONCE(hosted->process) : NULL;
	if (process && process->job)
		cpumask_copy(cpus, &process->job->cpus);
	rcu_read_unlock();
}
