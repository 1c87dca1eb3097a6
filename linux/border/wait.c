// SPDX-License-Identifier: GPL-2.0
/*
 * The one way to wait for a core.
 *
 * Called wherever Linux needs something from a core before it can continue: an answer, an
 * acknowledged flush, a returned thread, a lock that cores take. No other file loops until a
 * core has done something. A wait always ends: the condition holds, the core is lost, the
 * thread is killed, or the patience is over. The last never happens while the core makes
 * progress (struct tacet_wait), and the watch ends a partition one of whose cores makes none.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>

#include "border/border.h"
#include "compat.h"
#include "tacet.h"

#define SPIN_NS (20 * NSEC_PER_USEC)	/* before a wait that may sleep does so */
#define LOOKS 32			/* at the condition, before the next look at the clock */

/* The core will not do it any more. */
static bool lost(const struct tacet_wait *wait)
{
	unsigned int failed = READ_ONCE(tacet_partition.failed);

	if (wait->killed)
		return false;
	if (wait->until_silent ? failed == TACET_FAILED_SILENT : failed)
		return true;
	return wait->while_online && READ_ONCE(wait->core->shared->state) != TACET_CPU_ONLINE;
}

static u64 progress_of(const struct tacet_wait *wait)
{
	unsigned int i;
	u64 sum = 0;

	if (wait->core)
		return READ_ONCE(wait->core->shared->progress);
	for (i = 0; i < tacet_partition.core_count; i++)
		sum += READ_ONCE(tacet_partition.cores[i].shared->progress);
	return sum;
}

static bool impatient(struct tacet_wait *wait, u64 now)
{
	u64 progress;

	if (!wait->patience_ns)
		return false;
	progress = wait->whatever_it_does ? 0 : progress_of(wait);
	if (!wait->since_ns || progress != wait->progress) {
		wait->since_ns = now;
		wait->progress = progress;
	}
	return now - wait->since_ns > wait->patience_ns;
}

static void pause(const struct tacet_wait *wait, u64 waited_ns)
{
	if (wait->queue)
		wait_event_timeout(*wait->queue, wait->done(wait) || lost(wait), HZ);
	else if (wait->pause == TACET_PAUSE_SLEEP && waited_ns > SPIN_NS)
		usleep_range(20, 100);
}

/* Looks at the condition for a moment: a core mostly answers within it, and a round of tacet_await() costs several of these. */
static int look(const struct tacet_wait *wait)
{
	int looks = wait->queue ? 1 : LOOKS, done = wait->done(wait);

	while (!done && --looks) {
		cpu_relax();
		done = wait->done(wait);
	}
	return done;
}

/*
 * Waits until @wait->done() says so. 0, what done() returns if that is negative, -EIO if the
 * core is lost, -EINTR if the thread is killed and @wait->killable, -ETIMEDOUT if the patience is over and @wait->failure is not set: if it is,
 * the co-kernel fails for this reason, and the wait ends as for any failure.
 */
int tacet_await(struct tacet_wait *wait)
{
	u64 begin, now;
	int done;

	if (wait->pause == TACET_PAUSE_SLEEP || wait->queue)
		tacet_sleeps();
	done = wait->done(wait);
	if (done)	/* mostly: no look at the clock */
		return min(done, 0);
	begin = now = ktime_get_mono_fast_ns();
	while (!done) {
		/* Before the condition: a machine may stand still in between. */
		bool over = impatient(wait, now);

		done = look(wait);
		if (done)
			break;
		if (lost(wait))
			return -EIO;
		if (wait->killable && fatal_signal_pending(current))
			return -EINTR;
		if (over && !wait->failure)
			return -ETIMEDOUT;
		if (over)
			tacet_partition_fail(wait->failure);
		pause(wait, now - begin);
		now = ktime_get_mono_fast_ns();
	}
	return min(done, 0);
}
