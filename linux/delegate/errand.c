// SPDX-License-Identifier: GPL-2.0
/*
 * What the end of a call needs of cores, and what may take as long as a core is busy: threads
 * that wait on cores are woken, or threads have left their cores, or claims of devices are released.
 *
 * The probe at the end of a call may not sleep, so it queues an errand. The task runs that
 * before it returns to user mode, before a signal's frame is built, and where it can sleep and
 * be killed. Tasks that are not hosted have errands too. An errand holds the module, and the
 * partition ends after the last one (tacet_errands_settle()).
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/task_work.h>

#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "pico/linux/grants.h"
#include "process/process.h"
#include "tacet.h"

struct errand {
	struct callback_head work;
	bool awaits;			/* that all threads of the process that are recalled are back */
	bool releases;			/* claims of devices */
	bool counts;			/* those that are woken, in the call's result */
	unsigned int wakes;
	struct tacet_wake wake[2];
};

static atomic_t under_way = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(settled);

static void end(struct errand *errand)
{
	kfree(errand);
	if (atomic_dec_and_test(&under_way))
		wake_up(&settled);
	module_put(THIS_MODULE);
}

/* The task, about to return to user mode, or exiting: then there is nothing to return to. */
static void run(struct callback_head *work)
{
	struct errand *errand = container_of(work, struct errand, work);
	unsigned int i, woken = 0;

	if (errand->releases)
		tacet_grants_release();
	if (current->mm && !(current->flags & PF_EXITING)) {
		if (errand->awaits)
			tacet_hosted_await_recalled(current->mm);
		for (i = 0; i < errand->wakes; i++)
			woken += tacet_wake(&errand->wake[i]);
		if (errand->counts)
			task_pt_regs(current)->ax += woken;
	}
	end(errand);
}

static struct errand *begin(void)
{
	struct errand *errand = kzalloc(sizeof(*errand), GFP_ATOMIC);

	if (errand) {
		/* A probe runs: the module is there, and the partition does not end. */
		__module_get(THIS_MODULE);
		atomic_inc(&under_way);
	}
	return errand;
}

static bool queue(struct errand *errand)
{
	init_task_work(&errand->work, run);
	if (!task_work_add(current, &errand->work, TWA_RESUME))
		return true;
	end(errand);	/* the task exits */
	return false;
}

/* Before the calling task returns from its call, cores have woken what @wakes say. @counts: the
 * call's result grows by their number. False: no memory. Any context of a call. */
bool tacet_errand_wake(const struct tacet_wake *wakes, unsigned int count, bool counts)
{
	struct errand *errand = begin();

	if (!errand)
		return false;
	memcpy(errand->wake, wakes, count * sizeof(*wakes));
	errand->wakes = count;
	errand->counts = counts;
	queue(errand);
	return true;
}

/* Before the calling task returns from its call, all threads of its process that are recalled
 * have left their cores. False: no memory. Any context of a call. */
bool tacet_errand_await_recalled(void)
{
	struct errand *errand = begin();

	if (!errand)
		return false;
	errand->awaits = true;
	queue(errand);
	return true;
}

/* Before the calling task returns from its call, or is seen to have ended, others may claim the devices
 * that its process used by grants; without memory for that a little later. Any context of a probe. */
void tacet_errand_release_grants(void)
{
	struct errand *errand = begin();

	if (!errand)
		return;
	errand->releases = true;
	queue(errand);
}

/* The probes are off: waits until no errand is under way. Sleeps. */
void tacet_errands_settle(void)
{
	wait_event(settled, !atomic_read(&under_way));
}
