/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Chooses the CPU of an HPC task when the task is created or joins; the task stays there.
 *
 * The best CPU has the fewest tasks itself, then on its core, then in its package, then
 * at its last-level cache. So every core gets one task before any gets two, packages are
 * filled evenly, and the second hardware thread of a core is used last. The choice for a
 * process counts only processes, the choice for a thread counts all tasks: the helper threads
 * of an MPI library sleep and must never occupy a rank's CPU. Launchers (launch.h) must not
 * either: they are compared only between CPUs that are otherwise equal.
 */
#ifndef TACET_HPL_PLACE_H
#define TACET_HPL_PLACE_H

#include "launch.h"

/* A sequence number for claim(): odd while a CPU places a task. */
static u64 turn;

static __always_inline bool is_usable(s32 cpu)
{
	const struct cpumask *active = (const void *)&__cpu_active_mask;
	struct cpu_state *state = state_of(cpu);
	u64 word = 0;

	if (!state || !state->online)
		return false;
	if (!bpf_ksym_exists(&__cpu_active_mask))
		return true;
	bpf_probe_read_kernel(&word, sizeof(word), (const u64 *)active->bits + (u32)cpu / 64);
	return word >> ((u32)cpu % 64) & 1;
}

static __always_inline u64 workers_in(u32 level, u32 number, bool process)
{
	struct hpl_load *load = load_at(level, number);
	u32 all = !load ? 0 : process ? load->processes : load->tasks, launchers = load ? load->launchers : 0;

	/* a launcher that comes or goes at this moment may be counted in only one of the two */
	if (all <= launchers)
		return 0;
	return all - launchers < 0xffff ? all - launchers : 0xffff;
}

static __always_inline u64 launchers_in(u32 level, u32 number)
{
	struct hpl_load *load = load_at(level, number);
	u32 launchers = load ? load->launchers : 0;

	return launchers < 0xffff ? launchers : 0xffff;
}

/*
 * How busy a CPU is: 16 bits for each level, the CPU's own in the highest bits. Not inline, so
 * that the verifier follows each function once, not in each round of the loop that calls it.
 */
__noinline u64 workers_at(s32 cpu, bool process)
{
	struct hpl_place *place = place_of(cpu);

	if (!place)
		return 0;
	return workers_in(LEVEL_CPU, cpu, process) << 48 | workers_in(LEVEL_CORE, place->core, process) << 32 |
	       workers_in(LEVEL_PACKAGE, place->package, process) << 16 |
	       workers_in(LEVEL_CACHE, place->cache, process);
}

__noinline u64 launchers_at(s32 cpu)
{
	struct hpl_place *place = place_of(cpu);

	if (!place)
		return 0;
	return launchers_in(LEVEL_CPU, cpu) << 48 | launchers_in(LEVEL_CORE, place->core) << 32 |
	       launchers_in(LEVEL_PACKAGE, place->package) << 16 | launchers_in(LEVEL_CACHE, place->cache);
}

/* The best CPU; NO_CPU if none is allowed. Not inline, for the same reason. */
__noinline s32 choose(struct task_struct *p __arg_trusted, s32 prev)
{
	u64 least_workers = ~0ULL, least_launchers = ~0ULL;
	s32 cpus = scx_bpf_nr_cpu_ids(), cpu, best = NO_CPU;

	bpf_for(cpu, 0, cpus) {
		struct hpl_place *place = place_of(cpu);
		u64 workers, launchers;

		if (!place || !place->known || !is_usable(cpu) || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		workers = workers_at(cpu, is_process(p));
		launchers = launchers_at(cpu);
		if (workers > least_workers)
			continue;
		if (workers == least_workers && launchers >= least_launchers &&
		    (launchers > least_launchers || cpu != prev))
			continue;
		least_workers = workers;
		least_launchers = launchers;
		best = cpu;
	}
	return best;
}

static __always_inline void unplace(struct task_struct *p, struct task_state *task)
{
	if (task->cpu >= 0 && !task->left)
		change_all(task->cpu, task->process, -1);
	task->cpu = NO_CPU;
	retract(task);
}

/*
 * Chooses a CPU, and counts the task there unless it has `left`. Only one CPU places at a time;
 * one that finds another at work chooses again. The placing CPU is not interrupted, but the host
 * may stop a virtual CPU for longer than all tries take. In that case this function chooses without
 * the lock: two tasks on one CPU are better than a task without a CPU, because a task that computes
 * is not placed again.
 */
__noinline s32 claim(struct task_struct *p __arg_trusted, s32 prev, bool left)
{
	s32 cpu, try;

	bpf_for(try, 0, TRIES) {
		u64 seen = *(volatile u64 *)&turn;

		if (seen & 1)
			continue;
		cpu = choose(p, prev);
		if (cpu < 0)
			return NO_CPU;
		if (__sync_val_compare_and_swap(&turn, seen, seen + 1) != seen)
			continue;
		if (!left)
			change_all(cpu, is_process(p), 1);
		__sync_fetch_and_add(&turn, 1);
		return cpu;
	}
	cpu = choose(p, prev);
	if (cpu >= 0 && !left)
		change_all(cpu, is_process(p), 1);
	return cpu;
}

static __always_inline void place(struct task_struct *p, struct task_state *task, s32 prev)
{
	s32 cpu;

	if (task->cpu >= 0)
		COUNT(task->cpu, placed_again);
	unplace(p, task);
	task->process = is_process(p);
	cpu = claim(p, prev, task->left);
	if (cpu < 0)
		return;
	task->cpu = cpu;
	recognise(task);
	COUNT(cpu, placed);
}

/* The task ends: it makes room at once, though it still runs for a while. */
static __always_inline void leave(struct task_struct *p, struct task_state *task)
{
	if (task->left)
		return;
	if (task->cpu >= 0)
		change_all(task->cpu, task->process, -1);
	task->left = true;
	retract(task);
	forget_birth(p, task);
}

static __always_inline bool may_run_on(struct task_struct *p, s32 cpu)
{
	return cpu >= 0 && is_usable(cpu) && bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* Counts a runnable task on its CPU and in total. */
static __always_inline void count_runnable(struct task_state *task)
{
	struct cpu_state *state = state_of(task->cpu);

	if (!state || task->counted >= 0)
		return;
	__sync_fetch_and_add(&state->runnable, 1);
	__sync_fetch_and_add(&hpc_runnable, 1);
	task->counted = task->cpu;
}

static __always_inline void uncount_runnable(struct task_state *task)
{
	struct cpu_state *state = state_of(task->counted);

	if (task->counted < 0 || !state)
		return;
	__sync_fetch_and_add(&state->runnable, -1);
	__sync_fetch_and_add(&hpc_runnable, -1);
	task->counted = -1;
}

/* Whether the task is an HPC task now. Places it if it is and has no usable CPU; unplaces it if it is not. */
static __always_inline bool is_hpc(struct task_struct *p, struct task_state *task, s32 prev)
{
	task->hpc = wants_hpc(p);
	if (!task->hpc) {
		unplace(p, task);
		forget_birth(p, task);
	} else if (!may_run_on(p, task->cpu)) {
		tell_birth(p, task);
		task->daemon = is_process(p) && is_named_daemon(p);
		place(p, task, prev);
	}
	return task->hpc && task->cpu >= 0;
}

#endif
