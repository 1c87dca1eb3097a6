/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What measured programs and the plugin have agreed on: the markers, and where the measured program is.
 *
 * Owns: the byte pattern 0f 1f 80 KIND LABEL 'T' 'C' (nopl disp32(%rax)), the meaning of KIND, and an address range that
 * nothing else in a node uses: code in it is the measured program's, other code in user mode is another program's.
 * Written by the guest's programs, recognised by plugin/. Must never change what a program does where no plugin listens.
 */
#ifndef TACET_EXACT_MARKER_H
#define TACET_EXACT_MARKER_H

enum marker_kind {
	MARK_BEGIN = 1,		/* this CPU is measured from here */
	MARK_QUANTUM = 2,	/* one quantum ends here (not the first time), the next one begins */
	MARK_END = 3,		/* measured no more; the plugin writes what it saw */
	MARK_REGION = 4,	/* region LABEL begins: every CPU's counters are noted */
	MARK_REGION_END = 5,	/* region LABEL ends: the differences are written */
};

#define MARK_LABELS 64

#define MARK(kind, label)						\
	asm volatile(".byte 0x0f, 0x1f, 0x80, %c0, %c1, 'T', 'C'"	\
		     : : "i"(kind), "i"(label) : "memory")

/* quanta.c is linked here (build.rs); neither programs nor libraries are loaded so low or so high. */
#define PROGRAM_BASE 0x1ace00000000
#define PROGRAM_GUIDE 0x1ace00100000	/* struct guide */
#define PROGRAM_END 0x1ace00200000

#define PROGRAM_NAME "tacet-quanta"	/* as the kernel knows it: 15 characters at most */

struct guide {			/* filled by quanta.c before MARK_BEGIN; read by plugin/names.c at MARK_BEGIN */
	unsigned long offsets;	/* of the kernel's __per_cpu_offset, 0 if unknown */
	unsigned long current;	/* of its per-CPU variable that begins with the running task */
	unsigned int pid[2];	/* pid and tgid of the program, as they lie in the kernel */
};

#endif
