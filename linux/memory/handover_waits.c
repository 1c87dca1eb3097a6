// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that wait on Linux for a word of a range's by which processes could wait for
 * each other (a futex that is not private: pthread_join() has one). Linux finds those by
 * the page, not by the address: once the memory is Linux's own, who wakes looks for them
 * elsewhere.
 *
 * Called by memory/handover.c when no thread finds the old pages any more. Each wait is
 * interrupted as by a signal without a handler: Linux starts it again, with the pages
 * there are then, and it looks at the word once more.
 */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <uapi/linux/futex.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

static void interrupted(struct callback_head *work)
{
	kfree(work);
	module_put(THIS_MODULE);
}

/* What it waits for may be in @range; other calls' arguments are not known well enough
 * to leave them out. */
static bool waits_in(struct task_struct *task, const struct tacet_range *range)
{
	const struct pt_regs *regs = task_pt_regs(task);
	u64 word = sizeof(u32);

	switch (syscall_get_nr(task, task_pt_regs(task))) {
	case __NR_futex:	/* the second one is where it is requeued to */
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

/* False: no memory. RCU. */
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

/* Sleeps. Twice does no harm. */
void tacet_handover_restart_waits(struct tacet_range *range)
{
	struct task_struct *process, *task;
	bool done;

	for (;;) {
		done = true;
		rcu_read_lock();
		for_each_process_thread(process, task)
			if (READ_ONCE(task->mm) == range->mm && task != current &&
			    !(task->flags & PF_KTHREAD) && waits_in(task, range))
				done &= interrupt_wait(task);
		rcu_read_unlock();
		if (done)
			return;
		schedule_timeout_uninterruptible(1);
	}
}
