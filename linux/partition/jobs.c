// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs begin and end (ioctl.h, TACET_JOB_*).
 *
 * Called by doors/device.c. A begin is done under the control lock, completely or not at all. An
 * end lets go of that lock while it waits for programs: whoever is killed meanwhile leaves a job
 * that is ending, which the next end finds. process/jobs.c has the list.
 */
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat.h"
#include "memory/memory.h"
#include "partition/partition.h"
#include "process/process.h"
#include "tacet.h"

#define KILL_PATIENCE_MS 30000
#define LONGEST_GRACE_MS (600 * MSEC_PER_SEC)
#define LOOK_MS 10

/* The request's CPUs may be the partition's, and are no other job's. Those that are not here yet: *@missing. */
static int read_cpus(struct tacet_job_begin *request, struct cpumask *cpus, struct tacet_resize *missing)
{
	unsigned int cpu;

	cpumask_clear(cpus);
	for (cpu = 0; cpu < TACET_MAX_CPUS; cpu++) {
		struct tacet_core *core;

		if (!(request->job.cpus[cpu / 64] >> (cpu % 64) & 1))
			continue;
		core = cpu < nr_cpu_ids ? tacet_core_of(cpu) : NULL;
		if (!core)
			return tacet_complain(request->message, -EINVAL, "cpu %u: not the partition's", cpu);
		if (!tacet_core_is_here(core))
			missing->cpus[cpu / 64] |= BIT_ULL(cpu % 64);
		if (core->job)
			return tacet_complain(request->message, -EBUSY, "cpu %u: job %s has it", cpu,
					      tacet_job_numbered(core->job)->id);
		cpumask_set_cpu(cpu, cpus);
	}
	if (cpumask_empty(cpus))
		return tacet_complain(request->message, -EINVAL, "cpus: none given");
	return 0;
}

static u64 memory_of_programs(void)
{
	const struct tacet_memory *memory = tacet_partition.memory;
	u64 bytes = 0;
	unsigned int i;

	for (i = 0; memory && i < memory->block_count; i++)
		bytes += (u64)memory->blocks[i].count << PAGE_SHIFT;
	return bytes;
}

static u64 promised_memory(void)
{
	struct tacet_job *job;
	u64 promised = 0;

	for (job = tacet_job_after(NULL); job; job = tacet_job_after(job))
		promised += job->memory;
	return promised;
}

u64 tacet_jobs_unpromised(void)
{
	u64 all = memory_of_programs();

	return all - min(all, promised_memory());
}

static int check_memory(struct tacet_job_begin *request)
{
	u64 all = memory_of_programs(), promised = promised_memory();

	if (request->job.memory <= all - min(all, promised))
		return 0;
	return tacet_complain(request->message, -ENOMEM,
			      "job %s: programs can have %llu MiB, of which other jobs have %llu MiB", request->job.id,
			      all >> 20, promised >> 20);
}

static bool same_cpus(const u64 *words, const struct cpumask *cpus)
{
	unsigned int cpu;

	for (cpu = 0; cpu < TACET_MAX_CPUS; cpu++)
		if ((words[cpu / 64] >> (cpu % 64) & 1) != (cpu < nr_cpu_ids && cpumask_test_cpu(cpu, cpus)))
			return false;
	return true;
}

/* 0: the job has begun as the request says. */
static int compare(struct tacet_job_begin *request, const struct tacet_job *job)
{
	const char *what = NULL;

	if (job->ending)
		return tacet_complain(request->message, -EBUSY, "job %s: it is ending", job->id);
	if (!uid_eq(job->user, make_kuid(current_user_ns(), request->job.uid)))
		what = "user";
	else if (!same_cpus(request->job.cpus, &job->cpus))
		what = "CPUs";
	else if (request->job.memory != job->memory)
		what = "memory";
	else if (strcmp(request->job.group, job->group))
		what = "control group";
	if (!what)
		return 0;
	return tacet_complain(request->message, -EEXIST, "job %s: it has begun with other arguments: %s", job->id, what);
}

/* 0: TACET_JOBS have begun. */
static unsigned int free_number(void)
{
	unsigned int number;

	for (number = 1; number <= TACET_JOBS; number++)
		if (!tacet_job_numbered(number) && !tacet_apart_holds(number))
			return number;
	return 0;
}

