/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Distinguishes launchers from tasks that compute, and counts both on each CPU, core, package
 * and cache. A launcher is an HPC process with living HPC children: mpiexec, its proxies, a
 * shell. It waits while its children compute, so it must never occupy a rank's core. A process
 * is a launcher from the birth of its first such child to the end of the last; one early fork
 * does not make it a launcher permanently. A daemon named for the class is always a launcher.
 *
 * Called by place.h. Children are born and end on any CPU, without their parent's rq lock. So
 * the code that makes a process a launcher checks afterwards whether this is still right.
 */
#ifndef TACET_HPL_LAUNCH_H
#define TACET_HPL_LAUNCH_H

#include "class.h"

#define TRIES 4096

#define NOW(variable) (*(volatile typeof(variable) *)&(variable))

static __always_inline struct hpl_load *load_at(u32 level, u32 number)
{
	u32 key = level * CPUS + number;

	return bpf_map_lookup_elem(&loads, &key);
}

static __always_inline struct hpl_place *place_of(s32 cpu)
{
	u32 key = cpu;

	return bpf_map_lookup_elem(&places, &key);
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

/* Adds (1) or removes (-1) one HPC task on a CPU. */
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

static __always_inline void change_launchers_in(u32 level, u32 number, u32 more)
{
	struct hpl_load *load = load_at(level, number);

	if (load)
		__sync_fetch_and_add(&load->launchers, more);
}

static __always_inline void change_launchers(s32 cpu, u32 more)
{
	struct hpl_place *place = place_of(cpu);

	if (!place)
		return;
	change_launchers_in(LEVEL_CPU, cpu, more);
	change_launchers_in(LEVEL_CORE, place->core, more);
	change_launchers_in(LEVEL_PACKAGE, place->package, more);
	change_launchers_in(LEVEL_CACHE, place->cache, more);
}

/* Removes the task from the counts of launchers: it is no launcher any more, or no longer on that CPU. */
static __always_inline void retract(struct task_state *task)
{
	s32 cpu = __sync_lock_test_and_set(&task->launches_at, NO_CPU);

	if (cpu >= 0)
		change_launchers(cpu, -1);
}

/* Only a task that is counted as a process: a thread that executed a program is still counted as a thread. */
static __always_inline bool launches(struct task_state *task)
{
	return NOW(task->process) && (NOW(task->children) || NOW(task->daemon));
}

/* Counts the task as a launcher if it is one and has a CPU. Pairs with itself and with leave(). */
static __always_inline void recognise(struct task_state *task)
{
	s32 cpu = NOW(task->cpu);

	if (cpu < 0 || NOW(task->left) || !launches(task))
		return;
	if (__sync_val_compare_and_swap(&task->launches_at, NO_CPU, cpu) != NO_CPU)
		return;
	change_launchers(cpu, 1);
	if (NOW(task->cpu) != cpu || NOW(task->left) || !launches(task))
		retract(task);
}

/* An HPC process was born or joined: its parent has one more child, even if the parent is not an HPC task. */
static __always_inline void tell_birth(struct task_struct *p, struct task_state *task)
{
	struct task_struct *parent = p->real_parent->group_leader;
	struct task_state *launcher;

	if (!is_process(p) || task->parent || task->left)
		return;
	launcher = task_of(parent);
	if (!launcher)
		return;
	task->parent = parent->tgid;
	__sync_fetch_and_add(&launcher->children, 1);
	recognise(launcher);
}

/*
 * Returns whether that was the last child. The count may be 0 already: after a thread executed a
 * program, it leads the process, and its count lacks the children that the process had before.
 */
static __always_inline bool lose_child(struct task_state *task)
{
	s32 try;

	bpf_for(try, 0, TRIES) {
		u32 seen = NOW(task->children);

		if (!seen)
			return false;
		if (__sync_val_compare_and_swap(&task->children, seen, seen - 1) == seen)
			return seen == 1;
	}
	return false;
}

/* The task ended or left the class. If its parent ended before, it has another parent now, which did not count it. */
static __always_inline void forget_birth(struct task_struct *p, struct task_state *task)
{
	struct task_struct *parent = p->real_parent->group_leader;
	struct task_state *launcher;

	if (!task->parent)
		return;
	if (parent->tgid == task->parent) {
		launcher = task_of(parent);
		if (launcher && lose_child(launcher)) {
			retract(launcher);
			/* another child may have been born in between */
			recognise(launcher);
		}
	}
	task->parent = 0;
}

#endif
