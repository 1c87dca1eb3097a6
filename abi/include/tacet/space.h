/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What Linux and the cores share about one hosted address space.
 *
 * Owns: the counters of threads that wait for its private futexes, on Linux and on
 * cores, so that a waker on one side knows whether the other side must look too; and the
 * number of its grants. The entries lie behind the contexts; `space` of a context is the
 * index.
 */
#ifndef TACET_ABI_SPACE_H
#define TACET_ABI_SPACE_H

#include "types.h"

#define TACET_FUTEX_COUNTERS 32u

struct tacet_space_shared {
	/* Written by Linux, atomically. Linux counts a waiting call before it compares the
	 * futex's value, and until the call has ended. The counter's index is the futex's
	 * address / 4 % TACET_FUTEX_COUNTERS. */
	__u32 waits_on_linux[TACET_FUTEX_COUNTERS];

	/* Written by the cores, atomically. */
	__u32 waits_on_cores;		/* threads in local waits */
	__u32 reserved[15];

	/* Written by Linux: the grants of the space that are not free (pico.h). */
	__u32 pico_grants;
	__u32 reserved1[15];
};

static_assert(sizeof(struct tacet_space_shared) == 256, "space layout");

#endif
