// SPDX-License-Identifier: GPL-2.0
/*
 * The number of a range, while threads on cores name the range by it.
 *
 * A number is withdrawn in one way: nobody is given it any more, the threads that have it are
 * recalled, and when the last one is back it may be another range's. What a thread wants of a
 * range that it names all the same is refused: each range has a serial too, which the cores
 * compare under a piece's lock. Questions about a range need none (border/ask.c): whoever asks
 * keeps the range's mapping, and so its number.
 *
 * Called by delegate/local.c around each stay on a core, and at the end of a range.
 */
#include "border/border.h"
#include "memory/memory.h"
#include "tacet.h"

/* Names the range of the thread's process in its context, if the cores may serve calls about it.
 * By the thread, which is about to be posted. */
bool tacet_range_name(struct tacet_hosted *hosted)
{
	struct tacet_range *range = hosted->space->range;

	if (!range || range->lost)
		return false;
	WRITE_ONCE(hosted->memory.named, range->serial);
	/* Pairs with tacet_range_withdraw(): it sees that we name the range, or we see that we may not. */
	smp_mb();
	if (READ_ONCE(range->visibility) == TACET_RANGE_HANDED_OVER) {
		WRITE_ONCE(hosted->memory.named, 0);
		return false;
	}
	hosted->context->range = range->number;
	hosted->context->range_serial = range->serial;
	return true;
}

/* No core has the thread's context any more. By the thread. */
void tacet_range_unname(struct tacet_hosted *hosted)
{
	smp_store_release(&hosted->memory.named, 0);
}

struct withdrawal {
	u64 serial;
	unsigned int left;
};

static void recall_one(struct tacet_hosted *hosted, void *data)
{
	struct withdrawal *withdrawal = data;

	if (smp_load_acquire(&hosted->memory.named) != withdrawal->serial)
		return;
	withdrawal->left++;
	if (!(atomic_read(&hosted->wanted) & TACET_WANT_RETURN))
		tacet_want(hosted, TACET_WANT_RETURN);
}

static int nobody_names(const struct tacet_wait *wait)
{
	struct withdrawal withdrawal = { .serial = wait->wanted };

	tacet_for_each_hosted(recall_one, &withdrawal);
	return !withdrawal.left;
}

/*
 * The range's visibility says that it is handed over. When this returns no thread on a core names
 * it, or the cores are gone. Sleeps, also with the mmap lock held: the core gives a thread back
 * whatever Linux holds, and the proxy takes no lock before it says so. How long a core may take for that its
 * proxy decides.
 */
void tacet_range_withdraw(struct tacet_range *range)
{
	struct tacet_wait wait = {
		.done = nobody_names,
		.wanted = range->serial,
		.pause = TACET_PAUSE_SLEEP,
	};

	smp_mb();
	tacet_await(&wait);
}
