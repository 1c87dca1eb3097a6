// SPDX-License-Identifier: GPL-2.0
/*
 * The watch: Linux's periodic look at the cores, ten times a second. It does not disturb
 * them: it reads what they write anyway.
 *
 * - If a thread waits for a core that another thread does not leave, it recalls that one,
 *   which goes to the end of the queue or to a core that idles. A thread that is alone on
 *   its core is never recalled for that.
 * - It tells the cores which CPU of Linux takes their interrupts now, at once after a CPU has gone
 *   offline, and what time it is.
 * - It notices a core that died without a word, and one that hangs in the co-kernel.
 * - It collects what machine checks of the cores called bad memory.
 * - It charges hosted threads for their CPU time, so that top(1) and CPU-time timers see a
 *   thread that never enters the kernel, and has them charge their control groups.
 * - It recalls threads that have got performance events.
 * - It tells proxies whether their threads compute or wait, and wakes those whose threads have
 *   to leave user mode and that Linux did not wake (delegate/asleep.c).
 */
#include <linux/sched/signal.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "process/process.h"
#include "tacet.h"

#define PERIOD (HZ / 10 ?: 1)
#define SLICE (HZ / 25 ?: 1)	/* the least that a thread gets while others wait */
#define STUCK_PERIOD (5 * HZ)

/* Changed by the work item only. It counts periods, not time: a core of a machine that was
 * stopped meanwhile has not hung. */
static unsigned int period;
static bool thread_waits;	/* for a core; the same */
static bool watching;		/* control lock; readers in RCU read sections */

/* Round after round the core is in the co-kernel, or does not hear its doorbell. */
static bool stuck(struct tacet_core *core)
{
	const struct tacet_cpu *shared = core->shared;
	u64 steps = READ_ONCE(shared->kernel_entries) + READ_ONCE(shared->progress);
	bool suspicious = READ_ONCE(shared->mode) == TACET_MODE_KERNEL ||
			  READ_ONCE(shared->attention);

	if (!suspicious || steps != core->watched_steps)
		core->stuck_jiffies = 0;
	else
		core->stuck_jiffies += period;
	core->watched_steps = steps;
	return core->stuck_jiffies > STUCK_PERIOD;
}

/* The thread has its context posted, and waits for a core. */
static void note_waiting(struct tacet_hosted *hosted)
{
	struct tacet_core *core = tacet_core_of(READ_ONCE(hosted->context->cpu));

	thread_waits = true;
	if (core && time_after(jiffies, READ_ONCE(hosted->turn.posted_at) + SLICE))
		core->turn_over = true;
}

/* Once for each core, however many threads wait for it. */
static void end_turns(void)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.core_count; i++) {
		struct tacet_core *core = &tacet_partition.cores[i];

		if (core->turn_over)
			tacet_end_turn(core);
		core->turn_over = false;
	}
}

/* A wait that lasts from one look to the next, or computing that does, is to be seen. */
static void show(struct tacet_hosted *hosted)
{
	bool waits = READ_ONCE(hosted->context->blocked) == 1, lasts = waits == hosted->proxy.waited;

	hosted->proxy.waited = waits;
	if (!lasts || waits == READ_ONCE(hosted->proxy.waits))
		return;
	WRITE_ONCE(hosted->proxy.waits, waits);
	tacet_hosted_wake(hosted);
}

static void wake_signalled(struct tacet_hosted *hosted, void *data)
{
	if (signal_pending(hosted->task))
		tacet_hosted_wake(hosted);
}

static void look_at_posted(struct tacet_hosted *hosted, void *data)
{
	u32 state = smp_load_acquire(&hosted->context->state);

	/* The core may have interrupted a CPU from which Linux had just moved its interrupt. */
	if (state == TACET_CONTEXT_RETURNED)
		tacet_hosted_wake(hosted);
	if (state != TACET_CONTEXT_POSTED)
		return;
	tacet_charge(hosted);
	if (tacet_owes_group(hosted))
		tacet_hosted_wake(hosted);
	show(hosted);
	wake_signalled(hosted, NULL);
	if (!READ_ONCE(hosted->context->entered_tsc) && !READ_ONCE(hosted->context->blocked))
		note_waiting(hosted);
	if (tacet_counted(hosted->task))
		tacet_want(hosted, TACET_WANT_RETURN);
	if (tacet_cpu_timer_due(hosted->task))
		tacet_want(hosted, TACET_WANT_TICK);
}

static void look_at_all(struct work_struct *work)
{
	unsigned int i;

	if (READ_ONCE(tacet_partition.failed))
		return;
	for (i = 0; i < tacet_partition.core_count; i++) {
		struct tacet_core *core = &tacet_partition.cores[i];

		if (!core->started)
			continue;
		if (smp_load_acquire(&core->shared->state) == TACET_CPU_DEAD)
			tacet_partition_fail("a core died");
		else if (stuck(core))
			tacet_partition_fail("a core hangs in the co-kernel");
		tacet_retarget(core);
		tacet_bad_look(core);
	}
	tacet_clock_tell();
	thread_waits = false;
	tacet_for_each_hosted_calmly(look_at_posted, NULL);
	tacet_for_each_range(tacet_range_account);
	end_turns();
	period = thread_waits ? SLICE : PERIOD;
	schedule_delayed_work(to_delayed_work(work), period);
}
static DECLARE_DELAYED_WORK(watch, look_at_all);

static void look_at_signalled(struct work_struct *work)
{
	tacet_for_each_hosted(wake_signalled, NULL);
}
static DECLARE_DELAYED_WORK(hurried, look_at_signalled);

static void retarget_all(struct work_struct *work)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.core_count; i++)
		if (tacet_partition.cores[i].started)
			tacet_retarget(&tacet_partition.cores[i]);
}
static DECLARE_WORK(moved, retarget_all);

/* A CPU of Linux has gone offline: cores' interrupts that it took are another one's. Any context. */
void tacet_watch_moved(void)
{
	rcu_read_lock();
	if (READ_ONCE(watching))
		schedule_work(&moved);
	rcu_read_unlock();
}

/* Linux is just about to make threads leave user mode, without waking proxies. Any context. */
void tacet_watch_hurry(void)
{
	rcu_read_lock();
	if (READ_ONCE(watching))
		schedule_delayed_work(&hurried, 1);
	rcu_read_unlock();
}

void tacet_watch_start(void)
{
	lockdep_assert_held(&tacet_control_lock);
	WRITE_ONCE(watching, true);
	period = PERIOD;
	schedule_delayed_work(&watch, PERIOD);
}

void tacet_watch_stop(void)
{
	WRITE_ONCE(watching, false);
	synchronize_rcu();
	cancel_delayed_work_sync(&watch);
	cancel_delayed_work_sync(&hurried);
	cancel_work_sync(&moved);
}
