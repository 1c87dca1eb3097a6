/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The markers: a NOP that says "here" to the counting plugin and nothing to any CPU.
 *
 * Owns: the byte pattern 0f 1f 80 KIND LABEL 'T' 'C' (nopl disp32(%rax)) and the meaning of KIND. Written by the guest
 * programs, recognised by plugin/. Must never change what a program does where no plugin listens.
 */
#ifndef TACET_PERF_MARKER_H
#define TACET_PERF_MARKER_H

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

#endif
