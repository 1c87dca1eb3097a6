/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lending avoids a kind of priority inversion. A normal task that waits behind HPC tasks (normal.h)
 * may hold something that an HPC task needs: a page, a lock of the kernel. With trickles alone the
 * holder would get a millisecond now and then, and the HPC task, and all tasks that compute with it,
 * would wait for seconds. So an HPC task that sleeps uninterruptibly in the kernel lends its CPU, in
 * short turns, to all normal tasks that wait anywhere. The holder is one of them, or sleeps itself.
 */
#ifndef TACET_HPL_LEND_H
#define TACET_HPL_LEND_H

#include "place.h"

/* The task begins to wait for the kernel, if its sleep is uninterruptible (state `D` in ps). */
static __always_inline void begin_wait(struct task_struct *p, struct task_state *task)
{
	struct cpu_state *state = state_of(task->cpu);

	if (!state || !task->hpc || task->waits_at >= 0 || !(p->__state & TASK_UNINTERRUPTIBLE))
		return;
	__sync_fetch_and_add(&state->waiting, 1);
	__sync_fetch_and_add(&hpc_waiting, 1);
	task->waits_at = task->cpu;
}

static __always_inline void end_wait(struct task_state *task)
{
	struct cpu_state *state = state_of(task->waits_at);

	if (task->waits_at < 0 || !state)
		return;
	__sync_fetch_and_add(&state->waiting, -1);
	__sync_fetch_and_add(&hpc_waiting, -1);
	task->waits_at = NO_CPU;
}

/* Short, so that the holder gets its turn soon; ends at a tick. */
#define LENT_SLICE_NS (1000 * 1000ULL)

static __always_inline bool lends(struct cpu_state *state)
{
	return state->waiting > 0 && state->runnable <= 0;
}

static __always_inline u64 normal_slice_ns(struct cpu_state *state)
{
	return lends(state) ? LENT_SLICE_NS : SCX_SLICE_DFL;
}

/* A normal task begins to wait: wakes the CPUs that lend, which did not see it when they last looked. */
static __always_inline void tell_lenders(void)
{
	s32 cpus = scx_bpf_nr_cpu_ids(), cpu;

	if (hpc_waiting <= 0)
		return;
	bpf_for(cpu, 0, cpus) {
		struct cpu_state *state = state_of(cpu);

		if (state && state->online && lends(state))
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	}
}

#endif
