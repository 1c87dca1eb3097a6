/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The trace's maps in the kernel and their contents. Read by src/trace/tracer.rs under
 * the same names. Included once, by trace.bpf.c.
 */
#ifndef TACET_NOISE_TRACE_MAPS_H
#define TACET_NOISE_TRACE_MAPS_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include "event.h"

#define CPUS 4096
#define DEPTH 8
#define STACK_DEPTH 24

/* An activity, until it ends or the CPU switches tasks. */
struct frame {
	u64 start_ns;
	u64 nested_ns;
	u64 address;
	u32 detail;
	u16 kind;
	u16 flags;
};

/* Written and read by its own CPU only. */
struct state {
	/* The running task; detail 0: it is a measuring thread, or the CPU is idle. */
	struct frame task;
	struct frame frames[DEPTH];
	u32 depth;
};

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
};

/* Per CPU: the process that measures there, or 0. Written before the programs are attached. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CPUS);
	__type(key, u32);
	__type(value, u32);
} measured SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct state);
} states SEC(".maps");

/* Per CPU: a ring of its own, so that measured CPUs never wait for each other. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, CPUS);
	__type(key, u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* Per CPU of the event: events lost because the ring was full or the kernel did not report them. Any CPU adds. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CPUS);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct task);
} tasks SEC(".maps");

/* Per worker: the function that it has begun and not ended. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u64);
} working SEC(".maps");

struct order {
	s64 stack;
	u32 task;
	u32 padding;
};

/* Per address of a work item: the task that queued it last. Work that was queued before the trace is missing. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct order);
} queued SEC(".maps");

/* Per interrupt number: its name. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, char[32]);
} interrupts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 4096);
	__uint(key_size, sizeof(u32));
	__uint(value_size, STACK_DEPTH * sizeof(u64));
} stacks SEC(".maps");

/* The number of words of a CPU mask that may hold measured CPUs. Written when `measured` is. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} mask_words SEC(".maps");

#endif