static int fill(struct tacet_job *job, struct tacet_job_begin *request, struct tacet_resize *missing)
{
	kref_init(&job->references);
	INIT_LIST_HEAD(&job->runs);
	strscpy(job->id, request->job.id, sizeof(job->id));
	strscpy(job->group, request->job.group, sizeof(job->group));
	job->memory = request->job.memory;
	job->user = make_kuid(current_user_ns(), request->job.uid);
	job->number = free_number();
	if (!uid_valid(job->user))
		return tacet_complain(request->message, -EINVAL, "user %u: unknown here", request->job.uid);
	if (!job->number)
		return tacet_complain(request->message, -ENOSPC, "jobs: there are %u already", TACET_JOBS);
	return read_cpus(request, &job->cpus, missing) ?: check_memory(request);
}

static void set_limit(const struct tacet_job *job)
{
	struct tacet_memory *memory = tacet_partition.memory;

	if (!memory)
		return;
	memory->jobs[job->number - 1] =
		(struct tacet_job_memory){ .limit = job->memory >> PAGE_SHIFT };
}

/* The CPUs are here: threads without a job leave them. */
static int clear_cpus(struct tacet_job *job, struct tacet_job_begin *request)
{
	int error = tacet_cores_desert(&job->cpus, true);
	if (error)
		return tacet_complain(request->message, error,
				      "job %s: threads without a job are on its CPUs, and have no other ones", job->id);
	error = tacet_cores_await_deserted(&job->cpus, request->message);
	if (error)
		tacet_cores_join(&job->cpus);
	return error;
}

/* The job does not begin: the CPUs that joined for it leave again. If they cannot, they are kept as after a job. */
static void undo_growth(const struct tacet_job *job, struct tacet_resize *grown)
{
	if (!tacet_partition_shrink(grown))
		return;
	tacet_cores_lend(grown->cpus);
	tacet_cores_keep(&job->cpus);
}

static int begin(struct tacet_job *job, struct tacet_job_begin *request, struct tacet_resize *missing)
{
	int error = fill(job, request, missing);
	bool grows;

	if (error)
		return error;
	grows = memchr_inv(missing->cpus, 0, sizeof(missing->cpus));
	error = grows ? tacet_partition_grow(missing) : 0;
	if (error) {
		strscpy(request->message, missing->message, sizeof(request->message));
		return error;
	}
	set_limit(job);
	error = clear_cpus(job, request);
	if (!error) {
		error = tacet_apart_begin(job);
		if (error)
			tacet_cores_join(&job->cpus);
	}
	if (error) {
		if (grows)
			undo_growth(job, missing);
		return error;
	}
	tacet_cores_lend(missing->cpus);
	tacet_cores_use(&job->cpus);
	tacet_job_enter(job);
	tacet_report(TACET_LOG_INFO, "job %s: begins on cpus %*pbl%s", job->id, cpumask_pr_args(&job->cpus),
		     job->apart ? ", apart" : "");
	return 0;
}

static bool terminated(const char *text, size_t bytes)
{
	return strnlen(text, bytes) < bytes;
}

int tacet_job_begin(struct tacet_job_begin *request)
{
	struct tacet_resize *missing;
	struct tacet_job *job;
	int error;

	lockdep_assert_held(&tacet_control_lock);
	if (tacet_partition.state != TACET_PARTITION_UP || tacet_partition.failed)
		return tacet_complain(request->message, -ENODEV, "partition: none is up");
	if (!tacet_job_id_valid(request->job.id) || !terminated(request->job.group, sizeof(request->job.group)) ||
	    request->job.memory % PAGE_SIZE)
		return -EINVAL;
	job = tacet_job_named(request->job.id);
	if (job)
		return compare(request, job);
	job = kzalloc(sizeof(*job), GFP_KERNEL);
	missing = kzalloc(sizeof(*missing), GFP_KERNEL);
	error = job && missing ? begin(job, request, missing) : -ENOMEM;
	if (error)
		kfree(job);
	kfree(missing);
	return error;
}

/* What is left of a job. */
struct rest {
	const struct tacet_job *job;
	int signal;			/* to each process; 0: none */
	unsigned int processes, threads;
	pid_t last;
};

static void signal_one(struct tacet_hosted *hosted, void *data)
{
	struct tacet_process *process = READ_ONCE(hosted->process);
	struct rest *rest = data;

	if (!process || process->job != rest->job)
		return;
	rest->threads++;
	rest->last = task_tgid_nr(hosted->task);
	if (process->signalled == rest->signal || !rest->signal)
		return;
	process->signalled = rest->signal;
	rest->processes++;
	kill_pid(process->tgid, rest->signal, 1);
}

static bool is_empty(struct rest *rest)
{
	rest->threads = 0;
	tacet_for_each_hosted(signal_one, rest);
	return !rest->threads && !tacet_hosted_ends_of(rest->job->number) &&
	       !tacet_range_count_of(rest->job->number);
}

