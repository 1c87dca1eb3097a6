// SPDX-License-Identifier: GPL-2.0
/*
 * Questions to a core about ranges and frames (memory.h); the other end is
 * kernel/host/linux/src/ask.rs.
 *
 * One question is open at a time. Any core can answer, since all cores share the
 * co-kernel's books: an idle one is asked if there is one. Sleeps; called with a range's
 * mutex or the mmap lock held, never with a lock that cores take.
 */
#include "border/border.h"
#include "compat.h"
#include "tacet.h"

#define PATIENCE_NS (60 * NSEC_PER_SEC)

static DEFINE_MUTEX(asking);

static bool answers(const struct tacet_core *core)
{
	return core->started && READ_ONCE(core->audible) && !READ_ONCE(tacet_partition.failed) &&
	       READ_ONCE(core->shared->state) == TACET_CPU_ONLINE;
}

static struct tacet_core *choose(void)
{
	struct tacet_core *chosen = NULL;
	unsigned int i;

	for (i = 0; i < tacet_partition.core_count; i++) {
		struct tacet_core *core = &tacet_partition.cores[i];

		if (!answers(core))
			continue;
		if (READ_ONCE(core->shared->mode) == TACET_MODE_IDLE)
			return core;
		if (!chosen || atomic_read(&core->posted) < atomic_read(&chosen->posted))
			chosen = core;
	}
	return chosen;
}

static int answered(const struct tacet_wait *wait)
{
	if (smp_load_acquire(&wait->core->shared->ask_answered) == wait->wanted)
		return 1;
	return answers(wait->core) ? 0 : -EIO;
}

static int await_answer(struct tacet_core *core, u32 ordinal)
{
	struct tacet_wait wait = {
		.core = core,
		.done = answered,
		.wanted = ordinal,
		.pause = TACET_PAUSE_SLEEP,
		.patience_ns = PATIENCE_NS,
		.renewed = true,
		.failure = "a core does not answer about memory",
	};

	return tacet_await(&wait) ?: READ_ONCE(core->shared->ask_result);
}

static int ask(enum tacet_ask kind, const u64 arguments[4])
{
	struct tacet_core *core;
	int result = -EIO;
	u32 ordinal;

	mutex_lock(&asking);
	core = choose();
	if (core) {
		struct tacet_cpu *shared = core->shared;

		memcpy(shared->ask_arguments, arguments, sizeof(shared->ask_arguments));
		shared->ask_kind = kind;
		ordinal = shared->ask_requested + 1;
		smp_store_release(&shared->ask_requested, ordinal);
		tacet_attention(core, TACET_ATTENTION_ASK);
		result = await_answer(core, ordinal);
	}
	mutex_unlock(&asking);
	return result;
}

int tacet_ask(enum tacet_ask kind, u64 first, u64 second)
{
	const u64 arguments[] = { first, second, 0, 0 };

	return ask(kind, arguments);
}

static u64 two(u32 high, u32 low)
{
	return (u64)high << 32 | low;
}

/* Maps free pages of range @number, readable and writable. */
int tacet_ask_map(u64 number, u64 first, u64 pages, struct tacet_policy policy, u32 nodes)
{
	const u64 arguments[] = { number, pages << 32 | first, two(policy.mode, 0),
				  two(nodes, policy.nodes) };

	return ask(TACET_ASK_MAP, arguments);
}

/* Gives page @page of range @number a frame. A policy of that page overrides @policy. */
int tacet_ask_touch(u64 number, u64 page, bool write, struct tacet_policy policy, u32 nodes)
{
	const u64 arguments[] = { number, page, two(policy.mode, write), two(nodes, policy.nodes) };

	return ask(TACET_ASK_TOUCH, arguments);
}
