// SPDX-License-Identifier: GPL-2.0
/*
 * Users of the partition. On a processor where one program can read what belongs to another
 * (TACET_MEASURE_ONE_USER), the partition hosts the programs of one user at a time, because
 * every core maps the memory of all of them. Before another user's first program everything
 * that the former user's programs had there is cleared.
 *
 * Not so the programs of a job that is kept apart: its cores map its own memory alone, so that
 * several users' jobs run at once. But the cores of other programs map everything: while there is
 * such a job, only its user has other programs, and none of it starts beside another user's.
 *
 * Two programs have the same user if their real, effective and saved user ids agree: Linux
 * then lets one trace the other, so there is nothing to keep apart. A program that its own
 * user may not trace is not hosted on such a processor. The ids are the kernel's own, which
 * mean the same in each user namespace: the ranks of a job in containers of the user's own
 * belong to one user.
 *
 * Called by doors/requests.c before it hosts a task, by process/hosted.c, and by delegate/ in
 * the thread's own context before each stay on a core: a program can change its user.
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched/task.h>
#include <linux/sizes.h>

#include "arch/arch.h"
#include "compat.h"
#include "memory/memory.h"
#include "process/process.h"
#include "tacet.h"

#define STEP_FRAMES (SZ_512M >> PAGE_SHIFT)	/* a tenth of a second, in which other requests wait */
#define RESCHEDULE_FRAMES (SZ_2M >> PAGE_SHIFT)
#define LEAVE_PATIENCE_MS 5000

/* The user whose programs are hosted, or were hosted last. Changed with the control lock and
 * the hosted lock held, when nothing is hosted. While there is none, nobody is hosted. */
static struct {
	bool any;
	kuid_t real, effective, saved;
} user;

/* What the next user's clearing has done while there is no user: whole blocks, and frames of
 * the block after them. Control lock. */
static unsigned int blocks_done;
static unsigned long frames_done;
static u64 clean_taken;	/* frames that programs had ever taken when all were clear; NEVER_CLEAN */
static u64 apart_taken;	/* that programs of ended jobs took which were kept apart, and are clear again */
#define NEVER_CLEAN U64_MAX

static bool one_user(void)
{
	return tacet_partition.measures & TACET_MEASURE_ONE_USER;
}

static bool is_user(const struct cred *cred)
{
	return user.any && uid_eq(cred->uid, user.real) && uid_eq(cred->euid, user.effective) &&
	       uid_eq(cred->suid, user.saved);
}

/* All its user ids are @id. */
static bool is_only(const struct cred *cred, kuid_t id)
{
	return uid_eq(cred->uid, id) && uid_eq(cred->euid, id) && uid_eq(cred->suid, id);
}

/* Jobs may be kept apart, since users have to be. */
bool tacet_users_apart(void)
{
	return one_user();
}

/* A partition begins. Its frames have what Linux's users left there, unless Linux clears
 * memory that it hands out or gets back. */
void tacet_users_begin(void)
{
	lockdep_assert_held(&tacet_control_lock);
	user.any = false;
	blocks_done = 0;
	frames_done = 0;
	apart_taken = 0;
	clean_taken = want_init_on_alloc(GFP_KERNEL) || want_init_on_free() ? 0 : NEVER_CLEAN;
}

/* Memory that comes to the cores has to be cleared: it has what Linux's programs left there. */
bool tacet_users_want_clean(void)
{
	return one_user() && !want_init_on_alloc(GFP_KERNEL) && !want_init_on_free();
}

/* For status: TACET_NO_USER, or the user as the caller's namespace has it. */
u32 tacet_users_current(void)
{
	return one_user() && user.any ? from_kuid_munged(current_user_ns(), user.real) : TACET_NO_USER;
}

/* The partition may host @task, in @job or in none. Any context. */
bool tacet_user_fits(struct task_struct *task, const struct tacet_job *job)
{
	bool fits;

	if (!one_user())
		return true;
	rcu_read_lock();
	fits = job && job->apart ? is_only(__task_cred(task), job->user) : is_user(__task_cred(task));
	rcu_read_unlock();
	return fits;
}

/* The calling thread may go to a core: its program may have changed its user, or hidden from
 * it, since it was hosted. */