/* Without the control lock. 0: nothing of the job is left. */
static int await_empty(struct rest *rest, unsigned int patience_ms)
{
	unsigned int waited_ms;

	for (waited_ms = 0; !is_empty(rest); waited_ms += LOOK_MS) {
		if (READ_ONCE(rest->job->gone))
			return 0;
		if (waited_ms >= patience_ms)
			return -ETIMEDOUT;
		if (fatal_signal_pending(current))
			return -EINTR;
		msleep(LOOK_MS);
	}
	return 0;
}

static int empty(const struct tacet_job *job, struct tacet_job_end *request)
{
	struct rest rest = { .job = job, .signal = SIGTERM };
	int error = await_empty(&rest, request->grace_ms);

	if (error != -ETIMEDOUT)
		return error;
	rest.signal = SIGKILL;
	rest.processes = 0;
	error = await_empty(&rest, KILL_PATIENCE_MS);
	request->killed = rest.processes;
	if (error == -ETIMEDOUT)
		tacet_complain(request->message, error, "job %s: process %d does not end", job->id, rest.last);
	return error;
}

/* As sets of CPUs stand in requests. */
void tacet_write_cpus(const struct cpumask *cpus, u64 *words)
{
	unsigned int cpu;

	for_each_cpu(cpu, cpus)
		words[cpu / 64] |= BIT_ULL(cpu % 64);
}

/* Its CPUs become Linux's. If they cannot, they are the partition's still, and the lent ones are kept. */
static void return_cpus(const struct tacet_job *job, struct tacet_job_end *request)
{
	struct tacet_resize *resize = kzalloc(sizeof(*resize), GFP_KERNEL);

	if (resize) {
		tacet_write_cpus(&job->cpus, resize->cpus);
		request->returned = !tacet_partition_shrink(resize);
		strscpy(request->message, resize->message, sizeof(request->message));
	}
	if (!request->returned)
		tacet_cores_keep(&job->cpus);
	kfree(resize);
}

/* The job has ended: the request says whether Linux, the partition or the next job has its CPUs now. */
static void leave_cpus(const struct tacet_job *job, struct tacet_job_end *request)
{
	if (request->flags & TACET_JOB_RETURN)
		return_cpus(job, request);
	else if (request->flags & TACET_JOB_KEEP)
		tacet_cores_keep(&job->cpus);
	else
		tacet_cores_own(&job->cpus);
}

/* The job is empty and takes nobody in. If no program is left in the partition, what programs had
 * there is cleared. */
static int finish(struct tacet_job *job, struct tacet_job_end *request)
{
	int error = 0;

	do {
		if (mutex_lock_killable(&tacet_control_lock))
			return -EINTR;
		if (!job->gone) {
			error = job->apart ? tacet_apart_end(job) : tacet_users_leave();
			if (!error) {
				tacet_report(TACET_LOG_INFO, "job %s: has ended", job->id);
				tacet_job_leave(job);
				tacet_cores_join(&job->cpus);
				leave_cpus(job, request);
			}
		}
		mutex_unlock(&tacet_control_lock);
	} while (error == -EAGAIN && !fatal_signal_pending(current));
	return error == -EAGAIN ? -EINTR : error;
}

int tacet_job_end(struct tacet_job_end *request)
{
	struct tacet_job *job;
	int error;

	request->ended = 0;
	request->killed = 0;
	request->returned = 0;
	memset(request->cpus, 0, sizeof(request->cpus));
	if (!tacet_job_id_valid(request->id) || request->flags & ~(TACET_JOB_RETURN | TACET_JOB_KEEP) ||
	    request->flags == (TACET_JOB_RETURN | TACET_JOB_KEEP) || request->grace_ms > LONGEST_GRACE_MS)
		return -EINVAL;
	if (mutex_lock_killable(&tacet_control_lock))
		return -EINTR;
	job = tacet_job_named(request->id);
	if (job) {
		kref_get(&job->references);
		tacet_job_close(job);
	}
	mutex_unlock(&tacet_control_lock);
	if (!job)
		return 0;
	tacet_write_cpus(&job->cpus, request->cpus);
	request->ended = 1;
	error = empty(job, request) ?: finish(job, request);
	tacet_job_put(job);
	return error;
}

/* The partition ends; it hosts nothing. */
void tacet_jobs_drop(void)
{
	struct tacet_job *job;

	lockdep_assert_held(&tacet_control_lock);
	while ((job = tacet_job_after(NULL))) {
		tacet_apart_drop(job);
		tacet_job_leave(job);
	}
}
