/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A CPU that goes: where the tasks that wait for it wait from now on, and that the kernel hears
 * when the last of them is gone. Called by hpl.bpf.c and trickle.h; Linux takes CPUs away one at a time.
 */
#ifndef TACET_HPL_LEAVE_H
#define TACET_HPL_LEAVE_H

#include "normal.h"

/*
 * Its new place, or NO_CPU. For the verifier a function of its own, which it follows once, not
 * in each round of the loop below.
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
 * Normal tasks that wait in this queue and are counted for the CPU that goes: Linux sends away what
 * would run there next (balance_push() in kernel/sched/core.c), and they come back by enqueue(). In
 * another queue they would keep the CPU from going until a trickle takes them. Others waited for it
 * because it had no HPC task.
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
		if (queue != normal_queue(cpu))
			continue;
		target = find_free(p);
		if (target < 0)
			target = counted_at;
		if (scx_bpf_dsq_move(THIS_ITERATOR, p, normal_queue(target), 0))
			scx_bpf_kick_cpu(target, SCX_KICK_IDLE);
	}
	return 0;
}

/* What waits for this CPU would wait for ever: the kernel asks for no more of it. */
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
	bpf_for(other, 0, cpus)
		sweep(normal_queue(other), cpu);
}

/* Told that it goes, and perhaps not gone. Written by cpu_offline(), cpu_online() and prod(). */
static s32 going = NO_CPU;

/*
 * A task begins to run, perhaps one that waited elsewhere and was still counted for the CPU that
 * goes. Linux waits until none is, and looks when that CPU has nothing left to run (balance_push()
 * again): idle already, it would not look. Called with each trickle as well: a real-time task may
 * keep who was taken from running.
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
