/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The few fields of the kernel's types that the trace reads. libbpf looks up their offsets
 * in the running kernel's BTF when it loads the programs (CO-RE), so one object serves
 * every kernel; only names and types must agree.
 */
#ifndef TACET_NOISE_TRACE_KERNEL_H
#define TACET_NOISE_TRACE_KERNEL_H

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
typedef __s64 s64;
typedef _Bool bool;

#define true 1
#define false 0

#define NULL ((void *)0)
#define COMM_BYTES 16

/* include/linux/sched.h */
#define PF_WQ_WORKER 0x00000020
#define PF_KTHREAD 0x00200000

/* include/uapi/linux/bpf.h */
#define BPF_ANY 0
#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_STACK_TRACE 7
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_MAP_TYPE_ARRAY_OF_MAPS 12
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_F_FAST_STACK_CMP (1ULL << 9)
#define BPF_F_REUSE_STACKID (1ULL << 10)
#define BPF_RB_NO_WAKEUP (1ULL << 0)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
	u32 pid;
	u32 tgid;
	unsigned int flags;
	char comm[COMM_BYTES];
};

struct irqaction {
	const char *name;
};

struct work_struct {
	void (*func)(struct work_struct *work);
};

struct hrtimer {
	int (*function)(struct hrtimer *timer);
};

struct timer_list {
	void (*function)(struct timer_list *timer);
};

#pragma clang attribute pop

#endif
