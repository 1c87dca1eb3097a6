// SPDX-License-Identifier: GPL-2.0
/*
 * The CPUs as a hosted program sees them: where Linux answers about the proxy's CPU, the
 * program gets the answer about its core.
 *
 * Called by delegate/calls.c at the end of a system call, in the task's context; does not
 * sleep. The call has just touched the same user memory, so the memory is there.
 */
#include <linux/uaccess.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "compat.h"
#include "process/process.h"
#include "view/view.h"

/* The hosted thread @pid of the caller's namespace (0: itself). RCU. */
static struct tacet_hosted *hosted_by_pid(struct tacet_hosted *self, pid_t pid)
{
	struct task_struct *task;

	if (!pid)
		return self;
	task = pid_task(find_vpid(pid), PIDTYPE_PID);
	return task ? tacet_hosted_of(task) : NULL;
}

static void view_getcpu(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	unsigned int cpu = hosted->place.core->cpu, node = hosted->place.core->node;

	if (regs->di)
		copy_to_user_nofault((void __user *)regs->di, &cpu, sizeof(cpu));
	if (regs->si)
		copy_to_user_nofault((void __user *)regs->si, &node, sizeof(node));
}

static void view_getaffinity(struct tacet_hosted *self, struct pt_regs *regs, size_t bytes)
{
	struct tacet_hosted *hosted = hosted_by_pid(self, regs->di);

	if (hosted && bytes <= cpumask_size())
		copy_to_user_nofault((void __user *)regs->dx, cpumask_bits(&hosted->place.cpus),
				     bytes);
}

/* Whether the thread @pid of the caller's namespace has begun its end, or is gone. RCU. */
static bool is_ending(pid_t pid)
{
	struct task_struct *task = pid_task(find_vpid(pid), PIDTYPE_PID);

	return !task || READ_ONCE(task->flags) & PF_EXITING;
}

/*
 * Linux has moved only the proxy, or said that no CPU of the mask is online. Of a thread that ends
 * it said so too, if that was hosted: nobody is to see that its CPUs are others than it had.
 */
static void view_setaffinity(struct tacet_hosted *self, struct pt_regs *regs)
{
	struct tacet_hosted *hosted = hosted_by_pid(self, regs->di);
	size_t bytes = min_t(size_t, regs->si, cpumask_size());
	struct cpumask cpus;

	if (!hosted) {
		if (regs->ax == -EINVAL && is_ending(regs->di))
			regs->ax = -ESRCH;
		return;
	}
	cpumask_clear(&cpus);
	if (copy_from_user_nofault(cpumask_bits(&cpus), (void __user *)regs->dx, bytes))
		return;
	regs->ax = tacet_restrict(hosted, &cpus);
}

void tacet_view_after_call(struct tacet_hosted *hosted, struct pt_regs *regs, long result)
{
	switch (regs->orig_ax) {
	case __NR_getcpu:
		if (!result)
			view_getcpu(hosted, regs);
		break;
	case __NR_sched_getaffinity:
		if (result > 0)
			view_getaffinity(hosted, regs, result);
		break;
	case __NR_sched_setaffinity:
		if (!result || result == -EINVAL)
			view_setaffinity(hosted, regs);
		break;
	}
}
