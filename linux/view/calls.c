// SPDX-License-Identifier: GPL-2.0
/*
 * The CPUs as a hosted program sees them: where Linux answers about the proxy's CPU, the
 * program gets the answer about its core.
 *
 * Called by delegate/calls.c around a system call, in the task's context; does not sleep. What is
 * written after a call lies in memory that the call has just touched, so the memory is there.
 */
#include <linux/io_uring.h>
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

static u32 __user *ring_flags(unsigned long params)
{
	return &((struct io_uring_params __user *)params)->flags;
}

/*
 * A ring's polling thread (IORING_SETUP_SQPOLL, io_uring_setup(2)) is Linux's and has to be on a CPU
 * of Linux. A program that names one of the partition's has it on any of Linux's: the flag by which
 * it names a CPU is taken out for the time of the call. Other CPUs are Linux's to judge. If the
 * parameters are not in memory Linux refuses the CPU, as it did before there was this.
 */
static void place_poller(struct tacet_hosted *hosted, unsigned long params)
{
	const u32 wanted = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF;
	struct io_uring_params told;
	u32 flags;

	if (copy_from_user_nofault(&told, (void __user *)params, sizeof(told)) ||
	    (told.flags & wanted) != wanted || told.sq_thread_cpu >= nr_cpu_ids ||
	    !cpumask_test_cpu(told.sq_thread_cpu, &tacet_partition.cpus))
		return;
	flags = told.flags & ~IORING_SETUP_SQ_AFF;
	if (!copy_to_user_nofault(ring_flags(params), &flags, sizeof(flags)))
		WRITE_ONCE(hosted->call.ring_params, params);
}

/* Linux has written the parameters back: the program sees the flags that it passed. */
static void show_placed(struct tacet_hosted *hosted)
{
	unsigned long params = hosted->call.ring_params;
	u32 flags;

	WRITE_ONCE(hosted->call.ring_params, 0);
	if (copy_from_user_nofault(&flags, ring_flags(params), sizeof(flags)))
		return;
	flags |= IORING_SETUP_SQ_AFF;
	copy_to_user_nofault(ring_flags(params), &flags, sizeof(flags));
}

/* Arguments are in the registers, as of a 64-bit program. */
void tacet_view_before_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	if (regs->orig_ax == __NR_io_uring_setup)
		place_poller(hosted, regs->si);
}

void tacet_view_after_call(struct tacet_hosted *hosted, struct pt_regs *regs, long result)
{
	if (hosted->call.ring_params)
		show_placed(hosted);
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
