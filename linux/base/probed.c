// SPDX-License-Identifier: GPL-2.0
/*
 * Which tasks' system calls our probes see. Linux calls the probes of sys_enter and sys_exit for tasks that
 * have a bit set. It sets the bit for all tasks when the first probe comes, and a child inherits it. A task
 * that does not matter to us clears its own at the end of its next call (delegate/strangers.c), and from then
 * on its calls cost what they cost without us.
 *
 * Called by whoever makes a task matter: base/hosted.c, border/space.c, pico/linux/enter.c and
 * delegate/strangers.c. Never clears a bit: only a task itself does.
 *
 * TRICK the bit of call tracepoints in each task: Linux means it for all tasks or none; strangers do without.
 * BREAKS a kernel that keeps it elsewhere, or sets it again for all at other moments.
 * NOTICED scenarios `strangers.sh`; `make bench BENCH=forward`, `tracepoint_tax_instructions`.
 */
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/thread_info.h>

#include "base/probed.h"

static bool everyone = true;
static unsigned long asked = INITIAL_JIFFIES - 3600 * HZ;	/* in jiffies: when everyone's were */

void tacet_probe_task(struct task_struct *task)
{
	set_task_syscall_work(task, SYSCALL_TRACEPOINT);
}

/* Those of @mm, or all. A task that is born meanwhile is the parent's (tacet_strangers_born()). */
static void probe_all(const struct mm_struct *mm)
{
	struct task_struct *process, *task;

	/* Pairs with a task that clears its bit, then looks again whether it matters. */
	smp_mb();
	rcu_read_lock();
	for_each_process_thread(process, task)
		if (!mm || READ_ONCE(task->mm) == mm)
			tacet_probe_task(task);
	rcu_read_unlock();
}

void tacet_probe_memory(struct mm_struct *mm)
{
	if (atomic_read(&mm->mm_users) > 1)
		probe_all(mm);
}

void tacet_probe_everyone(void)
{
	WRITE_ONCE(asked, jiffies);
	WRITE_ONCE(everyone, true);
	probe_all(NULL);
}

bool tacet_probes_everyone(void)
{
	return READ_ONCE(everyone);
}

bool tacet_probe_relax(unsigned long ticks)
{
	if (time_before(jiffies, READ_ONCE(asked) + ticks))
		return false;
	WRITE_ONCE(everyone, false);
	/* Pairs with whoever publishes a need, then looks whether everyone's calls are seen. */
	smp_mb();
	return true;
}
