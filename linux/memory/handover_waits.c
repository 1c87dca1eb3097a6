// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that wait on Linux for a shared futex in a range (one that is not private:
 * pthread_join() has one). Linux identifies such a futex by its page, not by its address:
 * after the hand-over the page is another one, and a wake-up would not find them.
 *
 * Called by memory/handover.c when no thread can reach the old pages any more. Each wait is
 * interrupted as by a signal without a handler: Linux restarts it with the new pages, and it
 * reads the word again.
 */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <uapi/linux/futex.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "arch/arch.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

static void interrupted(struct callback_head *work)
{
	kfree(work);
	module_put(THIS_MODULE);
}

/* The registers are those of a task that may wait for a futex in @range. */
static bool wait_in(struct task_struct *task, const struct pt_regs *regs, const struct tacet_range *range)
{
	u64 word = sizeof(u32);

	switch (tacet_call_number(syscall_get_nr(task, (struct pt_regs *)regs))) {
	case __NR_futex:	/* it may have been moved to the second address */
		return !(regs->si & FUTEX_PRIVATE_FLAG) &&
		       (tacet_range_covers(range, regs->di, word) ||
			tacet_range_covers(range, regs->r8, word));
	case NR_FUTEX_WAIT:
		return tacet_range_covers(range, regs->di, word);
	case NR_FUTEX_WAITV:
		return true;
	}
	return false;
}

/*
 * The task uses the range's memory, and may wait for a futex there. A task that exits parts with
 * its memory under this lock, and with its stack, where its registers are, after that. (Linux
 * exports no function that lets go of a stack that try_get_task_stack() has kept.)
 */
static bool waits_in(struct task_struct *task, const struct tacet_range *range)
{
	bool waits = false;

	if (task->flags & PF_KTHREAD)
		return false;
	task_lock(task);
	if (task->mm == range->mm)
		waits = wait_in(task, task_pt_regs(task), range);
	task_unlock(task);
	return waits;
}

/* False: no memory. In an RCU read section. */
static bool interrupt_wait(struct task_struct *task)
{
	struct callback_head *work = kmalloc(sizeof(*work), GFP_ATOMIC | __GFP_NOWARN);

	if (!work)
		return false;
	__module_get(THIS_MODULE);
	init_task_work(work, interrupted);
	if (task_work_add(task, work, TWA_SIGNAL))
		interrupted(work);	/* it ends */
	return true;
}

/* Sleeps. A second interruption does no harm. */
void tacet_handover_restart_waits(struct tacet_range *range)
{
	struct task_struct *process, *task;
	bool done;

	for (;;) {
		done = true;
		rcu_read_lock();
		for_each_process_thread(process, task)
			if (READ_ONCE(task->mm) == range->mm && task != current && waits_in(task, range))
				done &= interrupt_wait(task);
		rcu_read_unlock();
		if (done)
			return;
		schedule_timeout_uninterruptible(1);
	}
}
