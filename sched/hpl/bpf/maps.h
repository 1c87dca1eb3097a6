/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scheduler's data in the kernel. src/scheduler.rs writes `places`, `options`,
 * `groups`, `kept_users` and `daemons` before the start, and the loader reads `counts`, `loads` and `ends`,
 * all by these names.
 */
#ifndef TACET_HPL_MAPS_H
#define TACET_HPL_MAPS_H

#include "functions.h"
#include "hpl.h"

/* The state of a CPU. Changed with its rq lock held, unless a field says otherwise. */
struct cpu_state {
	/* enum hpl_class; written at each switch */
	u32 running;
	/* HPC tasks of this CPU that want to run; changed by any CPU */
	s32 runnable;
	/* HPC tasks placed here that wait for the kernel (lend.h); changed by any CPU */
	s32 waiting;
	u32 online;
	/* a trickle's window is open; written by the timer */
	u32 window;
	/* the running HPC task has an endless turn */
	u32 endless;
	/* a counter whose lowest bit chooses the queue of normal tasks that is asked first */
	u32 normal_turns;
	/* a normal task was taken through the window, which may close before that task runs */
	u32 through;
	/* when that task began to run, or 0 */
	u64 trickle_since_ns;
	/* when the running HPC task began its turn */
	u64 since_ns;
	/* when the running kept task's time was last counted, or 0 (kept.h) */
	u64 kept_since_ns;
	/* when this period of kept tasks began, and the time that they took from HPC tasks since */
	u64 kept_period_ns;
	u64 kept_ran_ns;
};

/*
 * The state of a task. Changed with its rq lock held, unless a field says otherwise; this includes
 * changes when its CPU goes offline or the task ends.
 */
struct task_state {
	/* the CPU on which it was placed, or -1 */
	s32 cpu;
	/* the CPU whose `runnable` counts it, or -1 */
	s32 counted;
	/* the CPU whose `waiting` counts it, or -1 */
	s32 waits_at;
	bool hpc;
	/* a normal task that was named to be kept (kept.h) */
	bool kept;
	/* it is not yet on the CPU on which it was placed, and moves there now */
	bool joining;
	/* its allowed CPUs changed, and it has not run on its new CPU since */
	bool rebound;
	/* its exit has begun: it is not counted as load */
	bool left;
	/* it was a process when it was placed; a thread that executes a program becomes one later */
	bool process;
	/* a process that was named for the class: it mostly waits */
	bool daemon;
	/* the process that counts it as a child, or 0 */
	s32 parent;
	/* the process's living HPC children; changed by any CPU */
	u32 children;
	/* the CPU on which it is counted as a launcher, or -1; changed by any CPU */
	s32 launches_at;
	/* the rest of its turn; 0 if it waits for one */
	u64 turn_ns;
	/* its running time since `counted_since_ns` (turn.h) */
	u64 ran_ns;
	u64 counted_since_ns;
};

#define NO_CPU (-1)

/* There is one hpl_load for each CPU, core, package and cache. */
enum level { LEVEL_CPU, LEVEL_CORE, LEVEL_PACKAGE, LEVEL_CACHE, LEVELS };

struct timer_state {
	struct bpf_timer timer;
	u32 open;
};

#define ARRAY(name, entry, count)                       \
	struct {                                        \
		__uint(type, BPF_MAP_TYPE_ARRAY);       \
		__uint(max_entries, count);             \
		__type(key, u32);                       \
		__type(value, entry);                   \
	} name SEC(".maps")

ARRAY(places, struct hpl_place, CPUS);
ARRAY(options, struct hpl_options, 1);
ARRAY(states, struct cpu_state, CPUS);
ARRAY(counts, struct hpl_counts, CPUS);
ARRAY(timers, struct timer_state, 1);
/* LEVEL_x * CPUS + number */
ARRAY(loads, struct hpl_load, LEVELS * CPUS);

/* Named control groups, by number: GROUP_x. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u64);
	__type(value, u8);
} groups SEC(".maps");

/* Users whose tasks are kept, by number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, u8);
} kept_users SEC(".maps");

/* Processes that were named for the HPC class, by number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, s32);
	__type(value, u8);
} daemons SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ends SEC(".maps");

/* HPC tasks that want to run, on all CPUs. */
static s32 hpc_runnable;

/* HPC tasks that wait for the kernel, on all CPUs. */
static s32 hpc_waiting;

/* The trickle's CPU at present: the named one, or the one to which the timer moved when that went offline. */
static s32 door;

/* Tasks wait in queues (DSQs): three for each CPU, and one for all. */
static __always_inline u64 hpc_queue(s32 cpu)
{
	return (u64)cpu;
}

static __always_inline u64 normal_queue(s32 cpu)
{
	return 1ULL << 20 | (u64)cpu;
}

static __always_inline u64 kept_queue(s32 cpu)
{
	return 1ULL << 22 | (u64)cpu;
}

#define SHARED_QUEUE (1ULL << 21)

static __always_inline struct cpu_state *state_of(s32 cpu)
{
	u32 key = cpu;

	return bpf_map_lookup_elem(&states, &key);
}

static __always_inline struct hpl_counts *counts_of(s32 cpu)
{
	u32 key = cpu;

	return bpf_map_lookup_elem(&counts, &key);
}

static __always_inline struct hpl_options *the_options(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&options, &key);
}

static __always_inline struct task_state *task_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, NULL, 0);
}

static __always_inline void add(u64 *count, u64 more)
{
	__sync_fetch_and_add(count, more);
}

/* Adds one to a field of a CPU's counts. */
#define COUNT(cpu, field)                                  \
	do {                                               \
		struct hpl_counts *of_ = counts_of(cpu);   \
		if (of_)                                   \
			add(&of_->field, 1);               \
	} while (0)

#endif
