/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Records the senders of interrupts to measured CPUs, and the tasks that queue work, with
 * their call stacks. Runs on the sender's CPU. Included once, by trace.bpf.c.
 */
#ifndef TACET_NOISE_TRACE_SENDERS_H
#define TACET_NOISE_TRACE_SENDERS_H

#include "frames.h"
#include <bpf/bpf_tracing.h>

/* The sender's call stack, which shows the interrupt's origin. */
static __always_inline s64 calls(void *context)
{
	return bpf_get_stackid(context, &stacks, BPF_F_FAST_STACK_CMP | BPF_F_REUSE_STACKID);
}

static __always_inline void sent(s64 stack, u32 cpu, u32 vector)
{
	u32 *process = bpf_map_lookup_elem(&measured, &cpu), pid = (u32)bpf_get_current_pid_tgid();
	struct event event = { .detail = pid, .kind = EVENT_SENT, .net_ns = vector, .address = stack };

	if (!process || !*process)
		return;
	event.start_ns = bpf_ktime_get_ns();
	event.gross_ns = bpf_get_smp_processor_id();
	if (pid)
		remember((struct task_struct *)bpf_get_current_task_btf(), pid);
	emit_to(cpu, &event);
}

struct broadcast {
	const unsigned long *words;
	s64 stack;
	u32 vector;
};

static long send_to_word(u32 word, struct broadcast *broadcast)
{
	unsigned long bits = 0;

	bpf_probe_read_kernel(&bits, sizeof(bits), broadcast->words + word);
	for (u32 bit = 0; bit < 64; bit++)
		if (bits >> bit & 1)
			sent(broadcast->stack, word * 64 + bit, broadcast->vector);
	return 0;
}

/* Bits beyond the machine's CPUs are not part of the mask; they do no harm, since no such CPU is measured. */
static __always_inline int sent_to_many(s64 stack, const unsigned long *words)
{
	struct broadcast broadcast = { .words = words, .stack = stack, .vector = VECTOR_CALL_FUNCTION };
	u32 first = 0, *count = bpf_map_lookup_elem(&mask_words, &first);

	if (count)
		bpf_loop(*count, send_to_word, &broadcast, 0);
	return 0;
}

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(workqueue_queue_work, int cpu, void *pool, struct work_struct *work)
{
	u32 pid = (u32)bpf_get_current_pid_tgid();
	u64 key = (u64)work;
	struct order order = { .stack = calls(ctx), .task = pid };

	if (pid)
		remember((struct task_struct *)bpf_get_current_task_btf(), pid);
	bpf_map_update_elem(&queued, &key, &order, BPF_ANY);
	return 0;
}

/* Tells the sender of the work that a worker begins on this CPU. */
static __always_inline void ordered(struct work_struct *work, u32 worker, u64 now_ns)
{
	struct event event = { .start_ns = now_ns, .detail = worker, .kind = EVENT_QUEUED, .address = -1 };
	u64 key = (u64)work;
	struct order *order = bpf_map_lookup_elem(&queued, &key);

	if (order) {
		event.net_ns = order->task;
		event.address = order->stack;
	}
	emit_to(bpf_get_smp_processor_id(), &event);
}

/* From Linux 6.4 on; without a callback the interrupt only asks the CPU to schedule. */
SEC("tp_btf/ipi_send_cpu")
int BPF_PROG(ipi_send_cpu, u32 cpu, unsigned long site, void *callback)
{
	sent(calls(ctx), cpu, callback ? VECTOR_CALL_FUNCTION_SINGLE : VECTOR_RESCHEDULE);
	return 0;
}

SEC("tp_btf/ipi_send_cpumask")
int BPF_PROG(ipi_send_cpumask, const unsigned long *words)
{
	return sent_to_many(calls(ctx), words);
}

/* Before Linux 6.4, x86. */
SEC("fentry/native_smp_send_reschedule")
int BPF_PROG(send_reschedule, int cpu)
{
	sent(calls(ctx), cpu, VECTOR_RESCHEDULE);
	return 0;
}

SEC("fentry/native_send_call_func_single_ipi")
int BPF_PROG(send_call_function_single, int cpu)
{
	sent(calls(ctx), cpu, VECTOR_CALL_FUNCTION_SINGLE);
	return 0;
}

SEC("fentry/native_send_call_func_ipi")
int BPF_PROG(send_call_function, const unsigned long *words)
{
	return sent_to_many(calls(ctx), words);
}

#endif
