// SPDX-License-Identifier: GPL-2.0
/*
 * Reaching a proxy from elsewhere.
 *
 * A task on Linux is armed: the callback in which it parks is queued (delegate/park.c
 * registers it), and Linux runs it when the task is next about to return to user mode. A
 * queued callback holds a reference. A parked task is told what is wanted of it and woken.
 * Any context.
 */
#include <linux/task_work.h>

#include "compat.h"
#include "process/process.h"
#include "tacet.h"

static task_work_func_t park;

/* Before the first thread is hosted. */
void tacet_arm_register(task_work_func_t callback)
{
	park = callback;
}

static void arm(struct tacet_hosted *hosted, enum task_work_notify_mode how)
{
	if (atomic_xchg(&hosted->arming.queued, 1))
		return;
	if (!kref_get_unless_zero(&hosted->references))
		return;
	init_task_work(&hosted->arming.work, park);
	if (task_work_add(hosted->task, &hosted->arming.work, how)) {
		atomic_set(&hosted->arming.queued, 0);
		tacet_hosted_put(hosted);
	}
}

/* Queues the callback; any context, any task; the caller holds a reference or is
 * in an RCU read section. */
void tacet_arm(struct tacet_hosted *hosted)
{
	arm(hosted, TWA_RESUME);
}

/* The same, and a call in which the task waits ends, to be made again: as by a stop and a continuation. */
void tacet_arm_at_once(struct tacet_hosted *hosted)
{
	arm(hosted, TWA_SIGNAL);
}

static void rearm(struct work_struct *work)
{
	struct tacet_hosted *hosted = container_of(work, struct tacet_hosted, arming.later.work);

	if (READ_ONCE(hosted->state) != TACET_HOSTED_GONE)
		tacet_arm(hosted);
	tacet_hosted_put(hosted);
}

/* Queues the callback @ticks from now: from inside it, it cannot be queued. */
void tacet_arm_soon(struct tacet_hosted *hosted, unsigned int ticks)
{
	kref_get(&hosted->references);
	if (!queue_delayed_work(tacet_workqueue, &hosted->arming.later, ticks))
		tacet_hosted_put(hosted);
}

/* For a new hosted thread. */
void tacet_arm_init(struct tacet_hosted *hosted)
{
	INIT_DELAYED_WORK(&hosted->arming.later, rearm);
}

/* The thread is not hosted any more: it need not park again. */
void tacet_disarm(struct tacet_hosted *hosted)
{
	if (cancel_delayed_work(&hosted->arming.later))
		tacet_hosted_put(hosted);
}
