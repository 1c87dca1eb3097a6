/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The events that the trace reports to the program that started it. Written by
 * trace.bpf.c in the kernel, read by src/trace/event.rs, which has the same layout.
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
	/* address: the function of a high-resolution timer */
	EVENT_HRTIMER,
	/* address: the function of a timer in the timer wheel */
	EVENT_TIMER,
	/* address: the handler */
	EVENT_NMI,
	/* detail: the thread; address: the function that a worker executes, or 0 */
	EVENT_TASK,
	/* detail: the thread */
	EVENT_FAULT,
	/* detail: the thread */
	EVENT_MIGRATION,
	/* An interrupt sent to this CPU. detail: the sender; gross_ns: its CPU;
	 * net_ns: enum vector; address: its stack, or a negative errno */
	EVENT_SENT,
	/* A worker begins work. detail: the worker; net_ns: the task that queued the work;
	 * address: its stack, or a negative errno if nobody was seen */
	EVENT_QUEUED,
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
	/* On architectures whose kernel gives the reason as text. */
	VECTOR_OTHER,
};

/* The worker continues work that it began earlier: the event does not count as new work. */
#define EVENT_CONTINUED 1
/* The task is a thread of the kernel. */
#define EVENT_KERNEL_THREAD 2

struct event {
	/* CLOCK_MONOTONIC */
	__u64 start_ns;
	/* A function, or as the kind says. */
	__u64 address;
	/* From beginning to end, at most 2^32 - 1. */
	__u32 gross_ns;
	/* The same without the time of its interruptions. */
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
