/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The frame of a restartable sequence (rseq(2)), for rseq.c and membarrier.c: its
 * descriptor, the store that begins it, and the signature before the abort handler.
 */
#ifndef SEQUENCE_H
#define SEQUENCE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/rseq.h>

/* The thread's own area, which glibc registered. */
static inline struct rseq *rseq_self(void)
{
	return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

/* The sequence is from label 1 to label 2; %0 is the address of rseq_cs. Uses rax. */
#define SEQUENCE_BEGIN                                                  \
	".pushsection __rseq_cs, \"aw\"\n"                              \
	".balign 32\n"                                                  \
	"3: .long 0, 0\n .quad 1f, 2f - 1f, 4f\n"                       \
	".popsection\n"                                                 \
	"lea 3b(%%rip), %%rax\n"                                        \
	"mov %%rax, (%0)\n"

/* Leaves the sequence to @done; the signature before label 4 is ud1's displacement. */
#define SEQUENCE_END(done, aborted)                                     \
	"2: jmp %l[" #done "]\n"                                        \
	".byte 0x0f, 0xb9, 0x3d\n"                                      \
	".long 0x53053053\n"                                            \
	"4: jmp %l[" #aborted "]"

#endif
