// SPDX-License-Identifier: GPL-2.0
/*
 * Messages between Linux and the cores: contexts posted to a core, contexts returned by
 * it, and the two bells.
 *
 * Called by delegate/park.c (post, recall) and by a core's interrupt. The only lock
 * is the inbox lock of one core, taken by the threads of that core. Everything that a core
 * writes is checked before it is used: an invalid index is a failure of the co-kernel.
 */
#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "tacet.h"

/* Has the core look, with @bits as the reason. Pairs with the core's exchange of `attention`. A core that looks
 * anyway needs no bell: it says that it does not any more, then looks a last time
 * (kernel/logic/src/handshake/idle.rs). */
void tacet_attention(struct tacet_core *core, u32 bits)
{
	__atomic_fetch_or(&core->shared->attention, bits, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&core->shared->mode, __ATOMIC_SEQ_CST) != TACET_MODE_SPINNING)
		tacet_arch_ring(core);
}

/* Hands the thread's context, which is written, to @core. -EAGAIN: the inbox is full, since
 * threads that moved away are still in it; -EIO: the core has corrupted it. */
int tacet_post(struct tacet_core *core, struct tacet_hosted *hosted)
{
	struct tacet_context *context = hosted->context;
	int result;

	WRITE_ONCE(context->recall, 0);
	context->cpu = core->cpu;
	smp_store_release(&context->state, TACET_CONTEXT_POSTED);

	spin_lock(&core->inbox_lock);
	result = tacet_ring_push(&core->shared->inbox, hosted->number);
	spin_unlock(&core->inbox_lock);
	if (result) {
		WRITE_ONCE(context->state, TACET_CONTEXT_LINUX);
		if (result == -1)
			return -EAGAIN;
		tacet_partition_fail("a core corrupted its inbox");
		return -EIO;
	}
	tacet_attention(core, TACET_ATTENTION_INBOX);
	return 0;
}

/* Linux may have moved the core's interrupt: tells the core where it is now. Not per post: the look-up costs
 * more than the rest of a post, and Linux moves it only when a CPU goes offline. Any context. */
void tacet_retarget(struct tacet_core *core)
{
	spin_lock(&core->inbox_lock);
	tacet_arch_notify_target(core);
	spin_unlock(&core->inbox_lock);
}

/* Asks the core to give a posted context back; it comes as any other return. A recall of a
 * thread that is killed stays: it is the stronger request. */
void tacet_recall(struct tacet_core *core, struct tacet_hosted *hosted)
{
	u32 recall = READ_ONCE(hosted->context->recall);

	while (recall != TACET_RECALL_KILLED &&
	       !try_cmpxchg(&hosted->context->recall, &recall, TACET_RECALL_ALWAYS))
		;
	tacet_attention(core, TACET_ATTENTION_RECALL);
}

/* The same for a thread that is killed: the core does not finish its call. Only by its proxy. */
void tacet_recall_killed(struct tacet_core *core, struct tacet_hosted *hosted)
{
	smp_store_release(&hosted->context->recall, TACET_RECALL_KILLED);
	tacet_attention(core, TACET_ATTENTION_RECALL);
}

/* Asks the core to end the turn of a posted context that computes; there may be no answer.
 * A recall that is pending already stays: it is the stronger request. */
void tacet_recall_turn(struct tacet_core *core, struct tacet_hosted *hosted)
{
	cmpxchg(&hosted->context->recall, TACET_RECALL_NOT, TACET_RECALL_TURN);
	tacet_attention(core, TACET_ATTENTION_RECALL);
}

static bool wake_owner(u32 number)
{
	struct tacet_hosted *hosted;

	if (number >= tacet_partition.context_count)
		return false;
	rcu_read_lock();
	hosted = rcu_dereference_check(tacet_partition.owners[number], 1);
	if (hosted)
		tacet_hosted_wake(hosted);
	rcu_read_unlock();
	return true;
}

/* A core has rung. Hard interrupt, on any Linux CPU. */
irqreturn_t tacet_notified(int irq, void *data)
{
	struct tacet_core *core = data;
	u32 number;
	int result;

	if (READ_ONCE(tacet_partition.failed))
		return IRQ_HANDLED;
	if (smp_load_acquire(&core->shared->state) == TACET_CPU_DEAD) {
		tacet_partition_fail("a core died");
		return IRQ_HANDLED;
	}
	while ((result = tacet_ring_pop(&core->shared->outbox, &number)) > 0) {
		if (!wake_owner(number)) {
			tacet_partition_fail("a core named a context that does not exist");
			return IRQ_HANDLED;
		}
	}
	if (result < 0)
		tacet_partition_fail("a core corrupted its outbox");
	return IRQ_HANDLED;
}
