/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Chooses where normal tasks run. While no HPC task wants to run, the kernel's default decides.
 * Otherwise normal tasks run on CPUs without HPC tasks, and each stays on its CPU. If there is
 * no such CPU, the task waits behind the HPC tasks of its own CPU, until they sleep or a trickle
 * comes.
 */
#ifndef TACET_HPL_NORMAL_H
#define TACET_HPL_NORMAL_H

#include "lend.h"

/* Whether no HPC task, not even a sleeping one, is placed on the CPU. */
static __always_inline bool is_free(s32 cpu)
{
	struct hpl_load *load = load_at(LEVEL_CPU, cpu);
	struct cpu_state *state = state_of(cpu);

	return load && !load->tasks && state && state->runnable <= 0;
}

static __always_inline bool hpc_wants(s32 cpu)
{
	struct cpu_state *state = state_of(cpu);

	return state && state->runnable > 0;
}

/* A CPU without HPC tasks: an idle one, otherwise the one with the shortest queue. */
__noinline s32 find_free(struct task_struct *p __arg_trusted)
{
	s32 cpus = scx_bpf_nr_cpu_ids(), cpu, best = NO_CPU, shortest = 0;

	bpf_for(cpu, 0, cpus) {
		s32 length;

		if (!is_free(cpu) || !may_run_on(p, cpu))
			continue;
		if (scx_bpf_test_and_clear_cpu_idle(cpu))
			return cpu;
		length = scx_bpf_dsq_nr_queued(normal_queue(cpu));
		if (best < 0 || length < shortest) {
			best = cpu;
			shortest = length;
		}
	}
	return best;
}

/* Chooses the trickle's CPU: the named one, otherwise `here`, otherwise any usable one. */
static __always_inline void choose_door(s32 here)
{
	struct hpl_options *chosen = the_options();
	s32 cpus = scx_bpf_nr_cpu_ids(), cpu, any = here;

	if (chosen && is_usable(chosen->trickle_cpu)) {
		door = chosen->trickle_cpu;
		return;
	}
	bpf_for(cpu, 0, cpus) {
		if (is_usable(here))
			break;
		if (is_usable(cpu)) {
			any = cpu;
			break;
		}
	}
	door = any;
}

/* Chooses a CPU for a normal task that wakes. */
static __always_inline s32 home(struct task_struct *p, s32 prev, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu;

	if (hpc_runnable <= 0) {
		cpu = scx_bpf_select_cpu_dfl(p, prev, wake_flags, &is_idle);
		if (is_idle)
			scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
		return cpu;
	}
	if (!(wake_flags & SCX_WAKE_FORK) && is_free(prev) && may_run_on(p, prev))
		return prev;
	cpu = find_free(p);
	if (cpu < 0)
		return prev;
	if (hpc_wants(prev))
		COUNT(prev, kept_off);
	return cpu;
}

/*
 * The task runs at once, before HPC tasks. When a higher class takes the CPU (cpu_release()), the task
 * that is put back is still the current one for the kernel, and it waits in a queue already: to preempt
 * it would take its slice away there, and the kernel warns of a "zero slice" when it picks it.
 */
static __always_inline void insert_kernel(struct task_struct *p, s32 cpu, u64 enq_flags)
{
	u64 preempts = enq_flags & SCX_ENQ_REENQ ? 0 : SCX_ENQ_PREEMPT;

	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | (u64)cpu, SCX_SLICE_DFL, enq_flags | ENQ_HEAD | preempts);
}

/*
 * The CPU for one of RCU's threads: the trickle's CPU, if HPC tasks want its own CPU and it may move. It
 * stays where it is while the trickle's CPU goes offline, because that waits for a grace period itself.
 */
static __always_inline s32 rcu_home(struct task_struct *p, s32 cpu)
{
	return hpc_wants(cpu) && !cannot_migrate(p) && may_run_on(p, door) ? door : cpu;
}

static __always_inline void insert_normal(struct task_struct *p, s32 cpu, u64 enq_flags)
{
	bool bound = cannot_migrate(p);
	s32 target = cpu, free;

	if (hpc_runnable <= 0 && !bound) {
		scx_bpf_dsq_insert(p, SHARED_QUEUE, SCX_SLICE_DFL, enq_flags);
		/* perhaps no CPU is about to look into this queue */
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		return;
	}
	if (!bound && !is_free(cpu)) {
		free = find_free(p);
		if (free >= 0)
			target = free;
	}
	if (hpc_wants(cpu))
		COUNT(cpu, kept_off);
	scx_bpf_dsq_insert(p, normal_queue(target), SCX_SLICE_DFL, enq_flags);
	scx_bpf_kick_cpu(target, SCX_KICK_IDLE);
	if (hpc_wants(target))
		tell_lenders();
}

/* Alternates, since tasks in a queue that is always asked last would wait forever. */
static __always_inline bool shared_first(s32 cpu)
{
	struct cpu_state *state = state_of(cpu);

	return state && state->normal_turns++ & 1;
}

/* The queue at which take_waiting() begins next. */
static s32 next_queue;

/* Takes a normal task that waits behind HPC tasks on any CPU, from one queue after the other. */
static __always_inline bool take_waiting(s32 cpu)
{
	s32 count = scx_bpf_nr_cpu_ids(), first = next_queue;
	s32 step;

	if (shared_first(cpu) && scx_bpf_dsq_move_to_local(SHARED_QUEUE))
		return true;
	bpf_for(step, 0, count) {
		s32 other = first + step < count ? first + step : first + step - count;

		if (other != cpu && !hpc_wants(other))
			continue;
		if (!scx_bpf_dsq_nr_queued(normal_queue(other)) || !scx_bpf_dsq_move_to_local(normal_queue(other)))
			continue;
		next_queue = other + 1 < count ? other + 1 : 0;
		return true;
	}
	return scx_bpf_dsq_move_to_local(SHARED_QUEUE);
}

/* Takes a normal task for a CPU on which no HPC task is runnable; a kept one, which waited for its time, first. */
static __always_inline bool take_normal(s32 cpu)
{
	u64 first = normal_queue(cpu), second = SHARED_QUEUE;
	struct cpu_state *state = state_of(cpu);

	if (scx_bpf_dsq_move_to_local(kept_queue(cpu)))
		return true;
	if (state && lends(state)) {
		if (!take_waiting(cpu))
			return false;
		COUNT(cpu, lent);
		return true;
	}
	if (shared_first(cpu)) {
		first = SHARED_QUEUE;
		second = normal_queue(cpu);
	}
	if (scx_bpf_dsq_move_to_local(first) || scx_bpf_dsq_move_to_local(second))
		return true;
	return is_free(cpu) && hpc_runnable > 0 && take_waiting(cpu);
}

#endif
