// SPDX-License-Identifier: GPL-2.0
/*
 * Recalling all threads of one address space from their cores.
 *
 * Called by delegate/calls.c when a call on Linux changes what holds for threads that run
 * on cores. Any context.
 */
#include <linux/rcupdate.h>

#include "border/border.h"
#include "compat.h"
#include "process/process.h"
#include "tacet.h"

#define RETURN_PATIENCE_NS (20 * NSEC_PER_SEC)

static bool stays(const struct tacet_hosted *hosted, const void *mm)
{
	const struct tacet_context *context = hosted->context;

	return hosted->space_mm == mm &&
	       smp_load_acquire(&context->state) == TACET_CONTEXT_POSTED;
}

/*
 * The thread may be posted to another core meanwhile. tacet_post() clears the recall, then
 * names the core. So if the name is still the old one after the recall and the full barrier
 * in the bell, the new core finds the recall as soon as it takes the thread.
 */
static void recall_one(struct tacet_hosted *hosted, void *mm)
{
	struct tacet_core *core;

	do {
		if (!stays(hosted, mm))
			return;
		core = tacet_core_of(READ_ONCE(hosted->context->cpu));
		if (!core)
			return;
		tacet_recall(core, hosted);
	} while (core != tacet_core_of(READ_ONCE(hosted->context->cpu)));
}

/* The thread may be on a core again: a stay begins without a recall. */
static int is_back(const struct tacet_wait *wait)
{
	const struct tacet_hosted *hosted = wait->subject;

	return !stays(hosted, (const void *)(unsigned long)wait->wanted) || !READ_ONCE(hosted->context->recall);
}

static void await_one(struct tacet_hosted *hosted, void *mm)
{
	struct tacet_wait wait = {
		.done = is_back,
		.subject = hosted,
		.wanted = (unsigned long)mm,
		.patience_ns = RETURN_PATIENCE_NS,
		.failure = "a core does not give a thread back",
	};

	if (stays(hosted, mm))
		tacet_await(&wait);
}

/* Recalls every hosted thread of @mm from its core and waits until all have left. That aborts
 * their restartable sequences, and they are posted again with what holds then. Any context. */
void tacet_hosted_interrupt(struct mm_struct *mm)
{
	tacet_for_each_hosted(recall_one, mm);
	tacet_for_each_hosted(await_one, mm);
}

struct root_query {
	struct mm_struct *mm;
	u64 root;
};

static void find_root(struct tacet_hosted *hosted, void *data)
{
	struct root_query *query = data;
	u64 root = READ_ONCE(hosted->space_root);

	if (hosted->space_mm == query->mm && root)
		query->root = root;
}

/* The root of @mm on the cores, 0 if no thread of it is hosted. */
u64 tacet_hosted_root(struct mm_struct *mm)
{
	struct root_query query = { .mm = mm };

	tacet_for_each_hosted(find_root, &query);
	return query.root;
}
