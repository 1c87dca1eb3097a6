/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Turns. HPC tasks that compute have one quantum each, in a circle. Who wakes goes first:
 * a launcher that is asked, and the helper threads of a library, answer before the turn of
 * the rank that waits for them ends. All that go first on a CPU have half of its time at
 * most (but for what passes until the next tick), each an equal share of that; who has run
 * for longer lately waits in the circle, like everybody else. Who is interrupted goes on
 * with what his turn has left, before those who wait for theirs.
 */
#ifndef TACET_HPL_TURN_H
#define TACET_HPL_TURN_H

#include "launch.h"

/* A turn to begin with, of a task that wakes; 0 if it has had its share of this quantum. */
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

/* It runs no longer, or begins a turn anew. */
static __always_inline void end_turn(struct task_state *task, struct cpu_state *state)
{
	u64 ran_ns = bpf_ktime_get_ns() - state->since_ns;

	task->ran_ns += ran_ns;
	task->turn_ns = ran_ns < task->turn_ns ? task->turn_ns - ran_ns : 0;
}

#endif
