// SPDX-License-Identifier: GPL-2.0
/*
 * Private futexes of an address space whose threads wait partly on Linux and
 * partly on cores. The other end is kernel/core/src/syscall/futex.rs.
 *
 * Called by births.c at the beginning and the end of every task's futex calls;
 * may not sleep. Before a wait on Linux the space's counter says so, and a core
 * that wakes there forwards its call. After a wake-up on Linux a core wakes the
 * rest. Either side changes its books before it looks at the other's.
 */
#include <linux/uaccess.h>
#include <uapi/linux/futex.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "compat.h"
#include "tacet.h"

#define WAKE_PATIENCE_NS (20 * NSEC_PER_SEC)
#define EVERYBODY 0x7fffffffu
/* Of a counter: a thread that nobody keeps books about has waited there. */
#define STICKY 0x80000000u
/* In hosted->futex_wait: all counters. */
#define ALL_COUNTERS (TACET_FUTEX_COUNTERS + 1)
static unsigned int counter_of(unsigned long address)
{
	return address / 4 % TACET_FUTEX_COUNTERS;
}

/* What a call waits for: 0 nothing that a core could wake, else a counter + 1. */
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

/* RCU. @hosted: the calling thread, or NULL. */
void tacet_futex_before_call(struct tacet_hosted *hosted, struct pt_regs *regs, long number)
{
	unsigned int wait = waits_for(regs, number);
	struct tacet_space *space;

	if (!wait)
		return;
	/* Its space stays for as long as it is hosted: what is counted here is
	 * taken back at the call's end, or stays for ever if it is not hosted by
	 * then. Too many is only slower. */
	space = hosted ? READ_ONCE(hosted->space) : NULL;
	if (space && hosted->space_mm == current->mm) {
		if (space->shared) {
			count(space->shared, wait, 1);
			hosted->futex_wait = wait;
		}
		return;
	}
	space = tacet_space_find(current->mm);
	if (space && space->shared)
		mark(space->shared, wait);
}

/* Has a core wake up to @most of @space's threads that wait there. How many. */
static u32 wake_on_cores(struct tacet_space *space, unsigned long address, u32 bitset, u32 most)
{
	struct tacet_core *core = &tacet_partition.cores[READ_ONCE(space->last_core)];
	struct tacet_cpu *shared = core->shared;
	u64 start = ktime_get_mono_fast_ns();
	u32 ordinal, woken;

	spin_lock(&core->wake_lock);
	shared->wake_root = space->root_address;
	shared->wake_address = address;
	shared->wake_bitset = bitset;
	shared->wake_count = most;
	ordinal = shared->wake_requested + 1;
	smp_store_release(&shared->wake_requested, ordinal);
	tacet_attention(core, TACET_ATTENTION_WAKE);
	while (smp_load_acquire(&shared->wake_answered) != ordinal) {
		if (READ_ONCE(tacet_partition.failed) ||
		    READ_ONCE(shared->state) != TACET_CPU_ONLINE)
			break;
		if (ktime_get_mono_fast_ns() - start > WAKE_PATIENCE_NS)
			tacet_partition_fail("a core does not wake waiting threads");
		cpu_relax();
	}
	woken = READ_ONCE(shared->wake_woken);
	spin_unlock(&core->wake_lock);
	return woken;
}

/* The two words that a requeue of the newer kind is about. */
static void wake_both(struct tacet_space *space, const void __user *waiters)
{
	struct futex_waitv pair[2];

	if (copy_from_user_nofault(pair, waiters, sizeof(pair)))
		return;
	wake_on_cores(space, pair[0].uaddr, FUTEX_BITSET_MATCH_ANY, EVERYBODY);
}

/* As Linux counts: nobody asked for is one, like a negative number. */
static u32 rest(unsigned long asked, long woken)
{
	int most = max((int)asked, 1);

	return most > woken ? most - woken : 0;
}

/*
 * Linux has woken @result threads: the cores do the rest of the call. A call that
 * moves waiters, or wakes depending on what it writes, wakes every waiting thread
 * instead: waking without need is allowed (futex(2)).
 */
static void wake_rest(struct tacet_space *space, struct pt_regs *regs, long result)
{
	unsigned long address = regs->di;
	u32 left;

	switch (regs->orig_ax) {
	case NR_FUTEX_WAKE:	/* address, mask, how many */
		left = rest(regs->dx, result);
		if (left)
			regs->ax += wake_on_cores(space, address, regs->si, left);
		return;
	case NR_FUTEX_REQUEUE:
		wake_both(space, (const void __user *)regs->di);
		return;
	}
	switch ((int)regs->si & FUTEX_CMD_MASK) {
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		left = rest(regs->dx, result);
		if (left)
			regs->ax += wake_on_cores(space, address,
						  ((int)regs->si & FUTEX_CMD_MASK) == FUTEX_WAKE ?
						  FUTEX_BITSET_MATCH_ANY : (u32)regs->r9, left);
		return;
	case FUTEX_WAKE_OP:
		wake_on_cores(space, regs->r8, FUTEX_BITSET_MATCH_ANY, EVERYBODY);
		fallthrough;
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
		wake_on_cores(space, address, FUTEX_BITSET_MATCH_ANY, EVERYBODY);
		return;
	}
}

static bool about_private_futexes(const struct pt_regs *regs)
{
	return regs->orig_ax == NR_FUTEX_WAKE || regs->orig_ax == NR_FUTEX_REQUEUE ||
	       (regs->orig_ax == __NR_futex && regs->si & FUTEX_PRIVATE_FLAG);
}

/* RCU. @hosted: the calling thread, or NULL. */
void tacet_futex_after_call(struct tacet_hosted *hosted, struct pt_regs *regs, long result)
{
	struct tacet_space *space;

	if (hosted && hosted->futex_wait) {
		space = READ_ONCE(hosted->space);
		if (space && space->shared)
			count(space->shared, hosted->futex_wait, -1);
		hosted->futex_wait = 0;
	}
	if (result < 0 || !about_private_futexes(regs))
		return;
	space = tacet_space_find(current->mm);
	/* Pairs with the core: it counts a wait, then compares. */
	smp_mb();
	if (space && space->shared && READ_ONCE(space->shared->waits_on_cores))
		wake_rest(space, regs, result);
}
