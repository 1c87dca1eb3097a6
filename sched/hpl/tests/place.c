// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduler's placement (bpf/place.h, as it is) on machines that are made up: tasks
 * come, go and are forbidden CPUs at random, and each must go where a model says that
 * counts the living tasks anew each time. tests/place.rs compiles and runs it.
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

/* What place.h has from the headers that are for the kernel. */
#define TACET_HPL_CLASS_H
#define __ksym
#include "../bpf/hpl.h"

struct cpumask {
	unsigned long bits[1];
};
struct task_struct {
	s32 pid, tgid;
	const struct cpumask *cpus_ptr;
};
struct cpu_state {
	s32 runnable;
	u32 online;
};
struct task_state {
	s32 cpu, counted;
	bool hpc, joining, left;
};
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
#define wants_hpc(p) ((void)(p), true)
#include "../bpf/place.h"

#define TASKS 200
static struct {
	struct task_struct task;
	struct task_state state;
	struct cpumask mask;
	bool alive;
} tasks[TASKS];

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

/* How many living tasks, other than `except`, count beside this CPU. */
static int beside(enum level level, s32 cpu, bool process, int except)
{
	int count = 0;

	for (int i = 0; i < TASKS; i++)
		if (i != except && tasks[i].alive && tasks[i].state.cpu >= 0 &&
		    together(level, cpu, tasks[i].state.cpu) && (!process || is_process(&tasks[i].task)))
			count++;
	return count;
}

/* The rule, word by word: negative if `one` is better. */
static int compare(s32 one, s32 other, int task)
{
	static const enum level order[] = { LEVEL_CPU, LEVEL_CORE, LEVEL_PACKAGE, LEVEL_CACHE };
	bool process = is_process(&tasks[task].task);

	for (int i = 0; i < 4; i++) {
		int difference = beside(order[i], one, process, task) - beside(order[i], other, process, task);

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

static void come(int i)
{
	s32 prev = chance(cpu_count), chosen;

	memset(&tasks[i], 0, sizeof(tasks[i]));
	tasks[i].task.pid = i;
	tasks[i].task.tgid = chance(3) ? i : -1;
	tasks[i].mask.bits[0] = chance(4) ? ~0UL : 1UL << chance(cpu_count) | 1UL << chance(cpu_count);
	tasks[i].task.cpus_ptr = &tasks[i].mask;
	tasks[i].state.cpu = NO_CPU;
	place(&tasks[i].task, &tasks[i].state, prev);
	tasks[i].alive = true;
	chosen = tasks[i].state.cpu;
	for (s32 cpu = 0; cpu < cpu_count; cpu++) {
		bool possible = states[cpu].online && tasks[i].mask.bits[0] >> cpu & 1;

		if (possible && chosen < 0)
			wrong("not placed", i);
		if (possible && compare(cpu, chosen, i) < 0)
			wrong("a better CPU was there", i);
		if (possible && cpu == prev && chosen != prev && !compare(prev, chosen, i))
			wrong("moved for nothing", i);
	}
	if (chosen >= 0 && !may_run_on(&tasks[i].task, chosen))
		wrong("a forbidden CPU", i);
}

static void make_machine(void)
{
	int packages = 1 + chance(3), caches = 1 + chance(2), cores = 1 + chance(3), threads = 1 + chance(3);

	memset(loads, 0, sizeof(loads));
	memset(tasks, 0, sizeof(tasks));
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

			if (tasks[i].alive) {
				unplace(&tasks[i].task, &tasks[i].state);
				tasks[i].alive = false;
			} else {
				come(i);
			}
		}
		for (int i = 0; i < TASKS; i++)
			if (tasks[i].alive)
				unplace(&tasks[i].task, &tasks[i].state);
		for (int i = 0; i < LEVELS * CPUS; i++)
			if (loads[i].tasks || loads[i].processes)
				wrong("a load is left", 0);
	}
	return 0;
}
