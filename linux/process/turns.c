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

/*
 * @hosted was posted to @core. It preempts the running thread if it used less of its last
 * turn than that one has used of this one: a thread that calls often does not wait for the
 * watch behind one that computes. The preempted thread goes to the end of the queue and
 * continues its turn, so it does not preempt in return.
 */
void tacet_claim_turn(struct tacet_core *core, struct tacet_hosted *hosted)
{
	struct tacet_hosted *runner;
	u32 number;

	if (atomic_read(&core->posted) < 2)
		return;
	number = READ_ONCE(core->shared->current_context);
	if (number >= tacet_partition.context_count)
		return;
	rcu_read_lock();
	runner = rcu_dereference_check(tacet_partition.owners[number], 1);
	if (runner && runner != hosted && READ_ONCE(runner->context->cpu) == core->cpu &&
	    smp_load_acquire(&runner->context->state) == TACET_CONTEXT_POSTED &&
	    READ_ONCE(runner->context->entered_tsc) &&
	    turn_of(runner, rdtsc_ordered()) > hosted->turn.tsc)
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
