/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The data that the scheduler in the kernel and its loader share, in the maps of maps.h.
 * src/layout.rs has the same structures for the loader.
 */
#ifndef TACET_HPL_HPL_H
#define TACET_HPL_HPL_H

/* The number of CPUs in the maps. */
#define CPUS 4096

/* Classes of tasks, in the order of src/layout.rs. */
enum hpl_class {
	CLASS_IDLE,
	CLASS_NORMAL,
	/* Kernel threads that are pinned to their CPU, and RCU's. */
	CLASS_KERNEL,
	CLASS_HPC,
	/* Real-time, deadline, stop. */
	CLASS_ABOVE,
	CLASSES,
};

/* A CPU's position in the machine, as numbers without gaps. Written by the loader before the start. */
struct hpl_place {
	__u32 package;
	__u32 core;
	__u32 cache;
	/* 0: the position is unknown, and no HPC task is placed there */
	__u32 known;
};

/* HPC tasks that were placed on a CPU, core, package or cache, and have not left. */
struct hpl_load {
	/* threads that lead a process */
	__u32 processes;
	/* all threads */
	__u32 tasks;
	/* processes with living HPC children; also counted in `processes` and `tasks` */
	__u32 launchers;
};

/* What the user named to be kept (kept.h). */
#define KEEP_LOGINS 1
#define KEEP_USERS 2
#define KEEP_GROUPS 4

/* What a control group was named for. */
#define GROUP_HPC 1
#define GROUP_KEPT 2

/* Written by the loader before the start. */
struct hpl_options {
	__u64 quantum_ns;
	__u64 trickle_ns;
	__u64 trickle_period_ns;
	__u32 trickle_cpu;
	/* number of control groups named for the HPC class */
	__u32 groups;
	/* what is kept: KEEP_x */
	__u32 keeps;
	__u32 padding;
};

/* Counts of one CPU; any CPU may add. */
struct hpl_counts {
	/* by class of the task that begins to run */
	__u64 switches[CLASSES];
	/* by class of the task that moved here */
	__u64 migrations[CLASSES];
	/* HPC tasks placed here, and HPC tasks of this CPU that were placed again */
	__u64 placed;
	__u64 placed_again;
	/* normal tasks that had to wait or to run elsewhere because of an HPC task */
	__u64 kept_off;
	/* normal tasks that began to run while an HPC task was runnable, without a trickle */
	__u64 intrusions;
	__u64 trickles;
	__u64 trickle_ns;
	/* migrations of HPC tasks to here because their allowed CPUs had changed */
	__u64 rebound;
	/* normal tasks that ran here while an HPC task of this CPU waited for the kernel */
	__u64 lent;
	/* kept tasks that began to run while an HPC task was runnable, without a trickle */
	__u64 kept;
};

/* Why the scheduler ended. Written once, at the end. */
struct hpl_end {
	__s64 code;
	__s32 kind;
	__u32 padding;
	char reason[64];
	char message[256];
};

#endif
