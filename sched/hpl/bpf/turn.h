/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Turns. HPC tasks that compute get one quantum each, in round-robin order. A task that wakes
 * goes first: a launcher, or a helper thread of a library, must answer before the turn of the
 * rank that waits for it ends. All tasks that go first on a CPU together get at most half of its
 * time (plus the time to the next tick), each an equal share. A task that used up its share of
 * the current quantum waits in round-robin order like all others. An interrupted task continues
 * with the rest of its turn, before tasks that wait for theirs.
 */
#ifndef TACET_HPL_TURN_H
#define TACET_HPL_TURN_H

#include "launch.h"

/* The first turn of a task that wakes; 0 if it used up its share of this quantum. */
static __always_inline u64 first_turn(struct task_state *task, u64 quantum_ns)
{
	struct hpl_load *load = load_at(LEVEL_CPU, task->cpu);
	u64 share_ns = quantum_ns / 2 / (load && load->tasks ? load->tasks : 1), now_ns = bpf_ktime_get_ns();

	if (now_ns - task->counted_since_ns >= quantum_ns) {
		task->counted_since_ns = now_ns;
		task->ran_ns = 0;
	}
	return task->ran_ns < share_ns ? share_ns - task->ran_ns : 0;
}

static __always_inline void begin_turn(struct task_state *task, struct cpu_state *state, u64 turn_ns)
{
	task->turn_ns = turn_ns;
	state->since_ns = bpf_ktime_get_ns();
}

/* The task stops running, or begins a new turn. */
static __always_inline void end_turn(struct task_state *task, struct cpu_state *state)
{
	u64 ran_ns = bpf_ktime_get_ns() - state->since_ns;

	task->ran_ns += ran_ns;
	task->turn_ns = ran_ns < task->turn_ns ? task->turn_ns - ran_ns : 0;
}

#endif
