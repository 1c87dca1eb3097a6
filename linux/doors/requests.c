// SPDX-License-Identifier: GPL-2.0
/*
 * Decoupling and recoupling on request: from the device and from sysfs.
 *
 * Checks whether the caller may do that to the thread or process; process/hosted.c does it.
 * Process context.
 */
#include <linux/delay.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "compat.h"
#include "delegate/delegate.h"
#include "doors/doors.h"
#include "process/process.h"
#include "tacet.h"

#define LEAVE_PATIENCE_MS 30000

static bool can_be_hosted(struct task_struct *task)
{
	return !(task->flags & (PF_KTHREAD | PF_EXITING | PF_IO_WORKER)) && task->mm;
}

/* Turns a request's words into a mask of those CPUs that programs of @job may use, or of no job. */
static int allowed_cpus(const u64 *words, const struct tacet_job *job, struct cpumask *cpus)
{
	const struct cpumask *reach = job ? &job->cpus : &tacet_partition.free;
	unsigned int cpu;

	cpumask_clear(cpus);
	for (cpu = 0; cpu < TACET_MAX_CPUS; cpu++) {
		if (!(words[cpu / 64] >> (cpu % 64) & 1))
			continue;
		if (cpu >= nr_cpu_ids || !cpumask_test_cpu(cpu, reach))
			return -EINVAL;
		cpumask_set_cpu(cpu, cpus);
	}
	if (cpumask_empty(cpus))
		cpumask_copy(cpus, reach);
	return 0;
}

/* Adds to @terms what @request asks for besides CPUs. */
static int fill_terms(struct tacet_terms *terms, struct file *file,
		      const struct tacet_host_self *request)
{
	if (request->flags & TACET_HOST_BIND) {
		terms->order = tacet_order_new(request, terms->cpus);
		if (IS_ERR(terms->order))
			return PTR_ERR(terms->order);
	}
	if (request->flags & TACET_HOST_PROFILE) {
		terms->profile = tacet_profile_of_file(file);
		if (!terms->profile) {
			tacet_order_put(terms->order);
			return -ENOMEM;
		}
	}
	return 0;
}

/* The job that @task's user names @id; or his only one, if that is empty. The caller may control @task. */
static int find_job(struct task_struct *task, const char *id, struct tacet_job **job)
{
	const struct cred *cred = get_task_cred(task);
	int error = tacet_job_find(id, cred->uid, capable(CAP_SYS_ADMIN), job);

	put_cred(cred);
	return error;
}

/*
 * Takes the control lock when the partition is up and hosts programs of @task's user in *@job, which is the
 * one named @id. An error: the lock is not held. Other requests are served while memory is cleared for a new
 * user.
 */
static int lock_for(struct task_struct *task, const char *id, struct tacet_job **job)
{
	unsigned int waited_ms;
	int error;

	for (waited_ms = 0;; waited_ms += 2) {
		if (mutex_lock_killable(&tacet_control_lock))
			return -EINTR;
		error = -ENODEV;
		if (tacet_partition.state == TACET_PARTITION_UP && !tacet_partition.failed)
			error = tacet_tracepoints_on() ?: find_job(task, id, job) ?:
				tacet_user_admit(task, *job, waited_ms);
		if (!error)
			return 0;
		mutex_unlock(&tacet_control_lock);
		if (error != -EAGAIN)
			return error;
		msleep(2);
		if (fatal_signal_pending(current))
			return -EINTR;
	}
}

int tacet_request_host_self(struct file *file, const struct tacet_host_self *request)
{
	struct tacet_terms terms = {
		.flags = request->flags,
		.privileged = tacet_may_host_privileged(),
	};
	struct cpumask *cpus;
	int error;

	if (request->flags & ~(TACET_HOST_FOLLOW | TACET_HOST_POPULATE | TACET_HOST_RANGE |
			       TACET_HOST_BIND | TACET_HOST_PROFILE | TACET_HOST_DATA_IN_RANGE |
			       TACET_HOST_NO_PICO | TACET_HOST_BURSTS) ||
	    request->reserved || strnlen(request->job, sizeof(request->job)) == sizeof(request->job))
		return -EINVAL;
	if (request->flags & TACET_HOST_DATA_IN_RANGE && !(request->flags & TACET_HOST_RANGE))
		return -EINVAL;
	cpus = kmalloc(cpumask_size(), GFP_KERNEL);
	if (!cpus)
		return -ENOMEM;
	error = lock_for(current, request->job, &terms.job);
	if (error)
		goto out;
	terms.cpus = cpus;
	error = allowed_cpus(request->cpus, terms.job, cpus) ?: fill_terms(&terms, file, request);
	if (!error) {
		error = tacet_host(current, NULL, &terms, GFP_KERNEL);
		tacet_order_put(terms.order);
		tacet_profile_put(terms.profile);
	}
	mutex_unlock(&tacet_control_lock);
out:
	kfree(cpus);
	return error;
}

