// SPDX-License-Identifier: GPL-2.0
/*
 * Turns on a shared core: when a thread that has just been posted preempts the one that
 * runs there. The watch (process/watch.c) ends turns that are too long.
 */
#include <linux/rcupdate.h>
#include <asm/tsc.h>

#include "border/border.h"
#include "compat.h"
#include "process/process.h"
#include "tacet.h"

/* How long @hosted has computed, or computed last, until it left by itself. */
static u64 turn_of(const struct tacet_hosted *hosted, u64 now)
{
	u64 before = READ_ONCE(hosted->turn.continues) ? READ_ONCE(hosted->turn.tsc) : 0;
	u64 entered = READ_ONCE(hosted->context->entered_tsc);

	return before + (entered && now > entered ? now - entered : 0);
}

/* The thread that runs on @core; NULL: none, or it is leaving. In an RCU read section. */
static struct tacet_hosted *runner_of(const struct tacet_core *core)
{
	u32 number = READ_ONCE(core->shared->current_context);
	struct tacet_hosted *runner;

	if (number >= tacet_partition.context_count)
		return NULL;
	runner = rcu_dereference_check(tacet_partition.owners[number], 1);
	if (runner && READ_ONCE(runner->context->cpu) == core->cpu &&
	    smp_load_acquire(&runner->context->state) == TACET_CONTEXT_POSTED &&
	    READ_ONCE(runner->context->entered_tsc))
		return runner;
	return NULL;
}

/* Recalls the thread that runs on @core, if there is one: others have waited for it. */
void tacet_end_turn(struct tacet_core *core)
{
	struct tacet_hosted *runner;

	rcu_read_lock();
	runner = runner_of(core);
	if (runner)
		tacet_recall_turn(core, runner);
	rcu_read_unlock();
}

static bool used_less(const struct tacet_hosted *hosted, const struct tacet_hosted *runner)
{
	return runner && runner != hosted && turn_of(runner, rdtsc_ordered()) > hosted->turn.tsc;
}

/*
 * @hosted is about to be posted to @core. It preempts the running thread if it used less of its last
 * turn than that one has used of this one, and goes before those that are queued, who compute as long
 * as it does or longer: a thread that calls often waits neither for the watch behind one that computes,
 * nor behind several. The preempted thread goes to the end of the queue and continues its turn, so it
 * does not preempt in return.
 */
bool tacet_preempts(const struct tacet_core *core, const struct tacet_hosted *hosted)
{
	bool preempts;

	if (atomic_read(&core->posted) < 2)
		return false;
	rcu_read_lock();
	preempts = used_less(hosted, runner_of(core));
	rcu_read_unlock();
	return preempts;
}

/* @hosted was posted. */
void tacet_claim_turn(struct tacet_core *core, struct tacet_hosted *hosted)
{
	struct tacet_hosted *runner;

	if (atomic_read(&core->posted) < 2)
		return;
	rcu_read_lock();
	runner = runner_of(core);
	if (used_less(hosted, runner))
		tacet_recall_turn(core, runner);
	rcu_read_unlock();
}

/* A stay is over. The thread itself. */
void tacet_count_turn(struct tacet_hosted *hosted, u64 user_tsc_before)
{
	u64 stay = hosted->context->user_tsc - user_tsc_before;

	WRITE_ONCE(hosted->turn.tsc, hosted->turn.continues ? hosted->turn.tsc + stay : stay);
	WRITE_ONCE(hosted->turn.continues, hosted->context->event == TACET_EVENT_RECALLED);
}
