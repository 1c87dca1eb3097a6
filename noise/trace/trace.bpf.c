/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Records everything that runs on the measured CPUs besides the measuring threads:
 * interrupts, softirqs, timers' functions, workers, other tasks, faults, migrations.
 *
 * Loaded by src/trace/tracer.rs, which leaves out the programs whose tracepoint or
 * function the running kernel does not have. Runs in whatever context the kernel is in,
 * also with interrupts off or in an NMI. It must never wake a task: events stay in
 * their CPU's ring until the tracer fetches them.
 */
#include "frames.h"
#include <bpf/bpf_tracing.h>
#include "senders.h"

/* The first eight letters of the measuring threads' name, "measuring". */
#define MEASURING 0x6e697275736165ULL << 8 | 'm'

#define VECTOR(name, vector)                                                              \
	SEC("tp_btf/" #name "_entry")                                                     \
	int BPF_PROG(name##_entry)                                                        \
	{                                                                                 \
		return enter(EVENT_VECTOR, vector, 0);                                    \
	}                                                                                 \
	SEC("tp_btf/" #name "_exit")                                                      \
	int BPF_PROG(name##_exit)                                                         \
	{                                                                                 \
		return leave(EVENT_VECTOR);                                               \
	}

VECTOR(local_timer, VECTOR_LOCAL_TIMER)
VECTOR(reschedule, VECTOR_RESCHEDULE)
VECTOR(call_function, VECTOR_CALL_FUNCTION)
VECTOR(call_function_single, VECTOR_CALL_FUNCTION_SINGLE)
VECTOR(irq_work, VECTOR_IRQ_WORK)
VECTOR(threshold_apic, VECTOR_THRESHOLD)
VECTOR(deferred_error_apic, VECTOR_DEFERRED_ERROR)
VECTOR(thermal_apic, VECTOR_THERMAL)
VECTOR(error_apic, VECTOR_ERROR)
VECTOR(spurious_apic, VECTOR_SPURIOUS)
VECTOR(x86_platform_ipi, VECTOR_PLATFORM)
/* arm64 and others */
VECTOR(ipi, VECTOR_OTHER)

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry, int number, struct irqaction *action)
{
	u32 key = number;

	if (measuring_process() && !bpf_map_lookup_elem(&interrupts, &key)) {
		char name[32] = {};

		bpf_probe_read_kernel_str(name, sizeof(name), action->name);
		bpf_map_update_elem(&interrupts, &key, name, BPF_ANY);
	}
	return enter(EVENT_INTERRUPT, number, 0);
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit)
{
	return leave(EVENT_INTERRUPT);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int number)
{
	return enter(EVENT_SOFTIRQ, number, 0);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit)
{
	return leave(EVENT_SOFTIRQ);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(hrtimer_expire_entry, struct hrtimer *timer)
{
	return enter(EVENT_HRTIMER, 0, (u64)timer->function);
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(hrtimer_expire_exit)
{
	return leave(EVENT_HRTIMER);
}

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(timer_expire_entry, struct timer_list *timer)
{
	return enter(EVENT_TIMER, 0, (u64)timer->function);
}

SEC("tp_btf/timer_expire_exit")
int BPF_PROG(timer_expire_exit)
{
	return leave(EVENT_TIMER);
}

SEC("tp_btf/nmi_handler")
int BPF_PROG(nmi_handler, void *handler, __s64 delta_ns, int handled)
{
	u64 now_ns = bpf_ktime_get_ns(), gross_ns = delta_ns > 0 ? delta_ns : 0;
	struct frame frame = { .start_ns = now_ns - gross_ns, .address = (u64)handler, .kind = EVENT_NMI };
	struct state *state = state_here();

	if (!state)
		return 0;
	emit(&frame, gross_ns);
	charge(state, gross_ns);
	return 0;
}

static __always_inline bool is_measured(struct task_struct *task, u32 process)
{
	u64 letters;

	if (task->tgid != process)
		return false;
	bpf_probe_read_kernel(&letters, sizeof(letters), task->comm);
	return letters == (MEASURING);
}

static __always_inline void end_task(struct state *state, u64 now_ns)
{
	if (state->task.detail)
		emit(&state->task, now_ns - state->task.start_ns);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u32 process = measuring_process(), pid = next->pid;
	struct state *state = state_here();
	u64 now_ns = bpf_ktime_get_ns();
	u64 *function;

	if (!state)
		return 0;
	/* A measuring thread sets its name only after it began to run, so look at the name again. */
	if (state->task.detail && state->task.detail != prev->pid) {
		/* The kernel did not report a switch: the length of the task's run is unknown. */
		lose(bpf_get_smp_processor_id());
	} else if (state->task.detail && !is_measured(prev, process)) {
		remember(prev, state->task.detail);
		end_task(state, now_ns);
	}
	state->depth = 0;
	state->task.detail = 0;
	if (!pid || is_measured(next, process))
		return 0;
	function = next->flags & PF_WQ_WORKER ? bpf_map_lookup_elem(&working, &pid) : NULL;
	state->task.detail = pid;
	state->task.kind = EVENT_TASK;
	state->task.flags = (next->flags & PF_KTHREAD ? EVENT_KERNEL_THREAD : 0) | (function ? EVENT_CONTINUED : 0);
	state->task.address = function ? *function : 0;
	state->task.nested_ns = 0;
	state->task.start_ns = now_ns;
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(workqueue_execute_start, struct work_struct *work)
{
	u32 pid = (u32)bpf_get_current_pid_tgid();
	u64 now_ns = bpf_ktime_get_ns(), function = (u64)work->func;
	struct state *state = state_here();

	if (!state || !state->task.detail)
		return 0;
	bpf_map_update_elem(&working, &pid, &function, BPF_ANY);
	/* The second or a later work item begins here; the first one includes the time before it. */
	if (state->task.address) {
		end_task(state, now_ns);
		state->task.start_ns = now_ns;
		state->task.nested_ns = 0;
		state->task.flags &= ~EVENT_CONTINUED;
	}
	state->task.address = function;
	ordered(work, pid, now_ns);
	return 0;
}

SEC("tp_btf/workqueue_execute_end")
int BPF_PROG(workqueue_execute_end)
{
	u32 pid = (u32)bpf_get_current_pid_tgid();

	if (measuring_process())
		bpf_map_delete_elem(&working, &pid);
	return 0;
}

SEC("fentry/handle_mm_fault")
int BPF_PROG(fault_entry)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	u32 process = measuring_process();

	if (process && is_measured(task, process))
		enter(EVENT_FAULT, task->pid, 0);
	return 0;
}

SEC("fexit/handle_mm_fault")
int BPF_PROG(fault_exit)
{
	return leave(EVENT_FAULT);
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(sched_migrate_task, struct task_struct *task, int destination)
{
	u32 cpu = destination, pid = task->pid;
	u32 *process = bpf_map_lookup_elem(&measured, &cpu);
	struct event event = { .start_ns = bpf_ktime_get_ns(), .detail = pid, .kind = EVENT_MIGRATION };

	if (!process || !*process)
		return 0;
	remember(task, pid);
	emit_to(cpu, &event);
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