bool tacet_user_still_fits(void)
{
	const struct tacet_process *process;
	const struct tacet_hosted *hosted;
	bool fits;

	if (!one_user())
		return true;
	/* Nobody else changes which memory and which ids the thread has. */
	rcu_read_lock();
	fits = tacet_dumpable(current);
	hosted = tacet_hosted_of(current);
	process = hosted ? READ_ONCE(hosted->process) : NULL;
	fits = fits && tacet_user_fits(current, process ? process->job : NULL);
	rcu_read_unlock();
	return fits;
}

/*
 * What the cores find for the calling thread: threads with the same number need nothing done
 * between them. A user's programs have his number. A program has a number of its own, which
 * no other program ever has, if it asked for protection against the others
 * (PR_SPEC_INDIRECT_BRANCH), if its ids differ, and if the measures say so.
 */
u64 tacet_user_number(void)
{
	const struct cred *cred = current_cred();

	if (tacet_partition.measures & TACET_MEASURE_EACH_PROGRAM || tacet_state_apart() ||
	    !uid_eq(cred->uid, cred->euid) || !uid_eq(cred->uid, cred->suid))
		return tacet_state_program();
	return BIT_ULL(63) | __kuid_val(cred->uid);
}

static void find_any(struct tacet_hosted *hosted, void *found)
{
	if (!tacet_job_maps(hosted->job))
		*(bool *)found = true;
}

/* Nothing of a program is in the memory that all cores map: no thread, no range, no frame that Linux uses. */
static bool deserted(void)
{
	return !tacet_hosted_any_of_all() && !tacet_range_any_of_all() && !tacet_held_any();
}

/* The last program may have ended just now: its end takes some milliseconds. */
static int refuse_or_wait(unsigned int waited_ms)
{
	bool any = false;

	tacet_for_each_hosted(find_any, &any);
	return any || waited_ms > LEAVE_PATIENCE_MS ? -EUSERS : -EAGAIN;
}

/* From here on nobody is hosted: neither on request nor at birth. False: somebody is. */
static bool drop_user(void)
{
	bool empty;

	spin_lock_irq(&tacet_hosted_lock);
	empty = !tacet_hosted_of_all_locked();
	if (empty)
		user.any = false;
	spin_unlock_irq(&tacet_hosted_lock);
	blocks_done = 0;
	frames_done = 0;
	return empty;
}

static void set_user(const struct cred *cred)
{
	spin_lock_irq(&tacet_hosted_lock);
	user.real = cred->uid;
	user.effective = cred->euid;
	user.saved = cred->suid;
	user.any = true;
	spin_unlock_irq(&tacet_hosted_lock);
}

/* So many frames the cores on @cpus, or all, have ever given to programs. */
static u64 taken_on(const struct cpumask *cpus)
{
	const struct tacet_core *core;
	u64 taken = 0;

	for (core = tacet_partition.cores; core < tacet_partition.cores + tacet_partition.core_count; core++)
		if (!cpus || cpumask_test_cpu(core->cpu, cpus))
			taken += READ_ONCE(core->shared->frames_taken);
	return taken;
}

/* Of these, those that are not clear again and have not gone to a job that is kept apart now. */
static u64 frames_taken(void)
{
	const struct tacet_job *job;
	u64 apart = apart_taken;

	for (job = tacet_job_after(NULL); job; job = tacet_job_after(job))
		if (job->apart)
			apart += taken_on(&job->cpus) - job->taken_before;
	return taken_on(NULL) - apart;
}

/* Clears at most STEP_FRAMES frames. A bad one raises a machine check, and Linux may have
 * unmapped it; no program gets it. -EAGAIN: there are more. */
static int clear_frames(const struct tacet_memory *memory)
{
	bool owned = tacet_jobs_own(blocks_done < memory->block_count ?
				    memory->blocks[blocks_done].first + frames_done : 0);
	unsigned long i;

	for (i = 0; i < STEP_FRAMES && blocks_done < memory->block_count; i++) {
		const struct tacet_frames *block = &memory->blocks[blocks_done];
		u64 frame = block->first + frames_done;

		if (frames_done >= block->count) {
			blocks_done++;
			frames_done = 0;
			continue;
		}
		/* Programs of a job that is kept apart may run. */
		if (!(frame % RESCHEDULE_FRAMES) || !frames_done)
			owned = tacet_jobs_own(frame);
		if (!owned && !tacet_bad_has(frame))
			clear_page(pfn_to_kaddr(frame));
		frames_done++;
		if (i % RESCHEDULE_FRAMES == 0)
			cond_resched();
	}
	return blocks_done < memory->block_count ? -EAGAIN : 0;
}

