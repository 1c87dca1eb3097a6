/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's functions that BPF programs may call (kfuncs), under their names since
 * Linux 6.13. hpl.bpf.c uses a flag that is newer. Included once, by maps.h.
 */
#ifndef TACET_HPL_FUNCTIONS_H
#define TACET_HPL_FUNCTIONS_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

extern s32 scx_bpf_create_dsq(u64 dsq, s32 node) __ksym;
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq, u64 slice, u64 enq_flags) __ksym;
extern bool scx_bpf_dsq_move_to_local(u64 dsq) __ksym;
extern bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq, u64 enq_flags) __ksym;
extern s32 scx_bpf_dsq_nr_queued(u64 dsq) __ksym;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
extern s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
extern u32 scx_bpf_nr_cpu_ids(void) __ksym;
extern s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev, u64 wake_flags, bool *is_idle) __ksym;
extern bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym;
extern u32 scx_bpf_reenqueue_local(void) __ksym;
extern const struct cpumask *scx_bpf_get_online_cpumask(void) __ksym;
extern void scx_bpf_put_cpumask(const struct cpumask *mask) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;
extern int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq, u64 flags) __ksym;
extern struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;
/* Since Linux 6.19; older kernels let the program write the slice directly. */
extern bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice) __ksym __weak;

/* The CPUs that accept tasks: one that goes offline leaves this mask before the online mask. */
extern const void __cpu_active_mask __ksym __weak;

/* The iterator of the bpf_for_each() around it. */
#define THIS_ITERATOR (&___it)

static __always_inline void set_slice(struct task_struct *p, u64 slice_ns)
{
	if (bpf_ksym_exists(scx_bpf_task_set_slice))
		scx_bpf_task_set_slice(p, slice_ns);
	else
		p->scx.slice = slice_ns;
}

#endif
