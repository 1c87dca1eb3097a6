/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the trace tells the program that started it. Written by trace.bpf.c in the
 * kernel, read by src/trace/event.rs, which spells the same layout.
 */
#ifndef TACET_NOISE_TRACE_EVENT_H
#define TACET_NOISE_TRACE_EVENT_H

enum event_kind {
	/* detail: enum vector */
	EVENT_VECTOR = 1,
	/* detail: number of the interrupt */
	EVENT_INTERRUPT,
	/* detail: number of the softirq */
	EVENT_SOFTIRQ,
	/* address: the function of a timer of high resolution */
	EVENT_HRTIMER,
	/* address: the function of a timer of the wheel */
	EVENT_TIMER,
	/* address: the handler */
	EVENT_NMI,
	/* detail: the thread; address: the function that a worker works on, or 0 */
	EVENT_TASK,
	/* detail: the thread */
	EVENT_FAULT,
	/* detail: the thread */
	EVENT_MIGRATION,
	/* An interrupt sent to this CPU. detail: the sender; gross_ns: its CPU;
	 * net_ns: enum vector; address: its stack, or a negative errno */
	EVENT_SENT,
};

enum vector {
	VECTOR_LOCAL_TIMER,
	VECTOR_RESCHEDULE,
	VECTOR_CALL_FUNCTION,
	VECTOR_CALL_FUNCTION_SINGLE,
	VECTOR_IRQ_WORK,
	VECTOR_THRESHOLD,
	VECTOR_DEFERRED_ERROR,
	VECTOR_THERMAL,
	VECTOR_ERROR,
	VECTOR_SPURIOUS,
	VECTOR_PLATFORM,
	/* Of architectures whose kernel tells the reason as text. */
	VECTOR_OTHER,
};

/* The worker goes on with work that it had begun before: not one more piece of work. */
#define EVENT_CONTINUED 1
/* The task is a thread of the kernel. */
#define EVENT_KERNEL_THREAD 2

struct event {
	/* CLOCK_MONOTONIC */
	__u64 start_ns;
	/* A function, or what the kind says. */
	__u64 address;
	/* From beginning to end, at most 2^32 - 1. */
	__u32 gross_ns;
	/* The same without what interrupted it. */
	__u32 net_ns;
	__u32 detail;
	__u16 kind;
	__u16 flags;
};

/* A task that ran on a measured CPU, by its number. */
struct task {
	char comm[COMM_BYTES];
	/* The inode number of its cgroup's directory. */
	__u64 cgroup;
	__u32 tgid;
	__u32 padding;
};

#endif
