// SPDX-License-Identifier: GPL-2.0
/*
 * A job that is kept apart: its cores map its own memory alone, so that two users' jobs run at once on a processor
 * where a program can read what its core maps (process/users.c).
 *
 * Called by partition/jobs.c with the control lock held, at a job's begin, before any program can join it, and at its
 * end, when it has none. Owns job->runs, core->maps and partition->context_jobs. A job gets all the memory that its
 * limit allows at its begin, in runs of 2 MiB to 1 GiB, and gives it back cleared. No other job's core executes anything for
 * that: the job's own cores are asked.
 *
 * Never touches frames that Linux still uses, in a pipe or for a device: the job's number stays taken until they are back.
 */
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "partition/partition.h"
#include "process/process.h"
#include "tacet.h"

#define RUN_FRAMES (SZ_2M >> PAGE_SHIFT)
#define STEP_FRAMES (SZ_512M >> PAGE_SHIFT)	/* a tenth of a second, in which other requests wait */
#define SMALLEST_ORDER 9u
#define LARGEST_ORDER 18u

#define for_each_core_of(core, job) \
	for (core = tacet_partition.cores; core < tacet_partition.cores + tacet_partition.core_count; core++) \
		if (cpumask_test_cpu(core->cpu, &(job)->cpus))

/* A hardware thread of a core that the job has is the partition's, and not the job's: they can read each other's buffers. */
static bool shares_core(const struct tacet_job *job)
{
	const struct tacet_core *core, *other;

	for_each_core_of(core, job)
		for (other = tacet_partition.cores; other < tacet_partition.cores + tacet_partition.core_count; other++)
			if (other->package == core->package && other->physical_core == core->physical_core &&
			    !cpumask_test_cpu(other->cpu, &job->cpus))
				return true;
	return false;
}

/* There is a core without @cpus that maps the memory of all. */
bool tacet_apart_leaves_core(const struct cpumask *cpus)
{
	const struct tacet_core *core;

	for (core = tacet_partition.cores; core < tacet_partition.cores + tacet_partition.core_count; core++)
		if (tacet_core_is_here(core) && !core->maps && !cpumask_test_cpu(core->cpu, cpus))
			return true;
	return false;
}

/* Why the job is not kept apart; NULL: it is. */
static const char *why_not(const struct tacet_job *job)
{
	if (!job->memory || !tacet_partition.memory)
		return "it has no memory limit";
	if (shares_core(job))
		return "one of its cores has a hardware thread that is not the job's";
	if (!tacet_apart_leaves_core(&job->cpus) && (tacet_hosted_any_of_all() || tacet_range_any_of_all()))
		return "programs without it need one of its cores";
	return NULL;
}

/* With what its page tables need, and what each core has in store. */
static u64 frames_for(const struct tacet_job *job)
{
	u64 limit = job->memory >> PAGE_SHIFT, cores = cpumask_weight(&job->cpus);

	return round_up(limit + limit / 128 + cores * 64 + RUN_FRAMES, RUN_FRAMES);
}

static int note_run(struct tacet_job *job, u64 pages)
{
	u64 first = READ_ONCE(tacet_partition.memory->jobs[job->number - 1].run);
	struct tacet_job_run *run = kzalloc(sizeof(*run), GFP_KERNEL);

	/* Cores may not be believed blindly. */
	if (!run || !tacet_frames_have(first, pages) || tacet_jobs_own(first)) {
		kfree(run);
		return -ENOMEM;
	}
	run->first = first;
	run->pages = pages;
	list_add_tail(&run->link, &job->runs);
	return tacet_tables_job_give(&tacet_partition, job->number, first, pages);
}

/* A run of 1 << *@order frames, or none: then smaller ones may be free. */
static int take_run(struct tacet_job *job, struct tacet_core *core, u64 *left, unsigned int *order)
{
	int error = tacet_ask_give(core, job->number, *order);

	if (error == -ENOMEM) {
		--*order;
		return 0;
	}
	error = error ?: note_run(job, 1ull << *order);
	if (!error)
		*left -= 1ull << *order;
	return error;
}

/* Each of its cores is asked in turn: each has its own idea of which memory is near. */
static int take_runs(struct tacet_job *job)
{
	unsigned int order = LARGEST_ORDER;
	u64 left = frames_for(job);
	struct tacet_core *core;
	int error = 0;

	while (left && !error)
		for_each_core_of(core, job) {
			order = min_t(unsigned int, order, left ? ilog2(left) : 0);
			if (!left)
				break;
			if (order < SMALLEST_ORDER)
				return -ENOMEM;
			error = fatal_signal_pending(current) ? -EINTR : take_run(job, core, &left, &order);
			if (error)
				break;
		}
	return error;
}

