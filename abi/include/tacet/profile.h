/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The account of a thread's time outside user mode. A core keeps it if the process was
 * hosted with TACET_HOST_PROFILE.
 *
 * Owns: the entries of the account in a context. An entry measures from the moment the
 * thread leaves user mode to the moment it is there again, whatever happens in
 * between. The core that runs the thread writes it; Linux reads it at any time. Neither
 * side may decide anything by it.
 */
#ifndef TACET_ABI_PROFILE_H
#define TACET_ABI_PROFILE_H

#include "types.h"

enum tacet_spent_on {
	TACET_SPENT_NOTHING = 0,	/* the entry is free */
	TACET_SPENT_LOCAL_CALL = 1,	/* the core answered it; `detail` is its number */
	TACET_SPENT_LOCAL_WAIT = 2,	/* the thread waited on the core, or began to; the same */
	TACET_SPENT_CALL = 3,		/* the core forwarded it; the same */
	TACET_SPENT_LOCAL_FAULT = 4,	/* the core served a page fault in the range */
	TACET_SPENT_FAULT = 5,		/* Linux served a page fault */
	TACET_SPENT_EXCEPTION = 6,	/* `detail` is its vector */
	TACET_SPENT_CALLED_BACK = 7,	/* a recall: a signal, a move, another thread's turn */
	TACET_SPENT_OTHER = 8,		/* kinds beyond the entries of an account */
	TACET_SPENT_DEVICE_CALL = 9,	/* a device served it for the core; `detail` is its number */
};

struct tacet_spent {
	__u16 on;			/* enum tacet_spent_on */
	__u16 detail;
	__u32 reserved;
	__u64 count;
	__u64 ticks;			/* of the time-stamp counter */
	__u64 longest_ticks;
};

static_assert(sizeof(struct tacet_spent) == 32, "account layout");

/* Entries of a thread's account. The core fills them from the first one on. */
#define TACET_SPENT_ENTRIES 80u

#endif
