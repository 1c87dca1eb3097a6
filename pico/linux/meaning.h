/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a system call means for grants: meaning.c. Calls are told by their 64-bit numbers. Pure; also
 * compiled on the host by tests/grants.
 */
#ifndef TACET_PICO_MEANING_H
#define TACET_PICO_MEANING_H

#include <linux/types.h>

/* The descriptors, of all tables that threads of the caller's memory have, that may mean something
 * else afterwards. */
struct tacet_change {
	int first, last;
};

/* False: none. @first, @second: the call's arguments. What clone(2) divides is seen when the child is
 * there (tacet_grants_forked()): its flags may lie in memory that others change. */
bool tacet_call_changes(long number, u64 first, u64 second, struct tacet_change *change);

/* The call, by these arguments, may change the open file, or its device, that the first one names. */
bool tacet_call_changes_file(long number, u64 second);

#endif
