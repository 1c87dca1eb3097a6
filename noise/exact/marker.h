/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The agreement between measured programs and the plugin: the markers, and the addresses of the measured program.
 *
 * Owns: the byte pattern 0f 1f 80 KIND LABEL 'T' 'C' (nopl disp32(%rax)), the meaning of KIND, and an address range that
 * nothing else in a node uses: user code in it belongs to the measured program, all other user code to other programs.
 * Executed by programs in the guest, recognised by plugin/. Without a plugin a marker must have no effect.
 */
#ifndef TACET_EXACT_MARKER_H
#define TACET_EXACT_MARKER_H

enum marker_kind {
	MARK_BEGIN = 1,		/* the plugin measures this CPU from here */
	MARK_QUANTUM = 2,	/* one quantum ends here (not the first time), the next one begins */
	MARK_END = 3,		/* the plugin stops measuring this CPU and writes what it saw */
	MARK_REGION = 4,	/* region LABEL begins: the plugin saves every CPU's counters */
	MARK_REGION_END = 5,	/* region LABEL ends: the plugin writes the differences */
	MARK_STEP = 6,		/* one step of region LABEL ends here (not the first time), the next one begins */
};

#define MARK_LABELS 64

#define MARK(kind, label)						\
	asm volatile(".byte 0x0f, 0x1f, 0x80, %c0, %c1, 'T', 'C'"	\
		     : : "i"(kind), "i"(label) : "memory")

/* build.rs links quanta.c here. Linux loads programs and libraries below or above, never here. */
#define PROGRAM_BASE 0x1ace00000000
#define PROGRAM_GUIDE 0x1ace00100000	/* struct guide */
#define PROGRAM_END 0x1ace00200000

#define PROGRAM_NAME "tacet-quanta"	/* the task's name in the kernel: 15 characters at most */

struct guide {			/* filled by quanta.c before MARK_BEGIN; read by plugin/names.c at MARK_BEGIN */
	unsigned long offsets;	/* address of the kernel's __per_cpu_offset, 0 if unknown */
	unsigned long current;	/* address of its per-CPU variable that begins with the running task */
	unsigned int pid[2];	/* pid and tgid of the program, as they lie in the kernel */
};

#endif
