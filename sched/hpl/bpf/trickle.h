/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keeps normal tasks from starving. If HPC tasks occupy every CPU that normal tasks may use, a
 * timer on the trickle's CPU lets normal tasks run there for a bounded time in each period. Tasks
 * whose affinity excludes that CPU run on their own CPU. If many tasks wait, the time is divided
 * into shorter windows, so that each gets its turn before the kernel's watchdog acts (30 s).
 */
#ifndef TACET_HPL_TRICKLE_H
#define TACET_HPL_TRICKLE_H

#include "leave.h"

/* The most windows in one period. */
#define MOST_WINDOWS 64
/* One more window in a period for so many waiting tasks; in a period above 1 s, one more for each second of it. */
#define WAITING_EACH 8
#define SECOND_NS (1000 * 1000 * 1000ULL)

static __always_inline u32 windows_for(u32 count, u64 period_ns)
{
	u32 most = 1 + count * (u32)((period_ns + SECOND_NS - 1) / SECOND_NS) / WAITING_EACH;

	return most < MOST_WINDOWS ? most : MOST_WINDOWS;
}

/* The number of windows in the current period. */
static u32 windows;

/* Also opens on a CPU whose HPC tasks all sleep: tasks that wait behind those of other CPUs have no other way. */
static __always_inline void open_window(s32 cpu)
{
	struct cpu_state *state = state_of(cpu);

	if (!state || state->window)
		return;
	state->window = 1;
	COUNT(cpu, trickles);
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/*
 * The timer's findings: the number of waiting tasks. Global, because the verifier would follow
 * each possible value of a local variable through the loops.
 */
u32 waiting;
/* Some task may run on the trickle's CPU; some task on the examined CPU may not. */
u32 waits_for_door, is_confined;

static __always_inline void look_at(s32 cpu)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, normal_queue(cpu), 0) {
		waiting++;
		if (!p->migration_disabled && bpf_cpumask_test_cpu(door, p->cpus_ptr))
			waits_for_door = 1;
		else
			is_confined = 1;
	}
}

/*
 * Examines the tasks that were queued for all CPUs while no HPC task ran. A task that may not run on
 * the trickle's CPU moves to the queue of its own CPU.
 */
static __always_inline void look_at_shared(void)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, SHARED_QUEUE, 0) {
		s32 cpu = scx_bpf_task_cpu(p);

		waiting++;
		if (bpf_cpumask_test_cpu(door, p->cpus_ptr))
			waits_for_door = 1;
		else if (may_run_on(p, cpu) && scx_bpf_dsq_move(THIS_ITERATOR, p, normal_queue(cpu), 0))
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	}
}

static void open_windows(void)
{
	s32 cpus = scx_bpf_nr_cpu_ids(), cpu;

	waiting = waits_for_door = 0;
	if (hpc_runnable > 0)
		look_at_shared();
	bpf_for(cpu, 0, cpus) {
		if (!hpc_wants(cpu) || !scx_bpf_dsq_nr_queued(normal_queue(cpu)))
			continue;
		is_confined = 0;
		look_at(cpu);
		if (is_confined)
			open_window(cpu);
	}
	if (waits_for_door)
		open_window(door);
	/* an HPC task may have begun to wait while a normal task was on its way into a queue */
	tell_lenders();
}

static void close_windows(void)
{
	s32 cpus = scx_bpf_nr_cpu_ids(), cpu;

	bpf_for(cpu, 0, cpus) {
		struct cpu_state *state = state_of(cpu);

		if (!state || !state->window)
			continue;
		state->window = 0;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
}

/* Runs in softirq on the trickle's CPU: opens the windows, and closes them the next time. */
static int on_timer(void *map, u32 *key, struct timer_state *state)
{
	struct hpl_options *chosen = the_options();
	u64 next_ns;

	if (!chosen)
		return 0;
	if (!windows)
		windows = 1;
	choose_door(bpf_get_smp_processor_id());
	if (going >= 0)
		prod(going);
	if (!state->open) {
		/* up to Linux 6.17 the verifier treats the callback as sleepable, because begin_trickle() is */
		bpf_rcu_read_lock();
		open_windows();
		bpf_rcu_read_unlock();
		windows = windows_for(waiting, chosen->trickle_period_ns);
		next_ns = chosen->trickle_ns / windows;
	} else {
		close_windows();
		next_ns = (chosen->trickle_period_ns - chosen->trickle_ns) / windows;
	}
	state->open = !state->open;
	bpf_timer_start(&state->timer, next_ns, BPF_F_TIMER_CPU_PIN);
	return 0;
}

/* The loader runs it once, on the trickle's CPU. */
SEC("syscall")
int begin_trickle(void *context)
{
	struct hpl_options *chosen = the_options();
	struct timer_state *state;
	u32 key = 0;

	state = bpf_map_lookup_elem(&timers, &key);
	if (!state || !chosen)
		return 1;
	door = chosen->trickle_cpu;
	if (bpf_timer_init(&state->timer, &timers, CLOCK_MONOTONIC) || bpf_timer_set_callback(&state->timer, on_timer))
		return 2;
	return bpf_timer_start(&state->timer, chosen->trickle_period_ns, BPF_F_TIMER_CPU_PIN) ? 3 : 0;
}

#endif
