/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the scheduler in the kernel and its loader tell each other, through maps that
 * maps.h describes. src/layout.rs spells the same structures for the loader.
 */
#ifndef TACET_HPL_HPL_H
#define TACET_HPL_HPL_H

/* CPUs that the maps have room for. */
#define CPUS 4096

/* Who runs. Order matters to nobody but src/layout.rs. */
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

/* Where a CPU is: numbers without gaps. Written by the loader before the start. */
struct hpl_place {
	__u32 package;
	__u32 core;
	__u32 cache;
	/* 0: nobody said where it is, and no HPC task is placed there */
	__u32 known;
};

/* HPC tasks that were placed somewhere and have not left. */
struct hpl_load {
	/* threads that lead a process */
	__u32 processes;
	/* all threads */
	__u32 tasks;
	/* processes with living HPC children; `processes` and `tasks` hold them, too */
	__u32 launchers;
};

/* Written by the loader before the start. */
struct hpl_options {
	__u64 quantum_ns;
	__u64 trickle_ns;
	__u64 trickle_period_ns;
	__u32 trickle_cpu;
	/* how many control groups are named */
	__u32 groups;
};

/* Counts of one CPU; added to by any. */
struct hpl_counts {
	/* by class of who is switched to */
	__u64 switches[CLASSES];
	/* by class of who moved here */
	__u64 migrations[CLASSES];
	/* HPC tasks placed here, and those of them that had been placed before */
	__u64 placed;
	__u64 placed_again;
	/* normal tasks that had to wait or go elsewhere, for an HPC task */
	__u64 kept_off;
	/* normal tasks switched to beside a runnable HPC task, without a trickle */
	__u64 intrusions;
	__u64 trickles;
	__u64 trickle_ns;
	/* of the HPC tasks that moved here: those whose allowed CPUs had changed */
	__u64 rebound;
	/* normal tasks let run here while an HPC task of this CPU waited for the kernel */
	__u64 lent;
};

/* Why the scheduler ended. Written once, when it does. */
struct hpl_end {
	__s64 code;
	__s32 kind;
	__u32 padding;
	char reason[64];
	char message[256];
};

#endif
