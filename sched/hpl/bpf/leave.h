/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A CPU that goes offline: moves the tasks that wait for it to other queues, and makes the kernel
 * look again when the last of them has gone. Called by hpl.bpf.c and trickle.h. Linux takes CPUs
 * offline one at a time.
 */
#ifndef TACET_HPL_LEAVE_H
#define TACET_HPL_LEAVE_H

#include "kept.h"

/*
 * Places the task again; returns its new CPU, or NO_CPU. Not inline, so that the verifier follows
 * it once, not in each round of the loop below.
 */
__noinline s32 send_away(struct task_struct *p __arg_trusted, s32 cpu)
{
	struct task_state *task = task_of(p);

	if (!task)
		return NO_CPU;
	uncount_runnable(task);
	place(p, task, cpu);
	count_runnable(task);
	return task->cpu;
}

/*
 * Normal tasks in this queue that Linux still assigns to the CPU move to its local queue: Linux then
 * pushes each one away when it is next to run (balance_push() in kernel/sched/core.c), and it comes
 * back by enqueue(). In another queue such tasks would delay the CPU until a trickle takes them. Other
 * tasks in the CPU's own queue, which waited there because it had no HPC task, move to another CPU.
 */
__noinline s32 sweep(u64 queue, s32 cpu)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, queue, 0) {
		s32 counted_at = scx_bpf_task_cpu(p), target;

		if (counted_at == cpu) {
			scx_bpf_dsq_move(THIS_ITERATOR, p, SCX_DSQ_LOCAL_ON | (u64)cpu, 0);
			continue;
		}
		if (queue != normal_queue(cpu) && queue != kept_queue(cpu))
			continue;
		target = find_free(p);
		if (target < 0)
			target = counted_at;
		if (scx_bpf_dsq_move(THIS_ITERATOR, p, normal_queue(target), 0))
			scx_bpf_kick_cpu(target, SCX_KICK_IDLE);
	}
	return 0;
}

/* Moves all tasks that wait for this CPU: they would wait forever, since the kernel no longer dispatches there. */
static __always_inline void send_all_away(s32 cpu)
{
	s32 cpus = scx_bpf_nr_cpu_ids(), other;
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, hpc_queue(cpu), 0) {
		s32 target = send_away(p, cpu);

		if (target < 0)
			scx_bpf_dsq_move(THIS_ITERATOR, p, SCX_DSQ_LOCAL_ON | (u64)cpu, 0);
		else if (scx_bpf_dsq_move(THIS_ITERATOR, p, hpc_queue(target), 0))
			scx_bpf_kick_cpu(target, SCX_KICK_PREEMPT);
	}
	sweep(SHARED_QUEUE, cpu);
	bpf_for(other, 0, cpus) {
		sweep(normal_queue(other), cpu);
		sweep(kept_queue(other), cpu);
	}
}

/* The CPU that was announced to go offline and may still be online. Written by cpu_offline(), cpu_online(), prod(). */
static s32 going = NO_CPU;

/*
 * Called when a task begins to run: it may have waited elsewhere while Linux still assigned it to the
 * CPU that goes offline. Linux waits until no such task is left, and checks when that CPU runs out of
 * tasks (balance_push() again). A CPU that is idle already does not check, so wake it. Also called
 * with each trickle, because a real-time task may delay a task that was moved.
 */
static __always_inline void prod(s32 cpu)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();

	if (bpf_cpumask_test_cpu(cpu, online))
		scx_bpf_kick_cpu(cpu, 0);
	else
		going = NO_CPU;
	scx_bpf_put_cpumask(online);
}

#endif
