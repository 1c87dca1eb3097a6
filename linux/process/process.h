/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hosted processes and threads: how they become hosted, which cores they go to, which time
 * they use.
 */
#ifndef TACET_PROCESS_PROCESS_H
#define TACET_PROCESS_PROCESS_H

#include "tacet.h"

struct linux_binprm;

/* CPUs and memory of the partition for the programs of one user. Fixed while it is in the list, but for the last two. */
struct tacet_job {
	struct list_head link;		/* process/jobs.c */
	struct kref references;
	struct rcu_head rcu;
	unsigned int number;		/* from 1; that of the last job that had it is free again */
	char id[TACET_JOB_ID_BYTES];
	char group[TACET_JOB_GROUP_BYTES];
	kuid_t user;
	u64 memory;			/* its limit in bytes, or 0 */
	bool apart;			/* its cores map its memory alone; partition/apart.c. Changes while it has no program */
	bool left;			/* its cores do not map it any more; control lock */
	bool held;			/* Linux used some of its frames when they were cleared at its end; control lock */
	struct list_head runs;		/* of frames that it has for itself; control lock */
	u64 taken_before;		/* what its cores had ever taken when it got them */
	struct cpumask cpus;
	bool ending;			/* control lock */
	bool gone;			/* control lock and hosted lock */
};

/* Frames that a job has for itself. */
struct tacet_job_run {
	struct list_head link;
	u64 first, pages;
	u64 cleared;			/* so many, at the job's end */
};

/* A hosted process: where its threads may go. Reference-counted by them. */
struct tacet_process {
	struct list_head link;		/* hosted lock */
	struct pid *tgid;
	unsigned int threads;		/* hosted lock */
	u32 flags;			/* TACET_HOST_* */
	bool privileged;		/* its programs may be privileged: root asked for it */
	bool guest;			/* hosted up to its next program, for its parent's memory */
	struct cpumask cpus;		/* of threads that come from elsewhere; hosted lock */
	struct tacet_order *order;	/* in which its threads are bound, or NULL; referenced */
	struct tacet_profile *profile;	/* what its threads spend, or NULL; referenced */
	struct tacet_job *job;		/* or NULL; referenced */
	int signalled;			/* the last signal that the job's end has sent; partition/jobs.c */
	struct kobject *directory;	/* in sysfs, or NULL; doors/sysfs.c's mutex */
	bool counted_told;		/* once; by any of its threads */
	struct work_struct free;
};

/* A CPU for the threads of a job, and how many of them have it. */
struct tacet_order_slot {
	struct tacet_core *core;
	unsigned int threads;		/* hosted lock */
};

struct tacet_order {
	struct kref references;
	unsigned int count;
	struct tacet_order_slot slots[];
};

/* The terms on which a process is hosted; @order, @profile and @job may be NULL. */
struct tacet_terms {
	const struct cpumask *cpus;
	u32 flags;			/* TACET_HOST_* */
	bool privileged;		/* also set-user-ID programs and their like */
	bool guest;
	struct tacet_order *order;
	struct tacet_profile *profile;
	struct tacet_job *job;
};

/* process/hosted.c */
int tacet_host(struct task_struct *task, struct task_struct *parent,
	       const struct tacet_terms *terms, gfp_t gfp);
int tacet_host_relative(struct task_struct *task, struct tacet_hosted *relative,
			const struct tacet_process *process, bool guest);
void tacet_lazy_fetch(struct tacet_hosted *hosted);	/* its own context, any */
bool tacet_park_enter(struct tacet_hosted *hosted);
bool tacet_park_leave(struct tacet_hosted *hosted, bool leaves);
void tacet_leave_space(struct tacet_hosted *hosted);
void tacet_unhost_unparked(struct tacet_hosted *hosted);
void tacet_hosted_leave_all(void);

/* process/process.c; the last six under the hosted lock */
struct tacet_process_operations {	/* both sleep */
	void (*came)(struct tacet_process *process);	/* more than once */
	void (*gone)(struct tacet_process *process);
};
void tacet_process_register(const struct tacet_process_operations *operations);
struct tacet_process *tacet_process_new(struct task_struct *task, const struct tacet_terms *terms,
					gfp_t gfp);
void tacet_process_discard(struct tacet_process *process);
void tacet_process_announce(struct tacet_process *process);	/* sleeps */
void tacet_process_end(struct tacet_process *process);
struct tacet_process *tacet_process_of(struct pid *tgid);
void tacet_process_enter(struct tacet_process *process);
void tacet_process_confine(struct tacet_process *process);
void tacet_processes_confine(void);
void tacet_process_join(struct tacet_process *process, struct tacet_hosted *hosted);
struct tacet_process *tacet_process_leave(struct tacet_hosted *hosted);

/* process/arm.c: any context */
void tacet_arm_register(task_work_func_t callback);
void tacet_arm_init(struct tacet_hosted *hosted);
void tacet_arm(struct tacet_hosted *hosted);
void tacet_arm_at_once(struct tacet_hosted *hosted);
void tacet_arm_soon(struct tacet_hosted *hosted, unsigned int ticks);
void tacet_disarm(struct tacet_hosted *hosted);

