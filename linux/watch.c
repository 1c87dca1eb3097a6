// SPDX-License-Identifier: GPL-2.0
/*
 * The watch over the cores: ten times a second, on Linux, without disturbing
 * them: it only reads what they write anyway.
 *
 * Moves a thread that waits behind one that spins, if it may go elsewhere.
 * Notices a core that died without being able to say so and one that hangs in
 * the co-kernel, and charges hosted threads for their CPU time, so that top(1)
 * and CPU-time timers see a thread that never enters the kernel.
 */
#include "compat.h"
#include "tacet.h"

#define PERIOD (HZ / 10 ?: 1)
#define STUCK_ROUNDS 50		/* 5 s */

/* In the co-kernel, or deaf to the doorbell, round after round. */
static bool stuck(struct tacet_core *core)
{
	const struct tacet_cpu *shared = core->shared;
	u64 entries = READ_ONCE(shared->kernel_entries);
	bool suspicious = READ_ONCE(shared->mode) == TACET_MODE_KERNEL ||
			  READ_ONCE(shared->attention);

	if (!suspicious || entries != core->watched_entries)
		core->stuck_rounds = 0;
	else
		core->stuck_rounds++;
	core->watched_entries = entries;
	return core->stuck_rounds > STUCK_ROUNDS;
}

static void look_at_posted(struct tacet_hosted *hosted, void *data)
{
	if (READ_ONCE(hosted->context->state) != TACET_CONTEXT_POSTED)
		return;
	tacet_charge(hosted);
	if (READ_ONCE(hosted->context->entered_tsc))
		hosted->waited_rounds = 0;
	else if (++hosted->waited_rounds > 1 && tacet_better_core(hosted)) {
		hosted->waited_rounds = 0;
		WRITE_ONCE(hosted->kick, true);
		wake_up(&hosted->wait);
	}
	if (tacet_cpu_timer_due(hosted->task)) {
		WRITE_ONCE(hosted->take_tick, true);
		wake_up(&hosted->wait);
	}
}

static void look(struct work_struct *work)
{
	unsigned int i;

	if (READ_ONCE(tacet_partition.failed))
		return;
	for (i = 0; i < tacet_partition.core_count; i++) {
		struct tacet_core *core = &tacet_partition.cores[i];

		if (smp_load_acquire(&core->shared->state) == TACET_CPU_DEAD)
			tacet_partition_fail("a core died");
		else if (stuck(core))
			tacet_partition_fail("a core hangs in the co-kernel");
	}
	tacet_for_each_hosted(look_at_posted, NULL);
	schedule_delayed_work(to_delayed_work(work), PERIOD);
}
static DECLARE_DELAYED_WORK(watch, look);

void tacet_watch_start(void)
{
	schedule_delayed_work(&watch, PERIOD);
}

void tacet_watch_stop(void)
{
	cancel_delayed_work_sync(&watch);
}
