// SPDX-License-Identifier: GPL-2.0
/*
 * Arming a proxy: queueing the callback in which the task of a hosted thread parks
 * (delegate/park.c registers it). Linux runs it when the task is next about to return to
 * user mode.
 *
 * A queued callback holds a reference. Any context.
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

/* Queues the callback; any context, any task; the caller holds a reference or is
 * in an RCU read section. */
void tacet_arm(struct tacet_hosted *hosted)
{
	if (atomic_xchg(&hosted->park_queued, 1))
		return;
	if (!kref_get_unless_zero(&hosted->references))
		return;
	init_task_work(&hosted->park, park);
	if (task_work_add(hosted->task, &hosted->park, TWA_RESUME)) {
		atomic_set(&hosted->park_queued, 0);
		tacet_hosted_put(hosted);
	}
}

static void rearm(struct work_struct *work)
{
	struct tacet_hosted *hosted = container_of(work, struct tacet_hosted, rearm.work);

	if (!READ_ONCE(hosted->unlinked))
		tacet_arm(hosted);
	tacet_hosted_put(hosted);
}

/* Queues the callback @ticks from now: from inside it, it cannot be queued. */
void tacet_arm_soon(struct tacet_hosted *hosted, unsigned int ticks)
{
	kref_get(&hosted->references);
	if (!queue_delayed_work(tacet_workqueue, &hosted->rearm, ticks))
		tacet_hosted_put(hosted);
}

/* For a new hosted thread. */
void tacet_arm_init(struct tacet_hosted *hosted)
{
	INIT_DELAYED_WORK(&hosted->rearm, rearm);
}

/* The thread is not hosted any more: it need not park again. */
void tacet_disarm(struct tacet_hosted *hosted)
{
	if (cancel_delayed_work(&hosted->rearm))
		tacet_hosted_put(hosted);
}