/* At most STEP_FRAMES frames of all. -EAGAIN: there are more. Those that Linux uses keep what they have. */
static int clear_runs(struct tacet_job *job)
{
	struct tacet_job_run *run;
	u64 left = STEP_FRAMES;

	list_for_each_entry(run, &job->runs, link)
		for (; run->cleared < run->pages; run->cleared++) {
			u64 frame = run->first + run->cleared;

			if (!left--)
				return -EAGAIN;
			if (tacet_held_has(frame))
				job->held = true;
			else if (!tacet_bad_has(frame))
				clear_page(pfn_to_kaddr(frame));
			if (!(frame % RUN_FRAMES))
				cond_resched();
		}
	return 0;
}

/* Nothing that other users' programs had is left there. */
static int clear_new(struct tacet_job *job)
{
	struct tacet_job_run *run;
	int error = tacet_users_all_clear() ? 0 : -EAGAIN;

	while (error == -EAGAIN)
		error = fatal_signal_pending(current) ? -EINTR : clear_runs(job);
	list_for_each_entry(run, &job->runs, link)
		run->cleared = 0;
	return error;
}

/* The job's cores, which have no thread, map what job number @maps maps from here on. */
static int let_map(const struct tacet_job *job, unsigned int maps)
{
	struct tacet_core *core;
	int error = 0;

	for_each_core_of(core, job) {
		WRITE_ONCE(core->maps, maps);
		tacet_requests_settle(core);
		WRITE_ONCE(core->shared->boot.root, tacet_tables_root(&tacet_partition, maps));
		error = error ?: tacet_ask_drain(core);
	}
	return error;
}

static void clear_contexts(const struct tacet_job *job)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.context_count; i++) {
		if (tacet_partition.context_jobs[i] != job->number)
			continue;
		memset(&tacet_partition.contexts[i], 0, sizeof(tacet_partition.contexts[i]));
		tacet_partition.context_jobs[i] = 0;
	}
}

static void forget_runs(struct tacet_job *job)
{
	struct tacet_job_run *run, *next;

	list_for_each_entry_safe(run, next, &job->runs, link) {
		list_del(&run->link);
		kfree(run);
	}
}

/* Its cores map its memory no more, and that is clear. */
static int give_back(struct tacet_job *job)
{
	int error = tacet_ask(TACET_ASK_TAKE, job->number, 0);

	if (error)
		return error;
	tacet_tables_job_end(&tacet_partition, job->number);
	forget_runs(job);
	return 0;
}

static int begin(struct tacet_job *job)
{
	int error = tacet_tables_job_begin(&tacet_partition, job->number, &job->cpus), undone;

	if (error)
		return error;
	error = let_map(job, job->number) ?: take_runs(job) ?: clear_new(job);
	if (!error) {
		tacet_users_part(job);
		return 0;
	}
	undone = let_map(job, 0) ?: give_back(job);
	return undone ?: error;
}

/*
 * The job, which no program has joined yet, is kept apart if users have to be and it can be. If not, its programs are
 * hosted while no other user's are, which the log says. An error: the job cannot begin.
 */
int tacet_apart_begin(struct tacet_job *job)
{
	const char *reason;
	int error;

	lockdep_assert_held(&tacet_control_lock);
	if (!tacet_users_apart())
		return 0;
	reason = why_not(job);
	error = reason ? 0 : begin(job);
	if (error == -ENOMEM) {
		reason = "too little memory is free in runs of 2 MiB";
		error = 0;
	}
	if (reason)
		tacet_report(TACET_LOG_INFO, "job %s: not kept apart from other users: %s", job->id, reason);
	return error;
}

/* The job has no program, nor will it have. -EAGAIN: there is more to clear; the caller lets go of the control lock and
 * asks again. */
int tacet_apart_end(struct tacet_job *job)
{
	int error = 0;

	lockdep_assert_held(&tacet_control_lock);
	if (!job->apart)
		return 0;
	if (!job->left)
		error = let_map(job, 0);
	if (error)
		return error;
	job->left = true;
	error = clear_runs(job);
	if (error)
		return error;
	clear_contexts(job);
	error = give_back(job);
	if (!error)
		tacet_users_rejoin(job, !job->held);
	return error;
}

/* Frames of a former job of this number are still out, since Linux uses them. */
bool tacet_apart_holds(unsigned int number)
{
	const struct tacet_memory *memory = tacet_partition.memory;

	lockdep_assert_held(&tacet_control_lock);
	if (!memory || !READ_ONCE(memory->jobs[number - 1].owned))
		return false;
	return tacet_ask(TACET_ASK_TAKE, number, 0) || READ_ONCE(memory->jobs[number - 1].owned);
}

/* The partition ends, and with it the job. */
void tacet_apart_drop(struct tacet_job *job)
{
	lockdep_assert_held(&tacet_control_lock);
	forget_runs(job);
}
