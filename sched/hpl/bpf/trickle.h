/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Normal tasks never starve for ever: where every CPU that they may use computes, a
 * timer on the trickle's CPU lets them through for a bounded time in each period, on that
 * CPU; tasks that may not run there, on their own. Many that wait share the time in
 * shorter windows, so that each has its turn before the kernel's watchdog asks (30 s).
 */
#ifndef TACET_HPL_TRICKLE_H
#define TACET_HPL_TRICKLE_H

#include "leave.h"

/* Of one period. */
#define MOST_WINDOWS 64
/* Of a period of up to a second, one window more for so many waiting tasks; of a longer one, as many in each second. */
#define WAITING_EACH 8
#define SECOND_NS (1000 * 1000 * 1000ULL)

static __always_inline u32 windows_for(u32 count, u64 period_ns)
{
	u32 most = 1 + count * (u32)((period_ns + SECOND_NS - 1) / SECOND_NS) / WAITING_EACH;

	return most < MOST_WINDOWS ? most : MOST_WINDOWS;
}

/* Windows of the period that has begun. */
static u32 windows;

/* Also where all HPC tasks sleep: who waits behind those of other CPUs is taken by nobody else. */
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
 * What the timer saw. In memory, because the verifier would follow each value that a
 * local variable can have through the loops.
 */
u32 waiting;
/* Some may run on the trickle's CPU; some may not, and wait on the CPU looked at. */
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

/* What was queued for all when no HPC task ran; who may not run on the trickle's CPU waits on its own from now on. */
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
	/* an HPC task began to wait while somebody was on his way into a queue */
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

/* In softirq of the trickle's CPU: opens, and the next time closes. */
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
		/* up to Linux 6.17 the verifier takes this for a place that may sleep, as begin_trickle() may */
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

/* Run once by the loader, on the trickle's CPU. */
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
