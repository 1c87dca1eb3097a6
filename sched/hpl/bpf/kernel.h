/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few types and constants of the kernel that the scheduler uses. libbpf looks up the
 * offsets of fields in the running kernel's BTF when it loads the scheduler (CO-RE); names
 * and types must agree. Constants that changed are looked up in the same way; all others
 * are the same since Linux 6.13.
 */
#ifndef TACET_HPL_KERNEL_H
#define TACET_HPL_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;

#define true 1
#define false 0
#define NULL ((void *)0)
#define COMM_BYTES 16

/* include/uapi/linux/sched.h, include/linux/sched.h, include/linux/sched/prio.h */
#define POLICY_EXT 7
#define PF_EXITING 0x00000004
#define PF_WQ_WORKER 0x00000020
#define PF_KTHREAD 0x00200000
#define MAX_RT_PRIO 100
#define TASK_UNINTERRUPTIBLE 0x0002

/* include/uapi/linux/bpf.h */
#define BPF_ANY 0
#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_MAP_TYPE_TASK_STORAGE 29
#define BPF_F_NO_PREALLOC (1U << 0)
#define BPF_LOCAL_STORAGE_GET_F_CREATE (1ULL << 0)
#define BPF_F_TIMER_CPU_PIN (1ULL << 1)
#define CLOCK_MONOTONIC 1

/* kernel/sched/ext_internal.h */
#define SCX_DSQ_LOCAL (1ULL << 63 | 2)
#define SCX_DSQ_LOCAL_ON (1ULL << 63 | 1ULL << 62)
#define SCX_SLICE_DFL (20 * 1000 * 1000ULL)
#define SCX_SLICE_INF (~0ULL)
#define SCX_ENQ_WAKEUP (1ULL << 0)
#define SCX_ENQ_PREEMPT (1ULL << 32)
#define SCX_ENQ_REENQ (1ULL << 40)
#define SCX_ENQ_LAST (1ULL << 41)
#define SCX_DEQ_SLEEP (1ULL << 0)
#define SCX_WAKE_FORK (1ULL << 2)
#define SCX_KICK_IDLE (1ULL << 0)
#define SCX_KICK_PREEMPT (1ULL << 1)
#define SCX_TASK_QUEUED (1U << 0)
#define SCX_OPS_ENQ_LAST (1ULL << 1)
#define SCX_OPS_ENQ_EXITING (1ULL << 2)
#define SCX_OPS_ENQ_MIGRATION_DISABLED (1ULL << 4)

/* up to Linux 6.18 the value is 1 << 4 */
enum scx_enq_flags {
	SCX_ENQ_HEAD = 1 << 16,
};
#define ENQ_HEAD ((u64)bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_HEAD))

enum scx_exit_kind {
	SCX_EXIT_NONE = 0,
	SCX_EXIT_UNREG = 64,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cpumask {
	unsigned long bits[1];
};

struct sched_ext_entity {
	u32 flags;
	u64 slice;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[0];
};

typedef struct {
	u32 val;
} kuid_t;

struct cred {
	kuid_t uid;
};

struct tty_struct;

struct signal_struct {
	struct tty_struct *tty;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int prio;
	struct sched_ext_entity scx;
	unsigned int policy;
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	unsigned short migration_disabled;
	s32 pid;
	s32 tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	const struct cred *real_cred;
	struct signal_struct *signal;
	kuid_t loginuid;
	char comm[COMM_BYTES];
	struct css_set *cgroups;
};

struct scx_init_task_args {
	bool fork;
};

struct scx_exit_task_args {
	bool cancelled;
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
};

#pragma clang attribute pop

struct scx_cpu_release_args;

/* Names and order are the kernel's. The kernel has a default for each operation that is left out. */
struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	bool (*yield)(struct task_struct *from, struct task_struct *to);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *cpumask);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	void (*disable)(struct task_struct *p);
	void (*cpu_online)(s32 cpu);
	void (*cpu_offline)(s32 cpu);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u64 flags;
	u32 timeout_ms;
	char name[128];
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
};

struct bpf_timer {
	u64 opaque[2];
};

struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));

struct bpf_iter_scx_dsq {
	u64 opaque[6];
} __attribute__((aligned(8)));

#endif
