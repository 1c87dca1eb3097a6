/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The locks of the module, in their order. A thread that holds a lock may take those further
 * down, and none further up.
 *
 * Mutexes; the thread sleeps:
 *
 *	tacet_control_lock	one change of the partition at a time
 *	view->lock		view/files.c: a hosted program's read of one of Linux's files
 *	facts_lock		base/facts.c: what Linux said about the partition's CPUs
 *	range->lock		the range mutex: hand-over, unmirroring, rights of a range
 *	mm->mmap_lock		Linux's
 *	held_lock		memory/held.c: the list of held frames
 *	core->slots[]		border/slot.c: one request of a kind to a core at a time. Of several
 *				cores' a thread holds one
 *	profile->reading	process/profile.c: one sum of a profile is made at a time
 *	a piece's lock		memory/range.c, and the cores: 1 GiB of a range's tables. Its
 *				holder is not preempted, and never holds two
 *
 * doors/sysfs.c has a mutex of its own, which is held together with none of these.
 *
 * Spinlocks, below all mutexes. A thread holds one of them at a time; only profile->lock is
 * taken under another one:
 *
 *	tacet_hosted_lock	interrupts off; which threads are hosted, and where
 *		profile->lock	process/profile.c; below the hosted lock only
 *	hosted->lock		interrupts off; whether the thread is hosted and parked, its CPU time
 *	core->inbox_lock	producers of shared->inbox, and where the core's interrupt goes
 *	spaces_lock		border/space.c
 *	ranges_lock		memory/range.c
 *
 * Taken in any context, with interrupts off, also under Linux's page-table locks; under these
 * no other lock is taken:
 *
 *	space->lock		writers of a root's user half
 *	core->bell_lock		whether the core may be rung
 *	own_lock		base/report.c
 *
 * A forwarded call takes the inbox lock and the bell lock of the thread's own core, and no
 * other lock of ours that another core's thread takes, unless it has to choose a core.
 */
#ifndef TACET_LOCKS_H
#define TACET_LOCKS_H

#include <linux/mutex.h>
#include <linux/spinlock.h>

extern struct mutex tacet_control_lock;
extern spinlock_t tacet_hosted_lock;

#endif
