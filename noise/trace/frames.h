/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Nested activities on a measured CPU: each is charged with its own time, without the
 * time of its interruptions. Included once, by trace.bpf.c; runs in whatever context
 * the kernel is in.
 */
#ifndef TACET_NOISE_TRACE_FRAMES_H
#define TACET_NOISE_TRACE_FRAMES_H

#include "maps.h"

static __always_inline u32 short_ns(u64 ns)
{
	return ns < 0xffffffff ? ns : 0xffffffff;
}

static __always_inline void lose(u32 cpu)
{
	u64 *count = bpf_map_lookup_elem(&lost, &cpu);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline void emit_to(u32 cpu, struct event *event)
{
	void *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (!ring || bpf_ringbuf_output(ring, event, sizeof(*event), BPF_RB_NO_WAKEUP))
		lose(cpu);
}

static __always_inline void emit(struct frame *frame, u64 gross_ns)
{
	u64 net_ns = gross_ns > frame->nested_ns ? gross_ns - frame->nested_ns : 0;
	struct event event = {
		.start_ns = frame->start_ns,
		.address = frame->address,
		.gross_ns = short_ns(gross_ns),
		.net_ns = short_ns(net_ns),
		.detail = frame->detail,
		.kind = frame->kind,
		.flags = frame->flags,
	};

	emit_to(bpf_get_smp_processor_id(), &event);
}

/* The process that measures on this CPU, or 0. */
static __always_inline u32 measuring_process(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	u32 *process = bpf_map_lookup_elem(&measured, &cpu);

	return process ? *process : 0;
}

/* This CPU's state, if it is measured. */
static __always_inline struct state *state_here(void)
{
	u32 first = 0;

	return measuring_process() ? bpf_map_lookup_elem(&states, &first) : NULL;
}

/* Takes the time of an activity that ended away from the activity that it interrupted. */
static __always_inline void charge(struct state *state, u64 gross_ns)
{
	u32 depth = state->depth;

	if (!depth)
		state->task.nested_ns += gross_ns;
	else
		state->frames[(depth - 1) & (DEPTH - 1)].nested_ns += gross_ns;
}

static __always_inline int enter(u16 kind, u32 detail, u64 address)
{
	struct state *state = state_here();
	struct frame *frame;

	if (!state)
		return 0;
	/* If the nesting is deeper than DEPTH, the outer frames are overwritten. */
	frame = &state->frames[state->depth & (DEPTH - 1)];
	frame->nested_ns = 0;
	frame->address = address;
	frame->detail = detail;
	frame->kind = kind;
	frame->flags = 0;
	state->depth++;
	frame->start_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int leave(u16 kind)
{
	u64 now_ns = bpf_ktime_get_ns(), gross_ns;
	struct state *state = state_here();
	struct frame *frame;

	/* An activity that began before the trace or before a task switch has no frame. */
	if (!state || !state->depth)
		return 0;
	frame = &state->frames[(state->depth - 1) & (DEPTH - 1)];
	if (frame->kind != kind)
		return 0;
	state->depth--;
	gross_ns = now_ns - frame->start_ns;
	emit(frame, gross_ns);
	charge(state, gross_ns);
	return 0;
}

/* Saves the task's name and cgroup for the reader of its events. */
static __always_inline void remember(struct task_struct *task, u32 pid)
{
	struct task *known = bpf_map_lookup_elem(&tasks, &pid), now = {};

	/* The kernel tells the cgroup of the running task only; a task may change it. */
	if (pid == (u32)bpf_get_current_pid_tgid())
		now.cgroup = bpf_get_current_cgroup_id();
	else if (known)
		now.cgroup = known->cgroup;
	bpf_probe_read_kernel(now.comm, sizeof(now.comm), task->comm);
	if (known && known->cgroup == now.cgroup && *(u64 *)known->comm == *(u64 *)now.comm &&
	    *(u64 *)(known->comm + 8) == *(u64 *)(now.comm + 8))
		return;
	now.tgid = task->tgid;
	bpf_map_update_elem(&tasks, &pid, &now, BPF_ANY);
}

#endif