/*
 * Clears what programs left: all frames, which are free, and all contexts. There is no user, so
 * no core takes a frame, even while the caller lets go of the control lock between two steps.
 * The cores clear their stacks and what the processor holds when they load the next user's
 * first thread: its number is another one.
 */
static int clear(void)
{
	const struct tacet_memory *memory = tacet_partition.memory;
	u64 taken = frames_taken();
	unsigned int i;

	if (memory && taken != clean_taken && clear_frames(memory))
		return -EAGAIN;
	clean_taken = taken;
	for (i = 0; i < tacet_partition.context_count; i++) {
		if (!tacet_partition.context_jobs[i])
			memset(&tacet_partition.contexts[i], 0, sizeof(tacet_partition.contexts[i]));
		cond_resched();
	}
	return 0;
}

/*
 * A job has ended. If nothing of a program is left, what programs had is cleared, and the partition
 * is nobody's: the next user does not wait for that. -EAGAIN: there is more to clear; the caller
 * lets go of the control lock and asks again.
 */
int tacet_users_leave(void)
{
	lockdep_assert_held(&tacet_control_lock);
	if (!one_user() || !deserted() || (user.any && !drop_user()))
		return 0;
	return clear();
}

/* Nothing of any program is left in frames that are free. */
bool tacet_users_all_clear(void)
{
	lockdep_assert_held(&tacet_control_lock);
	return clean_taken == frames_taken();
}

/* @job's cores map its memory alone from here on; it has no program yet. */
void tacet_users_part(struct tacet_job *job)
{
	lockdep_assert_held(&tacet_control_lock);
	job->taken_before = taken_on(&job->cpus);
	job->apart = true;
}

/* What programs of @job had is for all again; @clear: and has nothing of them. */
void tacet_users_rejoin(struct tacet_job *job, bool clear)
{
	lockdep_assert_held(&tacet_control_lock);
	job->apart = false;
	if (clear) {
		apart_taken += taken_on(&job->cpus) - job->taken_before;
		return;
	}
	/* The clearing may have gone past it. */
	blocks_done = 0;
	frames_done = 0;
}

/* No core that maps all memory hosts another user's program than @cred's, nor will it. */
static int admit_apart(const struct cred *cred, const struct tacet_job *job, unsigned int waited_ms)
{
	if (!is_only(cred, job->user))
		return -EUSERS;
	if (user.any && !is_user(cred) && (!deserted() || !drop_user()))
		return refuse_or_wait(waited_ms);
	return 0;
}

/* The memory of a job that is kept apart is mapped by the cores of all other programs. */
static bool is_beside_other(const struct cred *cred)
{
	const struct tacet_job *job;

	for (job = tacet_job_after(NULL); job; job = tacet_job_after(job))
		if (job->apart && !is_only(cred, job->user))
			return true;
	return false;
}

static int admit(const struct cred *cred, unsigned int waited_ms)
{
	int error = 0;

	if (is_beside_other(cred))
		return -EUSERS;
	if (is_user(cred))
		return 0;
	/* Without a user Linux may still use frames of a job that was kept apart. */
	if (user.any ? !deserted() || !drop_user() : tacet_held_any())
		error = refuse_or_wait(waited_ms);
	error = error ?: clear();
	if (!error)
		set_user(cred);
	return error;
}

/*
 * @task is about to be hosted on request, in @job or in none: the partition becomes that of its user.
 * -EUSERS: another user's programs are there. -EAGAIN: the caller lets go of the control lock, sleeps a
 * moment, looks whether the partition is still up, and asks again; it has waited @waited_ms in
 * that way. If it does not ask again, the next one continues the clearing.
 */
int tacet_user_admit(struct task_struct *task, const struct tacet_job *job, unsigned int waited_ms)
{
	const struct cred *cred;
	int error;

	lockdep_assert_held(&tacet_control_lock);
	if (!one_user())
		return 0;
	cred = get_task_cred(task);
	error = job && job->apart ? admit_apart(cred, job, waited_ms) : admit(cred, waited_ms);
	put_cred(cred);
	return error;
}
