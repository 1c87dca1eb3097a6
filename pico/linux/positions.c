// SPDX-License-Identifier: GPL-2.0
/*
 * Positions of open files: cores have that of a granted descriptor while the open file has no
 * other. Linux takes it before each call that names the descriptor or may share the file, and
 * gives it back afterwards.
 *
 * Two calls at the same time, of which one moves the position, are a race on Linux too: it reads
 * the position of a block device at a call's beginning and stores it at its end. So nothing here
 * waits for a call on a core; the core stores the new position where Linux finds it.
 *
 * Called by calls.c in any task's context, in an RCU read section, and by grants.c; never sleeps.
 * Takes the lock of a table of descriptors, then that of the grants: so the file stays open.
 */
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <asm/unistd.h>

#include "border/border.h"
#include "compat.h"
#include "pico/linux/granted.h"
#include "pico/linux/grants.h"
#include "tacet.h"

#define NONE (TACET_PICO_NO_POSITION & ~TACET_PICO_AT_LINUX)

/* The locks are held. The core's position counts, unless Linux has stored one since. */
static void take(struct granted *granted)
{
	u64 position = xchg(&granted->shared->position, TACET_PICO_NO_POSITION) & ~TACET_PICO_AT_LINUX;

	if (position != NONE && granted->file->f_pos == granted->given)
		granted->file->f_pos = position;
	granted->given = granted->file->f_pos;
}

/* The locks are held. */
static void give(struct granted *granted)
{
	loff_t now = granted->file->f_pos;
	u64 old = READ_ONCE(granted->shared->position), new, found;

	for (;;) {
		new = old & TACET_PICO_AT_LINUX ? old & ~TACET_PICO_AT_LINUX : NONE;
		if (!(old & TACET_PICO_AT_LINUX) && now == granted->given)
			return;		/* a core has it, and Linux has not moved it */
		if (new == NONE)
			new = now;
		found = cmpxchg(&granted->shared->position, old, new);
		if (found == old)
			break;
		old = found;
	}
	granted->given = now;
}

/* The locks are held. Nobody else can have the file: no other descriptor, no mapping, no call. */
static void update(struct granted *granted)
{
	if (granted->shared->state == TACET_PICO_GRANT_VALID && file_count(granted->file) == 1)
		give(granted);
	else
		take(granted);
}

struct passing {
	const struct tacet_space_shared *space;
	const struct pt_regs *regs;
	long number;
	struct files_struct *files;	/* its lock is held */
	void (*work)(struct granted *granted);
};

/* The call may use the descriptor, or give what it names to others. */
static bool concerns(const struct pt_regs *regs, long number, int descriptor)
{
	switch (number) {
	case __NR_clone:
	case __NR_clone3:
	case __NR_fork:
	case __NR_vfork:
	case __NR_execve:
	case __NR_execveat:
	case __NR_unshare:
	case __NR_sendmsg:
	case __NR_sendmmsg:
		return true;
	default:
		return (int)regs->di == descriptor || (int)regs->si == descriptor ||
		       (int)regs->dx == descriptor || (int)regs->r10 == descriptor ||
		       (int)regs->r8 == descriptor || (int)regs->r9 == descriptor;
	}
}

static bool still_open(struct files_struct *files, const struct granted *granted)
{
	return files_lookup_fd_locked(files, granted->shared->descriptor) == granted->file;
}

static void pass(struct granted *granted, void *what)
{
	const struct passing *passing = what;

	if (granted->space == passing->space && granted->table == passing->files &&
	    concerns(passing->regs, passing->number, granted->shared->descriptor) &&
	    still_open(passing->files, granted))
		passing->work(granted);
}

static void around_call(struct tacet_space *space, const struct pt_regs *regs, long number,
			void (*work)(struct granted *granted))
{
	struct passing passing = { .regs = regs, .number = number, .work = work,
				   .files = current->files };

	if (!passing.files || !space || !space->shared || !READ_ONCE(space->shared->pico_grants))
		return;
	passing.space = space->shared;
	spin_lock(&passing.files->file_lock);
	tacet_grants_each(pass, &passing);
	spin_unlock(&passing.files->file_lock);
}

void tacet_positions_before_call(struct tacet_space *space, const struct pt_regs *regs, long number)
{
	around_call(space, regs, number, take);
}

void tacet_positions_after_call(struct tacet_space *space, const struct pt_regs *regs, long number)
{
	around_call(space, regs, number, update);
}

struct settling {
	const struct pid *process;
	struct files_struct *files;	/* its lock is held */
};

static void settle(struct granted *granted, void *what)
{
	const struct settling *settling = what;

	if (granted->process == settling->process && granted->table == settling->files && still_open(settling->files, granted))
		take(granted);
}

/* Linux has the positions of all granted files of the process. */
static void settle_process(struct pid *process)
{
	struct settling settling = { .process = process };
	struct task_struct *leader, *task;
	struct files_struct *last = NULL;

	rcu_read_lock();
	leader = pid_task(process, PIDTYPE_TGID);
	if (leader)
		for_each_thread(leader, task) {
			/* Mostly all threads have one. */
			if (READ_ONCE(task->files) == last)
				continue;
			task_lock(task);
			settling.files = task->files;
			if (settling.files) {
				spin_lock(&settling.files->file_lock);
				tacet_grants_each(settle, &settling);
				spin_unlock(&settling.files->file_lock);
				last = settling.files;
			}
			task_unlock(task);
		}
	rcu_read_unlock();
}

struct next {
	const struct pid *after;
	struct pid *process;		/* referenced */
};

/* The process with the lowest address behind the last one: whatever grants come and go meanwhile,
 * none that stays is passed over. */
static void find_next(struct granted *granted, void *what)
{
	struct next *next = what;

	if (granted->process <= next->after || (next->process && granted->process >= next->process))
		return;
	put_pid(next->process);
	next->process = get_pid(granted->process);
}

/* The same of all processes: another one takes a descriptor of theirs. */
void tacet_positions_settle_all(void)
{
	struct next next = {};

	do {
		next = (struct next){ .after = next.process };
		tacet_grants_each(find_next, &next);
		if (next.process)
			settle_process(next.process);
		put_pid(next.process);
	} while (next.process);
}

struct unsettled {
	bool all;
	struct pid *process;		/* referenced */
};

static void find_unsettled(struct granted *granted, void *what)
{
	struct unsettled *unsettled = what;

	if (!unsettled->process && !granted->settled && tacet_granted_over(granted, unsettled->all)) {
		granted->settled = true;
		unsettled->process = get_pid(granted->process);
	}
}

/* No core moves the position of the file of a grant that is over: Linux gets it. */
void tacet_positions_settle_revoked(bool all)
{
	struct unsettled unsettled;

	do {
		unsettled = (struct unsettled){ .all = all };
		tacet_grants_each(find_unsettled, &unsettled);
		if (unsettled.process)
			settle_process(unsettled.process);
		put_pid(unsettled.process);
	} while (unsettled.process);
}
