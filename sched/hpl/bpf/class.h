/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The class of a task: HPC, normal, or a kernel thread that runs before HPC tasks. The
 * scheduler asks whenever a task becomes runnable, so a change takes effect at the next time.
 */
#ifndef TACET_HPL_CLASS_H
#define TACET_HPL_CLASS_H

#include "maps.h"

#define GROUP_DEPTH 32

/* Whether the task is in a control group that was named for this, or in a subgroup. */
static __always_inline bool group_is_named(struct task_struct *p, u8 what)
{
	struct cgroup *group;
	int level, depth;

	group = BPF_CORE_READ(p, cgroups, dfl_cgrp);
	depth = BPF_CORE_READ(group, level);
	bpf_for(level, 0, GROUP_DEPTH) {
		struct cgroup *ancestor;
		u64 number;
		u8 *named;

		if (level > depth)
			break;
		if (bpf_core_read(&ancestor, sizeof(ancestor), &group->ancestors[level]))
			break;
		number = BPF_CORE_READ(ancestor, kn, id);
		named = bpf_map_lookup_elem(&groups, &number);
		if (named && *named == what)
			return true;
	}
	return false;
}

static __always_inline bool in_named_group(struct task_struct *p)
{
	struct hpl_options *chosen = the_options();

	return chosen && chosen->groups && group_is_named(p, GROUP_HPC);
}

static __always_inline bool is_named_daemon(struct task_struct *p)
{
	s32 process = p->tgid;

	return bpf_map_lookup_elem(&daemons, &process);
}

static __always_inline bool wants_hpc(struct task_struct *p)
{
	if (p->flags & PF_KTHREAD)
		return false;
	return p->policy == POLICY_EXT || is_named_daemon(p) || in_named_group(p);
}

static __always_inline bool is_pinned_kernel_thread(struct task_struct *p)
{
	return (p->flags & PF_KTHREAD) && p->nr_cpus_allowed == 1;
}

/*
 * Without RCU's threads no grace period ends, and then no CPU goes offline and no
 * scheduler is unloaded. So these threads do not wait for a trickle.
 */
static __always_inline bool is_rcu(struct task_struct *p)
{
	return (p->flags & PF_KTHREAD) && p->comm[0] == 'r' && p->comm[1] == 'c' && p->comm[2] == 'u';
}

static __always_inline bool is_process(struct task_struct *p)
{
	return p->pid == p->tgid;
}

/* The BPF program itself disables migration while it runs in the task's context: this does not count. */
static __always_inline bool migration_is_disabled(struct task_struct *p)
{
	return p->migration_disabled > (p == bpf_get_current_task_btf());
}

static __always_inline bool cannot_migrate(struct task_struct *p)
{
	return p->nr_cpus_allowed == 1 || migration_is_disabled(p);
}

static __always_inline u32 class_of(struct task_struct *p)
{
	struct task_state *task;

	if (!p->pid)
		return CLASS_IDLE;
	if (p->prio < MAX_RT_PRIO)
		return CLASS_ABOVE;
	if (is_pinned_kernel_thread(p) || is_rcu(p))
		return CLASS_KERNEL;
	task = task_of(p);
	/* Without the scheduler no task has a state: only the counting programs are loaded. */
	if (task ? task->hpc : p->policy == POLICY_EXT)
		return CLASS_HPC;
	return CLASS_NORMAL;
}

#endif
