/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kept tasks: normal tasks of users, groups and logins that the administrator named. On a node
 * whose CPUs all compute they run before HPC tasks, so that a shell answers at once, but for at most
 * KEPT_SHARE_NS in each KEPT_PERIOD_NS on a CPU (and to the next tick). Who uses more waits for the
 * next period. So this is no way around HPL: many kept tasks share what one would get.
 *
 * A keystroke goes through a worker of the kernel, which may be any. Such workers are kept for a
 * while after a kept task became runnable.
 *
 * Called by hpl.bpf.c, with the rq lock of the CPU held. Only that CPU changes its `kept_*` fields.
 */
#ifndef TACET_HPL_KEPT_H
#define TACET_HPL_KEPT_H

#include "normal.h"

#define KEPT_PERIOD_NS (100 * 1000 * 1000ULL)
#define KEPT_SHARE_NS (10 * 1000 * 1000ULL)
/* A turn of a kept task beside others; ends at a tick. */
#define KEPT_SLICE_NS (2 * 1000 * 1000ULL)
/* The kernel's workers are kept for so long after a kept task. */
#define KEPT_WORKERS_NS (1000 * 1000 * 1000ULL)

/* When a kept task last became runnable; any CPU writes it. */
static u64 kept_at_ns;

#define NO_USER (~0U)

/* The real user: a set-user-ID program is not its owner. */
static __always_inline u32 user_of(struct task_struct *p)
{
	const struct cred *creds = BPF_CORE_READ(p, real_cred);
	u32 user;

	return bpf_core_read(&user, sizeof(user), &creds->uid) ? NO_USER : user;
}

/*
 * A shell at a terminal, what it starts, and the server of a login (sshd), which has no terminal; not
 * root's daemons. The login's user alone proves nothing: a process without one may set it.
 */
static __always_inline bool is_login_of_root(struct task_struct *p)
{
	u32 login = NO_USER;

	if (user_of(p))
		return false;
	if (bpf_core_field_exists(p->loginuid))
		bpf_core_read(&login, sizeof(login), &p->loginuid);
	return !login || BPF_CORE_READ(p, signal, tty);
}

static __always_inline bool wants_kept(struct task_struct *p)
{
	struct hpl_options *chosen = the_options();
	u32 user;

	if (!chosen || !chosen->keeps)
		return false;
	if (p->flags & PF_KTHREAD)
		return (p->flags & PF_WQ_WORKER) && kept_at_ns && bpf_ktime_get_ns() - kept_at_ns < KEPT_WORKERS_NS;
	user = user_of(p);
	if (!(chosen->keeps & KEEP_LOGINS && is_login_of_root(p)) &&
	    !(chosen->keeps & KEEP_USERS && bpf_map_lookup_elem(&kept_users, &user)) &&
	    !(chosen->keeps & KEEP_GROUPS && group_is_named(p, GROUP_KEPT)))
		return false;
	kept_at_ns = bpf_ktime_get_ns();
	return true;
}

/* Adds the running kept task's time, if it took this from an HPC task. */
static __always_inline void charge_kept(struct cpu_state *state)
{
	u64 now_ns = bpf_ktime_get_ns();

	if (!state->kept_since_ns)
		return;
	if (state->runnable > 0)
		state->kept_ran_ns += now_ns - state->kept_since_ns;
	state->kept_since_ns = now_ns;
}

/* Whether kept tasks have time left on the CPU. Begins a new period if the last one is over. */
static __always_inline bool has_kept_time(struct cpu_state *state)
{
	u64 now_ns = bpf_ktime_get_ns();

	if (now_ns - state->kept_period_ns >= KEPT_PERIOD_NS) {
		state->kept_period_ns = now_ns;
		state->kept_ran_ns = 0;
	}
	return state->kept_ran_ns < KEPT_SHARE_NS;
}

/* The slice of an HPC task: not past the next period if a kept task waits for that. */
static __always_inline u64 until_kept_ns(struct cpu_state *state, s32 cpu, u64 slice_ns)
{
	u64 past_ns = bpf_ktime_get_ns() - state->kept_period_ns, rest_ns;

	if (!scx_bpf_dsq_nr_queued(kept_queue(cpu)))
		return slice_ns;
	rest_ns = past_ns < KEPT_PERIOD_NS ? KEPT_PERIOD_NS - past_ns : 1;
	return rest_ns < slice_ns ? rest_ns : slice_ns;
}

/* A CPU that HPC tasks want, on which the task may use kept time now: its own, otherwise the first. */
__noinline s32 find_kept_time(struct task_struct *p __arg_trusted, s32 own)
{
	s32 cpus = scx_bpf_nr_cpu_ids(), cpu;
	u64 now_ns = bpf_ktime_get_ns();

	bpf_for(cpu, -1, cpus) {
		s32 each = cpu < 0 ? own : cpu;
		struct cpu_state *state = state_of(each);

		if (!state || !may_run_on(p, each) || scx_bpf_dsq_nr_queued(kept_queue(each)))
			continue;
		if (state->kept_ran_ns < KEPT_SHARE_NS || now_ns - state->kept_period_ns >= KEPT_PERIOD_NS)
			return each;
	}
	return own;
}

/*
 * Returns false if a CPU is free: then the task waits as a normal one. A task that is put back on its
 * CPU does not interrupt that: the CPU is choosing, and sees the queue when it has chosen.
 */
static __always_inline bool insert_kept(struct task_struct *p, s32 cpu, u64 enq_flags)
{
	s32 target = cpu;

	if (hpc_runnable <= 0 || (!hpc_wants(cpu) && cannot_migrate(p)))
		return false;
	if (!cannot_migrate(p)) {
		if (is_free(cpu) || find_free(p) >= 0)
			return false;
		/* one that computes stays: it takes from one CPU alone */
		if (enq_flags & SCX_ENQ_WAKEUP)
			target = find_kept_time(p, cpu);
	}
	COUNT(cpu, kept_off);
	scx_bpf_dsq_insert(p, kept_queue(target), KEPT_SLICE_NS, enq_flags);
	if (target != cpu || p != bpf_get_current_task_btf())
		scx_bpf_kick_cpu(target, SCX_KICK_PREEMPT);
	return true;
}

/*
 * Takes a kept task before HPC tasks, or continues the one that runs. That one may have begun as a
 * normal task, in a trickle or before it was kept: its time counts from here on.
 */
static __always_inline bool take_kept(s32 cpu, struct cpu_state *state, struct task_struct *prev, bool continues)
{
	if (continues && !state->kept_since_ns)
		state->kept_since_ns = bpf_ktime_get_ns();
	charge_kept(state);
	if (state->runnable <= 0 || !has_kept_time(state))
		return false;
	if (scx_bpf_dsq_move_to_local(kept_queue(cpu)))
		return true;
	if (!continues || !prev)
		return false;
	set_slice(prev, KEPT_SLICE_NS);
	return true;
}

#endif
