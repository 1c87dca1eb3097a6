// SPDX-License-Identifier: GPL-2.0
/*
 * What makes a revocation a barrier for Linux: a grant uses its disk's queue of requests as a request does.
 * Linux waits for all requests of a disk before it changes what the disk is: the size of its blocks, for
 * example, without which a command means something else. So it waits for the cores' commands too, in
 * process context, until they are done, or their queues are deleted.
 *
 * Called by grants.c, pages.c and devices.c. Must never wait for anything: Linux waits for this.
 *
 * TRICK a request that is none: a grant holds its disk's `q_usage_counter`, so Linux waits for cores
 * as for requests.
 * BREAKS a kernel that freezes queues by another counter.
 * NOTICED it does not build where the field has another type; scenario `nvme_flights.sh freezes`.
 */
#include <linux/blkdev.h>
#include <linux/jiffies.h>

#include "pico/linux/granted.h"
#include "pico/linux/grants.h"
#include "tacet.h"

/* Queues of cores that still use a revoked grant after this long are deleted: Linux may wait. */
#define LATE_JIFFIES (5 * HZ)

static void quiet_revoked(struct work_struct *work);
static DECLARE_DELAYED_WORK(quieting, quiet_revoked);

/* The device has no command of the grant any more. The lock is held. */
void tacet_granted_let_go(struct granted *granted)
{
	if (granted->holds)
		percpu_ref_put(&granted->disk->queue->q_usage_counter);
	granted->holds = false;
}

struct quiet {
	const struct gendisk *disk;	/* NULL: of any */
	bool left;			/* some are still used */
};

static void quiet(struct granted *granted, void *what)
{
	struct quiet *of = what;

	if (granted->shared->state == TACET_PICO_GRANT_VALID || (of->disk && granted->disk != of->disk))
		return;
	if (tacet_granted_over(granted, false))
		tacet_granted_let_go(granted);
	of->left |= granted->holds;
}

/* Never waits for anything: what is to be released after that may wait for Linux, which waits for this. */
static void quiet_revoked(struct work_struct *work)
{
	struct quiet of = {};

	tacet_grants_each(quiet, &of);
	if (of.left)
		queue_delayed_work(tacet_workqueue, &quieting, 1);
}

/* Some grants were revoked. Any context. */
void tacet_grants_quiet_soon(void)
{
	mod_delayed_work(tacet_workqueue, &quieting, 0);
}

void tacet_grants_quiet_end(void)
{
	cancel_delayed_work_sync(&quieting);
}

/* Linux is about to wait for the disk's requests, and for its revoked grants. Any context. */
void tacet_grants_quiet_disk(const struct gendisk *disk)
{
	struct quiet of = { .disk = disk };

	tacet_grants_each(quiet, &of);
}

static void let_go_of_unit(struct granted *granted, void *unit)
{
	if (granted->shared->state != TACET_PICO_GRANT_VALID && granted->shared->device == *(unsigned int *)unit)
		tacet_granted_let_go(granted);
}

/* The device has no command of any core. Any context. */
void tacet_grants_quiet_device(unsigned int unit)
{
	tacet_grants_each(let_go_of_unit, &unit);
}

struct late {
	unsigned int unit;
	bool found;
};

static void is_late(struct granted *granted, void *what)
{
	struct late *late = what;

	late->found |= granted->holds && granted->shared->state != TACET_PICO_GRANT_VALID &&
		       granted->shared->device == late->unit &&
		       time_after(jiffies, granted->revoked_at + LATE_JIFFIES);
}

/* Cores have used a revoked grant of the device for long. */
bool tacet_grants_late(unsigned int unit)
{
	struct late late = { .unit = unit };

	tacet_grants_each(is_late, &late);
	return late.found;
}
