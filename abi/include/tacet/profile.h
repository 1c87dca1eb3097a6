/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What a thread's time goes to while it is not in user mode on its core, if somebody
 * asked for that (TACET_HOST_PROFILE).
 *
 * Owns: the account that a core keeps with each context: from where a thread leaves
 * user mode to where it is there again, whatever happened in between. Nothing of it
 * is ever read to decide anything.
 */
#ifndef TACET_ABI_PROFILE_H
#define TACET_ABI_PROFILE_H

#include "types.h"

enum tacet_spent_on {
	TACET_SPENT_NOTHING = 0,	/* the entry is free */
	TACET_SPENT_LOCAL_CALL = 1,	/* `detail` is its number: answered on the core */
	TACET_SPENT_LOCAL_WAIT = 2,	/* the same: it waited there, or began to */
	TACET_SPENT_CALL = 3,		/* the same: forwarded */
	TACET_SPENT_LOCAL_FAULT = 4,	/* a page of the process's own memory */
	TACET_SPENT_FAULT = 5,		/* a page fault that Linux served */
	TACET_SPENT_EXCEPTION = 6,	/* `detail` is its vector */
	TACET_SPENT_CALLED_BACK = 7,	/* a doorbell: a signal, a move, another's turn */
	TACET_SPENT_OTHER = 8,		/* more kinds than an account has entries */
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

/* Entries of a thread's account, filled from the first one on. */
#define TACET_SPENT_ENTRIES 80u

#endif
