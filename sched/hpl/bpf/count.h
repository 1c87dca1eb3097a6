/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts exactly every switch and every migration of the node, by class and CPU. Also works
 * without the scheduler: then tasks with the policy SCHED_EXT count as HPC tasks.
 */
#ifndef TACET_HPL_COUNT_H
#define TACET_HPL_COUNT_H

#include "trickle.h"

static __always_inline void count_switch(struct hpl_counts *count, struct cpu_state *state, u32 class, bool kept)
{
	if (class < CLASSES)
		add(&count->switches[class], 1);
	if (state->trickle_since_ns) {
		add(&count->trickle_ns, bpf_ktime_get_ns() - state->trickle_since_ns);
		state->trickle_since_ns = 0;
	}
	if (class == CLASS_HPC || class == CLASS_IDLE)
		state->through = 0;
	if (class != CLASS_NORMAL || state->runnable <= 0)
		return;
	if (state->through)
		state->trickle_since_ns = bpf_ktime_get_ns();
	else if (kept)
		add(&count->kept, 1);
	else
		add(&count->intrusions, 1);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(count_switches, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	s32 cpu = bpf_get_smp_processor_id();
	struct hpl_counts *count = counts_of(cpu);
	struct cpu_state *state = state_of(cpu);
	struct task_state *task = task_of(next);
	u32 class = class_of(next);

	if (!count || !state)
		return 0;
	count_switch(count, state, class, task && task->kept);
	state->running = class;
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(count_migrations, struct task_struct *p, int to)
{
	u32 class = class_of(p);
	struct hpl_counts *count = counts_of(to);
	struct task_state *task = task_of(p);

	if (count && class < CLASSES)
		add(&count->migrations[class], 1);
	if (count && class == CLASS_HPC && task && task->rebound)
		add(&count->rebound, 1);
	return 0;
}

/* A task that ends makes room at once, since its parent may create the next one as soon as it learns of the end. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(leave_early, struct task_struct *p)
{
	struct task_state *task = task_of(p);
	s32 process = p->tgid;

	/* The next process with this number is a different one. */
	if (is_process(p))
		bpf_map_delete_elem(&daemons, &process);
	if (task)
		leave(p, task);
	return 0;
}

#endif
