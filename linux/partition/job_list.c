// SPDX-License-Identifier: GPL-2.0
/*
 * What jobs are and what they use, for TACET_JOB_LIST (ioctl.h).
 *
 * Called by doors/device.c with the control lock held. Changes no job.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "partition/partition.h"
#include "process/process.h"
#include "tacet.h"

/* Frames of a job's ranges; cores may not be believed blindly. */
static u64 memory_used(unsigned int number)
{
	u64 frames = 0;
	unsigned int i;

	for (i = 0; tacet_partition.ranges && i < tacet_partition.context_count; i++)
		if (READ_ONCE(tacet_partition.ranges[i].job) == number)
			frames += max_t(s64, READ_ONCE(tacet_partition.ranges[i].frames), 0);
	return frames << PAGE_SHIFT;
}

struct threads {
	const struct tacet_job *job;
	unsigned int count;
};

static void count_one(struct tacet_hosted *hosted, void *data)
{
	struct tacet_process *process = READ_ONCE(hosted->process);
	struct threads *threads = data;

	if (process && process->job == threads->job)
		threads->count++;
}

static void describe(const struct tacet_job *job, struct tacet_job_entry *entry)
{
	struct threads threads = { .job = job };

	tacet_for_each_hosted(count_one, &threads);
	strscpy(entry->id, job->id, sizeof(entry->id));
	strscpy(entry->group, job->group, sizeof(entry->group));
	entry->uid = from_kuid_munged(current_user_ns(), job->user);
	entry->ending = job->ending;
	entry->apart = job->apart;
	entry->memory = job->memory;
	entry->memory_used = memory_used(job->number);
	entry->threads = threads.count;
	tacet_write_cpus(&job->cpus, entry->cpus);
}

/* The caller's jobs; for root all. */
int tacet_job_list(struct tacet_job_list *request)
{
	struct tacet_job_entry *entries;
	struct tacet_job *job;
	int error = 0;

	lockdep_assert_held(&tacet_control_lock);
	if (request->capacity > TACET_JOBS)
		return -EINVAL;
	entries = kvcalloc(request->capacity ?: 1, sizeof(*entries), GFP_KERNEL);
	if (!entries)
		return -ENOMEM;
	request->count = 0;
	request->total = 0;
	for (job = tacet_job_after(NULL); job; job = tacet_job_after(job)) {
		request->total++;
		if (!capable(CAP_SYS_ADMIN) && !uid_eq(job->user, current_uid()))
			continue;
		if (request->count < request->capacity)
			describe(job, &entries[request->count++]);
	}
	if (copy_to_user(u64_to_user_ptr(request->address), entries, request->count * sizeof(*entries)))
		error = -EFAULT;
	kvfree(entries);
	return error;
}
