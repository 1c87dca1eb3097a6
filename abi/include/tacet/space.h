/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What Linux and the cores share about one hosted address space.
 *
 * Owns: who waits on Linux for a private futex of it, so that a core which wakes
 * one knows whether Linux must look too. Entries lie behind the contexts; a
 * context names its own.
 */
#ifndef TACET_ABI_SPACE_H
#define TACET_ABI_SPACE_H

#include "types.h"

#define TACET_FUTEX_COUNTERS 32u

struct tacet_space_shared {
	/* Linux, atomically. Counted before the futex's value is compared, and until
	 * the waiting call has ended; by the futex's address / 4 % the number of counters. */
	__u32 waits_on_linux[TACET_FUTEX_COUNTERS];

	/* the cores, atomically */
	__u32 waits_on_cores;		/* threads in local waits */
	__u32 reserved[31];
};

static_assert(sizeof(struct tacet_space_shared) == 256, "space layout");

#endif
