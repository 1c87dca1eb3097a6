// SPDX-License-Identifier: GPL-2.0
/*
 * Private futexes of an address space some of whose threads wait on Linux and some on
 * cores. The other end is kernel/host/linux/src/futex.rs.
 *
 * Called by delegate/calls.c at the beginning and the end of every task's futex calls; may
 * not sleep. Before a wait on Linux the space's counter says so, and a core that wakes
 * threads there forwards its call. After a wake-up on Linux a core wakes the rest: the task
 * waits for that later (delegate/errand.c), where it can sleep. Each side changes its own
 * counts before it reads those of the other.
 */
#include <linux/uaccess.h>
#include <uapi/linux/futex.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "tacet.h"

#define EVERY_THREAD 0x7fffffffu
/* In a counter: a thread has waited there whose end of waiting is not counted. */
#define STICKY 0x80000000u
/* In hosted->call.futex_wait: all counters. */
#define ALL_COUNTERS (TACET_FUTEX_COUNTERS + 1)

static unsigned int counter_of(unsigned long address)
{
	return address / 4 % TACET_FUTEX_COUNTERS;
}

/* What a call waits for: a counter + 1, or 0: nothing that a core could wake. */
static unsigned int waits_for(struct pt_regs *regs, long number)
{
	switch (number) {
	case __NR_futex:
		switch ((int)regs->si & FUTEX_CMD_MASK) {
		case FUTEX_WAIT:
		case FUTEX_WAIT_BITSET:
			return regs->si & FUTEX_PRIVATE_FLAG ? counter_of(regs->di) + 1 : 0;
		}
		return 0;
	case NR_FUTEX_WAIT:
		return counter_of(regs->di) + 1;
	case NR_FUTEX_WAITV:
		return ALL_COUNTERS;
	}
	return 0;
}

/* Adds @change to counter @wait - 1, or to all. A full barrier follows. */
static void count(struct tacet_space_shared *shared, unsigned int wait, int change)
{
	unsigned int i;

	for (i = 0; i < TACET_FUTEX_COUNTERS; i++)
		if (wait == ALL_COUNTERS || wait == i + 1)
			__atomic_fetch_add(&shared->waits_on_linux[i], change, __ATOMIC_SEQ_CST);
	smp_mb();
}

static void mark(struct tacet_space_shared *shared, unsigned int wait)
{
	unsigned int i;

	for (i = 0; i < TACET_FUTEX_COUNTERS; i++)
		if (wait == ALL_COUNTERS || wait == i + 1)
			__atomic_fetch_or(&shared->waits_on_linux[i], STICKY, __ATOMIC_SEQ_CST);
	smp_mb();
}

/* Cores wake @count times before the call returns. Without memory for that the task repeats the
 * call: it wakes more threads on Linux then, which is allowed. */
static void wake_on_cores(const struct tacet_space *space, struct tacet_wake *wakes, unsigned int count,
			  bool counts, struct pt_regs *regs)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		wakes[i].root = space->root_address;
		wakes[i].job = space->job;
		wakes[i].core = READ_ONCE(space->last_core);
	}
	if (!tacet_errand_wake(wakes, count, counts)) {
		regs->ax = regs->orig_ax;
		tacet_state_repeat_call(regs);
	}
}

/* How many are still to be woken. As on Linux, zero and negative numbers mean one. */
static u32 rest(unsigned long asked, long woken)
{
	int most = max((int)asked, 1);

	return most > woken ? most - woken : 0;
}

/* What a call wakes and moves. False: it is not one that moves waiting threads. */
static bool moves(const struct pt_regs *regs, long number, struct tacet_wake *wake)
{
	struct futex_waitv pair[2];

	wake->bitset = FUTEX_BITSET_MATCH_ANY;
	wake->woken = max((int)regs->dx, 0);
	wake->moved = max((int)regs->r10, 0);
	switch (number) {
	case __NR_futex:
		wake->address = regs->di;
		wake->to = regs->r8;
		return ((int)regs->si & FUTEX_CMD_MASK) == FUTEX_REQUEUE ||
		       ((int)regs->si & FUTEX_CMD_MASK) == FUTEX_CMP_REQUEUE;
	case NR_FUTEX_REQUEUE:	/* waiters, flags, how many */
		if (copy_from_user_nofault(pair, (const void __user *)regs->di, sizeof(pair)))
			return false;
		wake->address = pair[0].uaddr;
		wake->to = pair[1].uaddr;
		return true;
	}
	return false;
}

