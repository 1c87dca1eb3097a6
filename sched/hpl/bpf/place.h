/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where an HPC task runs: decided when it is created or joins, and kept. src/model.rs is
 * the same rule in Rust, against which nodes are tested.
 *
 * The best CPU has the fewest tasks itself, then on its core, then in its package, then
 * at its last-level cache. So every core has one before any has two, packages are filled
 * evenly, and the second thread of a core is taken last. A process is placed among
 * processes and a thread among all tasks, because the helper threads of an MPI library
 * sleep: they must not keep a rank from a CPU.
 */
#ifndef TACET_HPL_PLACE_H
#define TACET_HPL_PLACE_H

#include "class.h"

#define TRIES 4096
#define NO_CPU (-1)

/* Odd while somebody places. */
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

static __always_inline struct hpl_load *load_at(u32 level, u32 number)
{
	u32 key = level * CPUS + number;

	return bpf_map_lookup_elem(&loads, &key);
}

static __always_inline u64 load_in(u32 level, u32 number, bool process)
{
	struct hpl_load *load = load_at(level, number);
	u32 size = !load ? 0xffff : process ? load->processes : load->tasks;

	return size < 0xffff ? size : 0xffff;
}

static __always_inline struct hpl_place *place_of(s32 cpu)
{
	u32 key = cpu;

	return bpf_map_lookup_elem(&places, &key);
}

static s32 choose(struct task_struct *p, s32 prev)
{
	u64 least = ~0ULL;
	s32 cpus = scx_bpf_nr_cpu_ids(), cpu, best = NO_CPU;

	bpf_for(cpu, 0, cpus) {
		struct hpl_place *place = place_of(cpu);
		bool process = is_process(p);
		u64 key;

		if (!place || !place->known || !is_usable(cpu) || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		key = load_in(LEVEL_CPU, cpu, process) << 48 | load_in(LEVEL_CORE, place->core, process) << 32 |
		      load_in(LEVEL_PACKAGE, place->package, process) << 16 |
		      load_in(LEVEL_CACHE, place->cache, process);
		if (key < least || (key == least && cpu == prev)) {
			least = key;
			best = cpu;
		}
	}
	return best;
}

static __always_inline void change(u32 level, u32 number, bool process, u32 more)
{
	struct hpl_load *load = load_at(level, number);

	if (!load)
		return;
	__sync_fetch_and_add(&load->tasks, more);
	if (process)
		__sync_fetch_and_add(&load->processes, more);
}

/* One HPC task more (1) or less (-1) on a CPU. */
static __always_inline void change_all(s32 cpu, bool process, u32 more)
{
	struct hpl_place *place = place_of(cpu);

	if (!place)
		return;
	change(LEVEL_CPU, cpu, process, more);
	change(LEVEL_CORE, place->core, process, more);
	change(LEVEL_PACKAGE, place->package, process, more);
	change(LEVEL_CACHE, place->cache, process, more);
}

static __always_inline void unplace(struct task_struct *p, struct task_state *task)
{
	if (task->cpu >= 0 && !task->left)
		change_all(task->cpu, is_process(p), -1);
	task->cpu = NO_CPU;
}

/*
 * Gives the task a CPU of its own choice, one placer at a time: who finds another one at
 * work chooses again. Holders are never interrupted for long, so the tries suffice; if
 * they did not, the last choice would be taken.
 */
static __always_inline void place(struct task_struct *p, struct task_state *task, s32 prev)
{
	s32 cpu = NO_CPU, try;

	if (task->cpu >= 0)
		COUNT(task->cpu, placed_again);
	unplace(p, task);
	bpf_for(try, 0, TRIES) {
		u64 seen = *(volatile u64 *)&turn;

		if (seen & 1)
			continue;
		cpu = choose(p, prev);
		if (cpu < 0 || __sync_val_compare_and_swap(&turn, seen, seen + 1) != seen)
			continue;
		if (!task->left)
			change_all(cpu, is_process(p), 1);
		__sync_fetch_and_add(&turn, 1);
		break;
	}
	if (cpu < 0)
		return;
	task->cpu = cpu;
	COUNT(cpu, placed);
}

static __always_inline bool may_run_on(struct task_struct *p, s32 cpu)
{
	return cpu >= 0 && is_usable(cpu) && bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* A task's `runnable` follows it. */
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

/* Whether it is an HPC task now; it has a place if it is, and none if not. */
static __always_inline bool is_hpc(struct task_struct *p, struct task_state *task, s32 prev)
{
	task->hpc = wants_hpc(p);
	if (!task->hpc)
		unplace(p, task);
	else if (!may_run_on(p, task->cpu))
		place(p, task, prev);
	return task->hpc && task->cpu >= 0;
}

#endif
