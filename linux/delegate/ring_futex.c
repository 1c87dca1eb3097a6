// SPDX-License-Identifier: GPL-2.0
/*
 * Futexes of processes that have rings of io_uring. Rings wait for futexes and wake, by
 * operations that are no calls, from Linux 6.7 on: neither side could ask the other at their
 * end, as delegate/futex.c does. So from a process's first ring on all its futexes are Linux's,
 * and none of its threads waits for one on a core.
 *
 * Called by delegate/local.c in the context of a hosted thread, which then may sleep, and by
 * delegate/calls.c for tasks that only share the memory of hosted ones.
 */
#include <linux/rcupdate.h>

#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "process/process.h"

/* The calling task, of @space, has rings. True: they are the first, and all threads come back
 * from their cores. Any context. */
static bool meet(struct tacet_space *space)
{
	if (READ_ONCE(space->rings))
		return false;
	WRITE_ONCE(space->rings, true);
	tacet_hosted_return(current->mm);
	return true;
}

/* The calling thread, of @space, may not wait for futexes on a core. After the first ring this
 * returns when no other thread does. */
bool tacet_futexes_are_linuxs(struct tacet_space *space)
{
	if (!TACET_RINGS_KNOW_FUTEXES)
		return false;
	if (tacet_has_rings(current) && meet(space))
		tacet_hosted_await_returned(current->mm);
	return READ_ONCE(space->rings);
}

/* A task that is not hosted has made a call. RCU; does not sleep. */
void tacet_rings_after_call(void)
{
	struct tacet_space *space;

	if (!TACET_RINGS_KNOW_FUTEXES || !current->mm || !tacet_has_rings(current))
		return;
	space = tacet_space_find(current->mm);
	if (space)
		meet(space);
}