static void wake_both(const struct tacet_space *space, struct pt_regs *regs)
{
	struct tacet_wake wakes[] = {
		{ .address = regs->r8, .bitset = FUTEX_BITSET_MATCH_ANY, .woken = EVERY_THREAD },
		{ .address = regs->di, .bitset = FUTEX_BITSET_MATCH_ANY, .woken = EVERY_THREAD },
	};

	wake_on_cores(space, wakes, ARRAY_SIZE(wakes), false, regs);
}

/*
 * Linux has woken or moved @result threads: the cores do the rest of the call. FUTEX_WAKE_OP,
 * which wakes depending on what it writes, wakes every waiting thread instead: waking
 * without need is allowed (futex(2)).
 */
static void wake_rest(const struct tacet_space *space, struct pt_regs *regs, long result)
{
	struct tacet_wake wake = { .address = regs->di, .bitset = FUTEX_BITSET_MATCH_ANY };
	u32 woken;

	if (moves(regs, regs->orig_ax, &wake)) {
		woken = min_t(u32, result, wake.woken);
		wake.woken -= woken;
		wake.moved -= min_t(u32, result - woken, wake.moved);
		if (wake.woken || wake.moved)
			wake_on_cores(space, &wake, 1, true, regs);
		return;
	}
	wake.moved = 0;
	if (regs->orig_ax == NR_FUTEX_REQUEUE) {
		return;
	} else if (regs->orig_ax == NR_FUTEX_WAKE) {	/* address, mask, how many */
		wake.bitset = regs->si;
	} else if (((int)regs->si & FUTEX_CMD_MASK) == FUTEX_WAKE_BITSET) {
		wake.bitset = regs->r9;
	} else if (((int)regs->si & FUTEX_CMD_MASK) == FUTEX_WAKE_OP) {
		wake_both(space, regs);
		return;
	} else if (((int)regs->si & FUTEX_CMD_MASK) != FUTEX_WAKE) {
		return;
	}
	wake.woken = rest(regs->dx, result);
	if (wake.woken)
		wake_on_cores(space, &wake, 1, true, regs);
}

static bool about_private_futexes(const struct pt_regs *regs, long number)
{
	return number == NR_FUTEX_WAKE || number == NR_FUTEX_REQUEUE ||
	       (number == __NR_futex && regs->si & FUTEX_PRIVATE_FLAG);
}

/* Linux may move threads to @wait, which it counts where they waited first. RCU. */
static void expect_moved(unsigned int wait)
{
	struct tacet_space *space = tacet_space_find(current->mm);

	if (space && space->shared)
		mark(space->shared, wait);
}

/* RCU. @hosted: the calling thread, or NULL. */
void tacet_futex_before_call(struct tacet_hosted *hosted, struct pt_regs *regs, long number)
{
	unsigned int wait = waits_for(regs, number);
	struct tacet_space *space;
	struct tacet_wake wake;

	if (!wait) {
		if (about_private_futexes(regs, number) && moves(regs, number, &wake))
			expect_moved(counter_of(wake.to) + 1);
		else if (number == NR_FUTEX_REQUEUE)
			expect_moved(ALL_COUNTERS);	/* the destination cannot be read now */
		return;
	}
	/* The space stays for as long as the thread is hosted. The call's end takes the
	 * count back. If the thread is not hosted by then, the count stays: that is only
	 * slower. */
	space = hosted ? READ_ONCE(hosted->space) : NULL;
	if (space && hosted->space_mm == current->mm) {
		if (space->shared) {
			count(space->shared, wait, 1);
			hosted->call.futex_wait = wait;
		}
		return;
	}
	space = tacet_space_find(current->mm);
	if (space && space->shared)
		mark(space->shared, wait);
}

/* RCU. @hosted: the calling thread, or NULL. */
void tacet_futex_after_call(struct tacet_hosted *hosted, struct pt_regs *regs, long result)
{
	struct tacet_space *space;

	if (hosted && hosted->call.futex_wait) {
		space = READ_ONCE(hosted->space);
		if (space && space->shared)
			count(space->shared, hosted->call.futex_wait, -1);
		hosted->call.futex_wait = 0;
	}
	if (result < 0 || !about_private_futexes(regs, regs->orig_ax))
		return;
	space = tacet_space_find(current->mm);
	/* Pairs with the core: it counts a wait, then compares. */
	smp_mb();
	if (space && space->shared && READ_ONCE(space->shared->waits_on_cores))
		wake_rest(space, regs, result);
}
