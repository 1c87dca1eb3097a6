// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the scheduler's placement (bpf/place.h and launch.h, unchanged) on random machines:
 * tasks come, have children, go and have random allowed CPUs. The placement of each task must
 * agree with a model that counts the living tasks again each time. tests/place.rs compiles
 * and runs it.
 *
 * usage: place SEED ROUNDS
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned int __u32, u32;
typedef unsigned long long __u64, u64;
typedef int __s32, s32;
typedef long long __s64;

/* Replacements for the definitions that place.h gets from the kernel's headers. */
#define TACET_HPL_CLASS_H
#define __ksym
#define __noinline __attribute__((noinline))
#define __arg_trusted
#include "../bpf/hpl.h"

struct cpumask {
	unsigned long bits[1];
};
struct task_struct {
	s32 pid, tgid;
	struct task_struct *real_parent, *group_leader;
	const struct cpumask *cpus_ptr;
	bool wants, named;
};
struct cpu_state {
	s32 runnable;
	u32 online;
};
struct task_state {
	s32 cpu, counted;
	bool hpc, joining, left, process, daemon;
	s32 parent;
	u32 children;
	s32 launches_at;
};
#define NO_CPU (-1)
enum level { LEVEL_CPU, LEVEL_CORE, LEVEL_PACKAGE, LEVEL_CACHE, LEVELS };

static struct hpl_load loads[LEVELS * CPUS];
static struct hpl_place places[CPUS];
static struct cpu_state states[CPUS];
static const struct cpumask __cpu_active_mask;
static s32 hpc_runnable, cpu_count;

#define bpf_map_lookup_elem(map, key) (&(*(map))[*(key)])
#define bpf_for(i, first, end) for ((i) = (first); (i) < (end); (i)++)
#define bpf_ksym_exists(symbol) ((void)(symbol), false)
#define bpf_probe_read_kernel(to, size, from) ((void)(to), (void)(from))
#define COUNT(cpu, field) ((void)(cpu))
#define scx_bpf_nr_cpu_ids() cpu_count
#define state_of(cpu) (&states[cpu])
#define bpf_cpumask_test_cpu(cpu, mask) ((mask)->bits[0] >> (cpu) & 1)
#define is_process(p) ((p)->pid == (p)->tgid)
#define wants_hpc(p) ((p)->wants)
#define is_named_daemon(p) ((p)->named)
static struct task_state *task_of(struct task_struct *p);
#include "../bpf/place.h"

/* Few enough that many have children. */
#define TASKS 60
static struct {
	struct task_struct task;
	struct task_state state;
	struct cpumask mask;
	bool alive;
	/* whether it was a process when it was placed; a thread that executes a program becomes one later */
	bool process;
	/* index of its original parent while that lives, or -1 */
	int parent;
} tasks[TASKS];
/* The parent of all other tasks; not an HPC task. */
static struct task_struct init = { .pid = -2, .tgid = -2, .real_parent = &init, .group_leader = &init };

static struct task_state *task_of(struct task_struct *p)
{
	for (int i = 0; i < TASKS; i++)
		if (p == &tasks[i].task)
			return &tasks[i].state;
	return NULL;
}

static unsigned int chance(unsigned int below)
{
	return (unsigned int)random() % below;
}

static bool together(enum level level, s32 one, s32 other)
{
	switch (level) {
	case LEVEL_CPU:
		return one == other;
	case LEVEL_CORE:
		return places[one].core == places[other].core;
	case LEVEL_PACKAGE:
		return places[one].package == places[other].package;
	default:
		return places[one].cache == places[other].cache;
	}
}

static bool is_launcher(int of)
{
	bool more = tasks[of].task.named;

	for (int i = 0; i < TASKS; i++)
		more |= tasks[i].alive && tasks[i].parent == of && tasks[i].process;
	return tasks[of].process && more;
}

/* The number of living tasks, launchers or others, that count for this CPU at this level. */
static int beside(enum level level, s32 cpu, bool process, bool launchers, const bool *launch)
{
	int count = 0;

	for (int i = 0; i < TASKS; i++)
		if (tasks[i].alive && tasks[i].state.cpu >= 0 && together(level, cpu, tasks[i].state.cpu) &&
		    (!process || tasks[i].process) && launch[i] == launchers)
			count++;
	return count;
}

/* The rule of place.h in its words: negative if `one` is better. */
static int compare(s32 one, s32 other, bool process, const bool *launch)
{
	static const enum level order[] = { LEVEL_CPU, LEVEL_CORE, LEVEL_PACKAGE, LEVEL_CACHE };

	for (int launchers = 0; launchers < 2; launchers++)
		for (int i = 0; i < 4; i++) {
			int difference = beside(order[i], one, process, launchers, launch) -
					 beside(order[i], other, process, launchers, launch);

			if (difference)
				return difference;
		}
	return 0;
}

