// SPDX-License-Identifier: GPL-2.0
/*
 * Which system calls end grants: those by which a descriptor comes to mean something else, and those
 * that change the open file behind one.
 *
 * Called by calls.c; also compiled on the host by tests/grants. Must never take a call for harmless
 * that is not known here: Linux has new ones each year.
 */
#include <linux/types.h>
#include <asm/unistd.h>

#include "pico/linux/meaning.h"

#define LAST_KNOWN 472		/* fchroot(2); those up to here were looked at */
#define MOST_DESCRIPTOR 0x7fffffff
#define SET_FLAGS 4		/* F_SETFL, as in Linux's headers */

bool tacet_call_changes(long number, u64 first, u64 second, struct tacet_change *change)
{
	*change = (struct tacet_change){ 0, MOST_DESCRIPTOR };
	switch (number) {
	case __NR_close:
		change->first = change->last = (int)first;
		return true;
	case __NR_dup2:
	case __NR_dup3:
		change->first = change->last = (int)second;
		return true;
	case __NR_close_range:
	case __NR_unshare:
	case __NR_execve:
	case __NR_execveat:
	case __NR_io_uring_setup:	/* rings close descriptors without a call */
	case __NR_io_uring_enter:
		return true;
	case __NR_setuid:	/* a program's rights are looked at again */
	case __NR_setgid:
	case __NR_setreuid:
	case __NR_setregid:
	case __NR_setresuid:
	case __NR_setresgid:
	case __NR_setfsuid:
	case __NR_setfsgid:
	case __NR_setgroups:
	case __NR_capset:
		return true;
	default:
		return number < 0 || number > LAST_KNOWN;
	}
}

bool tacet_call_changes_file(long number, u64 second)
{
	return number == __NR_ioctl || (number == __NR_fcntl && (unsigned int)second == SET_FLAGS);
}