/* process/burst.c: the thread's own context, but for _init, _expect (before it has run) and _stop (its end) */
void tacet_burst_init(struct tacet_hosted *hosted);
void tacet_burst_expect(struct tacet_hosted *hosted);
bool tacet_burst_continues(struct tacet_hosted *hosted);
bool tacet_burst_call_ended(struct tacet_hosted *hosted);
void tacet_burst_learn(struct tacet_hosted *hosted, u64 ticks);
void tacet_burst_stop(struct tacet_hosted *hosted);

/* process/placement.c: the first three under the hosted lock */
int tacet_take_place(struct tacet_hosted *hosted, const struct tacet_process *process,
		     const struct tacet_hosted *relative);
void tacet_count_place(struct tacet_hosted *hosted);
void tacet_release_core(struct tacet_hosted *hosted);
struct tacet_core *tacet_choose_core(struct tacet_hosted *hosted);
int tacet_move(struct tacet_hosted *hosted, unsigned int cpu);
int tacet_restrict(struct tacet_hosted *hosted, const struct cpumask *cpus);
int tacet_cores_desert(const struct cpumask *leaving, bool for_job);
void tacet_cores_join(const struct cpumask *coming);

/* process/turns.c */
bool tacet_preempts(const struct tacet_core *core, const struct tacet_hosted *hosted);
void tacet_claim_turn(struct tacet_core *core, struct tacet_hosted *hosted);
void tacet_end_turn(struct tacet_core *core);
void tacet_count_turn(struct tacet_hosted *hosted, u64 user_tsc_before);

/* process/order.c */
struct tacet_order *tacet_order_new(const struct tacet_host_self *request,
				    const struct cpumask *cpus);
void tacet_order_put(struct tacet_order *order);
struct tacet_order_slot *tacet_order_next(struct tacet_order *order, const struct cpumask *cpus);

/* process/profile.c */
void tacet_profile_get(struct tacet_profile *profile);
void tacet_profile_put(struct tacet_profile *profile);
struct tacet_profile *tacet_profile_of_file(struct file *file);
void tacet_profile_end(struct tacet_hosted *hosted);	/* hosted lock */
int tacet_read_profile(struct file *file, struct tacet_profile_read *request);

/* process/time.c: any context */
u64 tacet_user_ns(struct tacet_hosted *hosted);
void tacet_charge(struct tacet_hosted *hosted);
bool tacet_owes_group(const struct tacet_hosted *hosted);
void tacet_charge_returned(struct tacet_hosted *hosted, long number);
void tacet_halted(struct tacet_hosted *hosted, u64 ticks, u64 system);	/* the thread's own, preemption off */
bool tacet_cpu_timer_due(struct task_struct *task);

/* process/counted.c: any context */
bool tacet_counted(struct task_struct *task);
void tacet_counted_tell(struct tacet_hosted *hosted);

/* process/access.c: process context; the last one in an RCU read section, while the task is in execve() */
bool tacet_may_control(struct task_struct *task);
bool tacet_may_host_privileged(void);
bool tacet_program_privileged(struct task_struct *task, const struct linux_binprm *program);

/* process/users.c. _begin and _admit sleep, with the control lock held; _still_fits and
 * _number: the thread's own context */
void tacet_users_begin(void);
bool tacet_users_want_clean(void);
int tacet_user_admit(struct task_struct *task, const struct tacet_job *job, unsigned int waited_ms);
bool tacet_user_fits(struct task_struct *task, const struct tacet_job *job);
bool tacet_user_still_fits(void);
u64 tacet_user_number(void);
u32 tacet_users_current(void);

int tacet_users_leave(void);		/* sleeps, with the control lock held */
/* For partition/apart.c; control lock held. */
bool tacet_users_apart(void);
bool tacet_users_all_clear(void);
void tacet_users_part(struct tacet_job *job);
void tacet_users_rejoin(struct tacet_job *job, bool clear);

/* process/jobs.c; control lock held, but for the last four */
struct tacet_job *tacet_job_named(const char *id);
struct tacet_job *tacet_job_numbered(unsigned int number);
struct tacet_job *tacet_job_after(const struct tacet_job *job);
bool tacet_job_id_valid(const char *id);
int tacet_job_find(const char *id, kuid_t user, bool privileged, struct tacet_job **found);
bool tacet_job_shows(const struct tacet_core *core);
bool tacet_jobs_own(u64 frame);
void tacet_job_enter(struct tacet_job *job);
void tacet_job_close(struct tacet_job *job);
void tacet_job_leave(struct tacet_job *job);
void tacet_job_put(struct tacet_job *job);
const struct cpumask *tacet_process_reach(const struct tacet_process *process);
void tacet_job_cpus_mine(struct cpumask *cpus);
bool tacet_job_cpu_mine(unsigned int cpu);

/* process/recall.c: any context; those that await sleep */
void tacet_hosted_recall(struct mm_struct *mm);
int tacet_hosted_await_recalled(struct mm_struct *mm);
void tacet_hosted_return(struct mm_struct *mm);
void tacet_hosted_await_returned(struct mm_struct *mm);
u64 tacet_hosted_root(struct mm_struct *mm);

/* process/watch.c: control lock held, and sleep; the first two: any context */
void tacet_watch_hurry(void);
void tacet_watch_moved(void);
void tacet_watch_start(void);
void tacet_watch_stop(void);

#endif
