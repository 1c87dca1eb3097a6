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
#define TACET_ABI_REVISION 15u

#define TACET_PAGE_BYTES 4096u
#define TACET_MAX_CPUS 1024u
#define TACET_CPU_WORDS (TACET_MAX_CPUS / 64u)
#define TACET_MAX_NODES 16u
#define TACET_TEXT_BYTES 128u

/* Any CPU of the partition. */
#define TACET_ANY_CPU 0xffffffffu

#endif
