// SPDX-License-Identifier: GPL-2.0
/*
 * Recalling all threads of one address space from their cores.
 *
 * Called by delegate/calls.c when a call on Linux changes what holds for threads that run
 * on cores, and by delegate/errand.c, which waits for them.
 */
#include <linux/rcupdate.h>

#include "border/border.h"
#include "compat.h"
#include "process/process.h"
#include "process/recalled.h"
#include "tacet.h"

#define RETURN_PATIENCE_NS (20 * NSEC_PER_SEC)

struct recall {
	const void *mm;
	unsigned int staying;
};

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

static void count_staying(struct tacet_hosted *hosted, void *data)
{
	struct recall *recall = data;

	/* A thread that is on a core again began its stay without a recall. By now others may wait for
	 * its core: that recall is not ours. */
	if (stays(hosted, recall->mm) && tacet_recall_returns(READ_ONCE(hosted->context->recall)))
		recall->staying++;
}

static int all_are_back(const struct tacet_wait *wait)
{
	struct recall recall = { .mm = wait->subject };

	tacet_for_each_hosted(count_staying, &recall);
	return !recall.staying;
}

/* Recalls every hosted thread of @mm from its core. They are posted again with what holds
 * then. Any context. */
void tacet_hosted_recall(struct mm_struct *mm)
{
	tacet_for_each_hosted(recall_one, mm);
}

/* Waits until all threads of @mm that are recalled have left their cores: that aborts their
 * restartable sequences. Sleeps. -EINTR: the calling thread is killed. */
int tacet_hosted_await_recalled(struct mm_struct *mm)
{
	struct tacet_wait wait = {
		.done = all_are_back,
		.subject = mm,
		.pause = TACET_PAUSE_SLEEP,
		.patience_ns = RETURN_PATIENCE_NS,
		.killable = true,
		.failure = "a core does not give a thread back to a sibling",
	};

	return tacet_await(&wait);
}

struct return_query {
	struct mm_struct *mm;
	unsigned int staying;
};

static void want_return(struct tacet_hosted *hosted, void *mm)
{
	if (hosted->space_mm == mm && hosted->task != current)
		tacet_want(hosted, TACET_WANT_RETURN);
}

/* A thread that is posted again is not wanted any more. */
static void count_wanted(struct tacet_hosted *hosted, void *data)
{
	struct return_query *query = data;

	if (stays(hosted, query->mm) && atomic_read(&hosted->wanted) & TACET_WANT_RETURN)
		query->staying++;
}

static int none_is_wanted(const struct tacet_wait *wait)
{
	struct return_query query = { .mm = wait->subject };

	tacet_for_each_hosted(count_wanted, &query);
	return !query.staying;
}

/* Wants all other hosted threads of @mm back once: they are posted again with what holds by now,
 * also those that are just being posted. Any context. */
void tacet_hosted_return(struct mm_struct *mm)
{
	smp_mb();	/* pairs with the one in park.c's run() */
	tacet_for_each_hosted(want_return, mm);
}

/* Waits until they have left their cores. Sleeps; ends early if the calling thread is killed. */
void tacet_hosted_await_returned(struct mm_struct *mm)
{
	struct tacet_wait wait = {
		.done = none_is_wanted,
		.subject = mm,
		.pause = TACET_PAUSE_SLEEP,
		.patience_ns = RETURN_PATIENCE_NS,
		.killable = true,
		.failure = "a core does not give a thread back to a sibling with rings",
	};

	tacet_await(&wait);
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
