/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Fixed-width types, the revision and the limits of the border.
 *
 * Every other header of this directory includes it. The border must never hold a
 * pointer, a field under an #ifdef, or anything that only one side needs.
 */
#ifndef TACET_ABI_TYPES_H
#define TACET_ABI_TYPES_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>
#else
#include <assert.h>
#include <stddef.h>
#include <linux/types.h>
#endif

/* Every change of a structure raises it; both sides check it at every door. */
#define TACET_ABI_REVISION 32u

#define TACET_PAGE_BYTES 4096u
#define TACET_MAX_CPUS 1024u
#define TACET_CPU_WORDS (TACET_MAX_CPUS / 64u)
#define TACET_MAX_NODES 16u
#define TACET_TEXT_BYTES 128u

/* Any CPU of the partition. */
#define TACET_ANY_CPU 0xffffffffu
#define TACET_ANY_NODE 0xffffffffu

/* Measures that keep programs of several users apart on a processor with bugs by which one program
 * can read what belongs to another. Bits. */
enum tacet_measure {
	TACET_MEASURE_ONE_USER = 1,	/* the partition hosts programs of one user at a time, and
					   its memory is cleared before those of the next */
	TACET_MEASURE_PREDICTORS = 2,	/* when another user's thread runs on a core: clear the
					   branch predictors (IBPB), */
	TACET_MEASURE_RETURNS = 4,	/* the stack of predicted returns, */
	TACET_MEASURE_BUFFERS = 8,	/* the core's buffers (VERW), */
	TACET_MEASURE_L1D = 16,		/* the first-level data cache */
	TACET_MEASURE_EACH_PROGRAM = 32,	/* and do so for each other program */
};
#define TACET_MEASURES_ALL 63u

#endif
