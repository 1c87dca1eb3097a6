// SPDX-License-Identifier: GPL-2.0
/*
 * Calls and faults of hosted threads that concern their process's range and come to
 * Linux all the same: what has to be done first.
 *
 * Called by delegate/park.c and delegate/fault.c in the thread's own context. A call that Linux
 * performs never sees part of a range as anything but mapped memory: one that is
 * about the mapping itself finds ordinary memory there instead (memory/handover.c).
 */
#include <linux/delay.h>
#include <linux/mman.h>
#include <linux/personality.h>
#include <linux/ratelimit.h>
#include <linux/resource.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <uapi/linux/sched.h>
#include <asm/trap_pf.h>
#include <asm/trapnr.h>
#include <asm/unistd.h>

#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define PR_SET_MDWE 65
#define ALL_RIGHTS (TACET_RANGE_READ_ONLY | TACET_RANGE_EXECUTABLE)

#define SAME_CALL_LIMIT 4

static bool copies_process(const struct pt_regs *regs)
{
	u64 flags;

	switch (regs->ax) {
	case __NR_fork:
		return true;
	case __NR_clone:
		return !(regs->di & CLONE_VM);
	case __NR_clone3:
		return !copy_from_user(&flags, (void __user *)regs->di, sizeof(flags)) &&
		       !(flags & CLONE_VM);
	}
	return false;
}

/* The copy would not fit beside it. */
static bool copy_would_fail(struct tacet_range *range)
{
	const struct tacet_memory *memory = tacet_partition.memory;
	unsigned long frames = 0, used = 0, needed = tacet_range_populated(range);
	unsigned int i;

	for (i = 0; i < memory->block_count; i++)
		frames += memory->blocks[i].count;
	for (i = 0; i < tacet_partition.core_count; i++) {
		const struct tacet_cpu *shared = tacet_partition.cores[i].shared;

		used += READ_ONCE(shared->frames_taken) - READ_ONCE(shared->frames_returned);
	}
	/* An eighth for tables, and for what cores have in store. */
	return needed + frames / 8 > frames - min(used, frames);
}

/* A limit that would count all of the range, or should and would not. */
static bool limits_space(unsigned int resource)
{
	return resource == RLIMIT_AS || resource == RLIMIT_DATA;
}

/* regs->ax is the number of a call that is about mappings, and here about the range's. */
static bool about_mappings(const struct tacet_range *range, const struct pt_regs *regs)
{
	switch (regs->ax) {
	case __NR_mincore:
	case __NR_mlock:
	case __NR_mlock2:
	case __NR_munlock:
	case __NR_msync:
	case __NR_pkey_mprotect:
	case __NR_remap_file_pages:
	case NR_SET_MEMPOLICY_HOME_NODE:
	case NR_MSEAL:
		return tacet_range_covers(range, regs->di, regs->si);
	case __NR_shmat:
		return regs->si && tacet_range_covers(range, regs->si, TACET_RANGE_BYTES);
	case NR_MAP_SHADOW_STACK:
		return regs->di && tacet_range_covers(range, regs->di, regs->si);
	case __NR_mlockall:
	case __NR_userfaultfd:
	case __NR_process_madvise:
	case __NR_move_pages:
	case __NR_migrate_pages:
		return true;
	case __NR_personality:
		return regs->di != U32_MAX && regs->di & READ_IMPLIES_EXEC;
	case __NR_prctl:	/* no more pages to execute */
		return regs->di == PR_SET_MDWE;
	case __NR_io_uring_register:	/* buffers held for good: not where writes are guarded */
		return READ_ONCE(range->shared->rights);
	case __NR_setrlimit:
		return limits_space(regs->di);
	case __NR_prlimit64:
		return regs->dx && limits_space(regs->si);
	}
	return false;
}

/* The program gets no more of the partition's memory: a user may want to know why. */
static void hand_over_for_call(struct tacet_range *range, unsigned long number)
{
	static DEFINE_RATELIMIT_STATE(reports, 5 * HZ, 10);

	if (READ_ONCE(range->visibility) != TACET_RANGE_HANDED_OVER && __ratelimit(&reports))
		tacet_report(TACET_LOG_INFO, "process %d (%s): its memory becomes Linux's, for system call %lu",
			     current->tgid, current->comm, number);
	tacet_handover(range);
}