/* Hosts one thread, or moves it if it is hosted. */
static int decouple_thread(struct task_struct *task, struct tacet_job *job, u32 cpu, u32 flags)
{
	struct tacet_terms terms = {
		.cpus = job ? &job->cpus : &tacet_partition.free,
		.job = job,
		.flags = flags,
		.privileged = tacet_may_host_privileged(),
	};
	struct tacet_hosted *hosted;
	int error;

	if (!can_be_hosted(task))
		return -EINVAL;
	error = tacet_host(task, NULL, &terms, GFP_ATOMIC);
	if (error == -EALREADY)
		error = 0;
	if (error || cpu == TACET_ANY_CPU)
		return error;
	hosted = tacet_hosted_get(task);
	if (!hosted)
		return -ESRCH;
	error = tacet_move(hosted, cpu);
	tacet_hosted_put(hosted);
	return error;
}

static struct task_struct *find_task(pid_t pid)
{
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(find_vpid(pid), PIDTYPE_PID);
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	return task;
}

/* All threads of @task's process. Those that are born meanwhile are hosted at birth. */
static int decouple_process(struct task_struct *task, struct tacet_job *job, u32 cpu, u32 flags)
{
	struct task_struct *thread;
	int error = 0, result;

	rcu_read_lock();
	for_each_thread(task, thread) {
		if (thread->flags & PF_EXITING)
			continue;
		result = decouple_thread(thread, job, thread == task ? cpu : TACET_ANY_CPU, flags);
		if (result && !error)
			error = result;
	}
	rcu_read_unlock();
	return error;
}

/* Programs of @job may use it, or those of no job. */
static bool is_here(const struct tacet_job *job, u32 cpu)
{
	return cpu < nr_cpu_ids && cpumask_test_cpu(cpu, job ? &job->cpus : &tacet_partition.free);
}

int tacet_request_decouple(pid_t pid, u32 cpu, u32 flags)
{
	u32 host_flags = flags & TACET_DECOUPLE_FOLLOW ? TACET_HOST_FOLLOW : 0;
	struct tacet_job *job = NULL;
	struct task_struct *task;
	int error;

	if (flags & ~(TACET_DECOUPLE_THREAD | TACET_DECOUPLE_FOLLOW))
		return -EINVAL;
	task = find_task(pid);
	if (!task)
		return -ESRCH;
	/* Who may not host it may not make the partition that of its user either. */
	error = tacet_may_control(task) ? lock_for(task, "", &job) : -EPERM;
	if (error)
		goto out;
	if (!tacet_may_control(task))	/* meanwhile it may have become another program */
		error = -EPERM;
	if (!error && cpu != TACET_ANY_CPU && !is_here(job, cpu))
		error = -EINVAL;
	if (!error && flags & TACET_DECOUPLE_THREAD)
		error = decouple_thread(task, job, cpu, host_flags);
	else if (!error)
		error = decouple_process(task, job, cpu, host_flags);
	mutex_unlock(&tacet_control_lock);
out:
	put_task_struct(task);
	return error;
}

/* Tells a hosted thread to go back to Linux. False: it is not hosted. */
static bool recouple_thread(struct task_struct *task)
{
	struct tacet_hosted *hosted = tacet_hosted_get(task);

	if (!hosted)
		return false;
	tacet_want(hosted, TACET_WANT_LEAVE);
	tacet_unhost_unparked(hosted);
	tacet_hosted_put(hosted);
	return true;
}

static bool still_hosted(struct task_struct *task, bool whole)
{
	struct task_struct *thread;
	bool found;

	rcu_read_lock();
	found = tacet_hosted_of(task);
	if (whole)
		for_each_thread(task, thread)
			found |= tacet_hosted_of(thread) != NULL;
	rcu_read_unlock();
	/* The next request, perhaps `down`, must find nothing of it. */
	return found || tacet_hosted_ends(task, whole);
}

static bool recouple_process(struct task_struct *task, bool whole)
{
	struct task_struct *thread;
	bool found;

	if (!whole)
		return recouple_thread(task);
	found = recouple_thread(task);
	rcu_read_lock();
	for_each_thread(task, thread)
		found |= recouple_thread(thread);
	rcu_read_unlock();
	return found;
}

int tacet_request_recouple(pid_t pid, u32 flags)
{
	bool whole = !(flags & TACET_DECOUPLE_THREAD);
	struct task_struct *task;
	unsigned int waited_ms = 0;
	int error = 0;

	if (flags & ~TACET_DECOUPLE_THREAD)
		return -EINVAL;
	task = find_task(pid);
	if (!task)
		return -ESRCH;
	if (!tacet_may_control(task))
		error = -EPERM;
	else if (!recouple_process(task, whole))
		error = -ESRCH;
	/* The calling thread itself leaves when this call ends: no wait for its process. */
	while (!error && task->tgid != current->tgid && still_hosted(task, whole)) {
		if (schedule_timeout_interruptible(msecs_to_jiffies(2)) && signal_pending(current))
			error = -EINTR;
		waited_ms += 2;
		if (waited_ms > LEAVE_PATIENCE_MS)
			error = -ETIMEDOUT;
		recouple_process(task, whole);
	}
	put_task_struct(task);
	return error;
}