static void wrong(const char *what, int task)
{
	printf("%s: task %d on cpu %d of %d\n", what, task, tasks[task].state.cpu, cpu_count);
	exit(1);
}

/* Makes the task a child of a living process, or of `init`. */
static void be_born(int i)
{
	int parent = chance(TASKS);

	memset(&tasks[i], 0, sizeof(tasks[i]));
	tasks[i].task.pid = i + 1;
	tasks[i].task.tgid = chance(3) ? i + 1 : -1;
	tasks[i].task.group_leader = &tasks[i].task;
	tasks[i].process = is_process(&tasks[i].task);
	tasks[i].task.wants = true;
	tasks[i].task.named = !chance(8);
	tasks[i].mask.bits[0] = chance(4) ? ~0UL : 1UL << chance(cpu_count) | 1UL << chance(cpu_count);
	tasks[i].task.cpus_ptr = &tasks[i].mask;
	tasks[i].state.cpu = tasks[i].state.launches_at = NO_CPU;
	tasks[i].parent = parent != i && tasks[parent].alive && is_process(&tasks[parent].task) ? parent : -1;
	tasks[i].task.real_parent = tasks[i].parent < 0 ? &init : &tasks[parent].task;
}

static void come(int i)
{
	s32 prev = chance(cpu_count), chosen;
	bool process, launch[TASKS];

	be_born(i);
	/* its parent is a launcher before its place is chosen */
	tasks[i].alive = true;
	for (int j = 0; j < TASKS; j++)
		launch[j] = is_launcher(j);
	is_hpc(&tasks[i].task, &tasks[i].state, prev);
	process = is_process(&tasks[i].task);
	chosen = tasks[i].state.cpu;
	tasks[i].alive = false;
	for (s32 cpu = 0; cpu < cpu_count; cpu++) {
		bool possible = states[cpu].online && tasks[i].mask.bits[0] >> cpu & 1;

		if (possible && chosen < 0)
			wrong("not placed", i);
		if (possible && compare(cpu, chosen, process, launch) < 0)
			wrong("a better CPU was there", i);
		if (possible && cpu == prev && chosen != prev && !compare(prev, chosen, process, launch))
			wrong("moved without need", i);
	}
	if (chosen >= 0 && !may_run_on(&tasks[i].task, chosen))
		wrong("a forbidden CPU", i);
	tasks[i].alive = true;
}

static void execute(int i)
{
	tasks[i].task.tgid = tasks[i].task.pid;
}

/* The task ends. It may have executed a program before, and may have left the class. */
static void go(int i)
{
	if (chance(2))
		execute(i);
	if (chance(2)) {
		tasks[i].task.wants = false;
		is_hpc(&tasks[i].task, &tasks[i].state, 0);
	}
	leave(&tasks[i].task, &tasks[i].state);
	unplace(&tasks[i].task, &tasks[i].state);
	tasks[i].alive = false;
	for (int j = 0; j < TASKS; j++)
		if (tasks[j].parent == i) {
			tasks[j].parent = -1;
			tasks[j].task.real_parent = &init;
		}
}

static void make_machine(void)
{
	int packages = 1 + chance(3), caches = 1 + chance(2), cores = 1 + chance(3), threads = 1 + chance(3);

	memset(loads, 0, sizeof(loads));
	memset(tasks, 0, sizeof(tasks));
	for (int i = 0; i < TASKS; i++)
		tasks[i].parent = -1;
	cpu_count = packages * caches * cores * threads;
	for (s32 cpu = 0; cpu < cpu_count; cpu++) {
		places[cpu].core = cpu / threads;
		places[cpu].cache = cpu / threads / cores;
		places[cpu].package = cpu / threads / cores / caches;
		places[cpu].known = 1;
		states[cpu].online = cpu == 0 || chance(12);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	srandom(atoi(argv[1]));
	for (int round = 0; round < atoi(argv[2]); round++) {
		make_machine();
		for (int step = 0; step < 100; step++) {
			int i = chance(TASKS);

			if (tasks[i].alive && !chance(4))
				execute(i);
			else if (tasks[i].alive)
				go(i);
			else
				come(i);
		}
		for (int i = 0; i < TASKS; i++)
			if (tasks[i].alive)
				go(i);
		for (int i = 0; i < LEVELS * CPUS; i++)
			if (loads[i].tasks || loads[i].processes || loads[i].launchers)
				wrong("a load is left", 0);
	}
	return 0;
}