/* Waits until whoever has paused the range is done. */
static void await_others(struct tacet_range *range)
{
	mutex_lock(&range->lock);
	mutex_unlock(&range->lock);
	mmap_read_lock(range->mm);
	mmap_read_unlock(range->mm);
	while (atomic_read(&range->forks) && !fatal_signal_pending(current))
		usleep_range(20, 100);
}

/* The same is refused again and again, whatever is done about it: and the core has served
 * nothing else of the thread meanwhile. */
static bool refused_again(struct tacet_hosted *hosted)
{
	const struct tacet_context *context = hosted->context;

	if (context->refused_start != hosted->memory.refused_start ||
	    context->refused_end != hosted->memory.refused_end ||
	    context->local_calls != hosted->memory.local_calls)
		hosted->memory.repeats = 0;
	hosted->memory.refused_start = context->refused_start;
	hosted->memory.refused_end = context->refused_end;
	hosted->memory.local_calls = context->local_calls;
	return ++hosted->memory.repeats > SAME_CALL_LIMIT;
}

/* True: the core is to try again what the thread asked for. */
static bool serve_refusal(struct tacet_hosted *hosted, struct tacet_range *range,
			  unsigned long number)
{
	const struct tacet_context *context = hosted->context;

	switch (READ_ONCE(context->refusal)) {
	case TACET_REFUSAL_MIRRORED:
		/* Some of it may be what Linux writes whenever the thread goes to a core. */
		if (refused_again(hosted))
			break;
		tacet_range_unmirror(range, context->refused_start, context->refused_end);
		return true;
	case TACET_REFUSAL_CLOSED:
		await_others(range);
		return true;
	case TACET_REFUSAL_RIGHTS:
		if (refused_again(hosted))
			break;
		tacet_mapping_grant(range, context->refused_start & ALL_RIGHTS);
		return true;
	case TACET_REFUSAL_BEYOND:
		break;
	default:
		return false;
	}
	hand_over_for_call(range, number);
	return false;
}

/* Before Linux performs the call whose number is in regs->ax. True: not yet, the core
 * is to be asked again. */
bool tacet_range_before_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	struct tacet_range *range = hosted->space->range;

	if (!range || READ_ONCE(range->visibility) == TACET_RANGE_HANDED_OVER)
		return false;
	if (serve_refusal(hosted, range, regs->ax))
		return true;
	hosted->memory.repeats = 0;
	/* A child copies what is whole: the range, or what Linux has of it in the end. */
	if (copies_process(regs) && READ_ONCE(range->visibility) == TACET_RANGE_HIDDEN)
		await_others(range);
	if (about_mappings(range, regs) || (copies_process(regs) && copy_would_fail(range)))
		hand_over_for_call(range, regs->ax);
	return false;
}

/* Before the thread goes to a core: whose calls all go to Linux, has Linux's memory, and so has whom somebody else has
 * limited. */
void tacet_range_before_post(struct tacet_hosted *hosted, bool looked_at)
{
	struct tacet_range *range = hosted->space->range;

	if (range && READ_ONCE(range->visibility) != TACET_RANGE_HANDED_OVER &&
	    (looked_at || !tacet_range_unlimited()))
		tacet_handover(range);
}

/* A core's page fault in the range, which it could not resolve itself. 0: it is to try
 * again; else Linux has a look at the instruction, or a signal is pending. */
int tacet_range_fault(struct tacet_hosted *hosted, unsigned long address, u64 error)
{
	struct tacet_range *range = hosted->space->range;
	unsigned long page = (address - range->base) >> PAGE_SHIFT;
	struct tacet_leaf leaf;

	switch (READ_ONCE(hosted->context->refusal)) {
	case TACET_REFUSAL_CLOSED:
	case TACET_REFUSAL_BEYOND:
		serve_refusal(hosted, range, -1);
		return 0;
	}
	if (READ_ONCE(range->visibility) == TACET_RANGE_HIDDEN || atomic_read(&range->forks)) {
		await_others(range);
		return 0;
	}
	if (!tacet_range_lock(range, page))
		return -EFAULT;
	leaf = tacet_range_leaf(range, page);
	tacet_range_unlock(range, page);
	if (tacet_leaf_forbids(&leaf, error & X86_PF_WRITE, error & X86_PF_INSTR)) {
		tacet_range_signal(address, error);
		return -EFAULT;
	}
	/* What it met is over, a fork: who asks too often is not let go on. */
	return leaf.value & (TACET_ENTRY_PRESENT | TACET_ENTRY_RESERVED) ? 0 : -EFAULT;
}
