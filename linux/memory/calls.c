// SPDX-License-Identifier: GPL-2.0
/*
 * Calls and faults that concern a hosted thread's range, but come to Linux: what Linux does
 * before it performs them.
 *
 * Called by delegate/park.c and delegate/fault.c in the thread's own context. For a call that
 * Linux performs a range is mapped memory and nothing more. Before a call that is about the
 * mapping itself, the range is handed over (memory/handover.c).
 */
#include <linux/delay.h>
#include <linux/mman.h>
#include <linux/personality.h>
#include <linux/resource.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/userfaultfd.h>
#include <uapi/linux/sched.h>
#include <asm/trap_pf.h>
#include <asm/trapnr.h>
#include <asm/unistd.h>

#include "arch/arch.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define PR_SET_MDWE 65
#define ALL_RIGHTS (TACET_RANGE_READ_ONLY | TACET_RANGE_EXECUTABLE)

#define SAME_CALL_LIMIT 4

static bool copies_process(const struct pt_regs *regs)
{
	u64 flags;

	switch (tacet_call_number(regs->ax)) {
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

/* So many frames a job has for itself that no program has. */
static unsigned long spare_frames(unsigned int job)
{
	const struct tacet_job_memory *memory = &tacet_partition.memory->jobs[job - 1];

	return max_t(s64, READ_ONCE(memory->owned) - READ_ONCE(memory->frames), 0);
}

/* The partition has no room for a copy of the range. */
static bool copy_would_fail(struct tacet_range *range)
{
	const struct tacet_memory *memory = tacet_partition.memory;
	unsigned long frames = 0, used = 0, needed = tacet_range_populated(range);
	unsigned int i;

	if (tacet_job_maps(range->job))
		return needed + needed / 64 > spare_frames(range->job);
	for (i = 0; i < memory->block_count; i++)
		frames += memory->blocks[i].count;
	for (i = 0; i < tacet_partition.core_count; i++) {
		const struct tacet_cpu *shared = tacet_partition.cores[i].shared;

		used += READ_ONCE(shared->frames_taken) - READ_ONCE(shared->frames_returned);
	}
	for (i = 1; i <= TACET_JOBS; i++)
		used += tacet_job_maps(i) ? spare_frames(i) : 0;
	/* An eighth is for tables, and for the frames that each core keeps in store. */
	return needed + frames / 8 > frames - min(used, frames);
}

/* The range's job may not have so many frames more. */
static bool beyond_job(const struct tacet_range *range, unsigned long frames)
{
	const struct tacet_job_memory *job;

	if (!range->job)
		return false;
	job = &tacet_partition.memory->jobs[range->job - 1];
	return job->limit && READ_ONCE(job->frames) + (s64)frames > (s64)job->limit;
}

/* The call asks for memory that Linux would have to give, since the range's job may not have so much. */
static bool asks_beyond_job(const struct tacet_range *range, const struct pt_regs *regs)
{
	unsigned long promised = MAP_PRIVATE | MAP_ANONYMOUS;

	if (!range->job || tacet_call_number(regs->ax) != __NR_mmap || regs->dx == PROT_NONE)
		return false;
	if ((regs->r10 & (promised | MAP_SHARED | MAP_NORESERVE | MAP_STACK)) != promised)
		return false;
	return beyond_job(range, DIV_ROUND_UP(regs->si, PAGE_SIZE));
}

/* Against such a limit Linux would count all of the range, or nothing of it. */
static bool limits_space(unsigned int resource)
{
	return resource == RLIMIT_AS || resource == RLIMIT_DATA;
}

/* The call, whose number is in regs->ax, is about the range's mapping. */
static bool about_mappings(const struct tacet_range *range, const struct pt_regs *regs)
{
	switch (tacet_call_number(regs->ax)) {
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
	case __NR_ioctl:
		return (u32)regs->si == USERFAULTFD_IOC_NEW;	/* of /dev/userfaultfd: as the call */
	case __NR_userfaultfd:
	case __NR_process_madvise:
	case __NR_move_pages:
	case __NR_migrate_pages:
		return true;
	case __NR_mlockall:
		return !tacet_range_locks_without_limit();
	case __NR_personality:
		return (u32)regs->di != U32_MAX && regs->di & READ_IMPLIES_EXEC;
	case __NR_prctl:	/* forbids executable pages */
		return (int)regs->di == PR_SET_MDWE;
	case __NR_io_uring_register:	/* pins buffers: not possible where writes are guarded */
		return READ_ONCE(range->shared->rights);
	case __NR_setrlimit:
		return limits_space(regs->di);
	case __NR_prlimit64:
		return regs->dx && limits_space(regs->si);
	}
	return false;
}

/* 0, or the error with which the call fails. */
static int hand_over_for_call(struct tacet_range *range, unsigned long number)
{
	char why[40];

	snprintf(why, sizeof(why), "for system call %lu", number);
	return tacet_handover(range, why);
}

/* Linux performs these whatever the range is: they have more effects than that on memory. */
static bool goes_on_without(unsigned long number)
{
	switch (number) {
	case __NR_personality:
	case __NR_prctl:
	case __NR_io_uring_register:
	case __NR_setrlimit:
	case __NR_prlimit64:
		return true;
	}
	return false;
}

/* What a call about the range returns if nobody can perform it. */
unsigned long tacet_range_refuse(const struct tacet_range *range, long number, int error)
{
	/* It has no errors: it says where the break is. */
	return number == __NR_brk ? READ_ONCE(range->shared->break_end) : error;
}

/* Waits until a hand-over or a fork of the range that is in progress is over. */
static void await_others(struct tacet_range *range)
{
	mutex_lock(&range->lock);
	tacet_discard_settle_locked(range);
	mutex_unlock(&range->lock);
	mmap_read_lock(range->mm);
	mmap_read_unlock(range->mm);
	while (atomic_read(&range->forks) && !fatal_signal_pending(current))
		usleep_range(20, 100);
}

/* The core refuses the same again and again, whatever Linux does about it, and has served no
 * other call of the thread meanwhile. */
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

/* Removes the reason for which a core has refused a call or fault of the thread, if possible.
 * 1: the core can try again. 0: Linux can. Negative: nobody can. */
static int serve_refusal(struct tacet_hosted *hosted, struct tacet_range *range)
{
	const struct tacet_context *context = hosted->context;

	switch (READ_ONCE(context->refusal)) {
	case TACET_REFUSAL_MIRRORED:
		/* It may be a page that Linux writes whenever the thread goes to a core. */
		if (refused_again(hosted))
			break;
		tacet_range_unmirror(range, context->refused_start, context->refused_end);
		return 1;
	case TACET_REFUSAL_CLOSED:
		await_others(range);
		return 1;
	case TACET_REFUSAL_RIGHTS:
		if (refused_again(hosted))
			break;
		tacet_mapping_grant(range, context->refused_start & ALL_RIGHTS);
		return 1;
	case TACET_REFUSAL_BEYOND:
		break;
	default:
		return 0;
	}
	if (beyond_job(range, 1))
		return -ENOMEM;
	if (context->event == TACET_EVENT_SYSCALL)
		return hand_over_for_call(range, tacet_call_number(context->registers.rax));
	return tacet_handover(range, "because the partition is full");
}

/* The thread's call wants to take away pages that its program has locked, and may not. */
static bool refuses_locked(struct tacet_hosted *hosted, struct tacet_range *range, const struct pt_regs *regs)
{
	const struct tacet_context *context = hosted->context;

	return READ_ONCE(context->refusal) == TACET_REFUSAL_MIRRORED && context->event == TACET_EVENT_SYSCALL &&
	       tacet_locked_refuses(range, regs, context->refused_start, context->refused_end);
}

static enum tacet_served answer(struct pt_regs *regs, unsigned long result)
{
	regs->ax = result;
	return TACET_SERVED;
}

/* Before Linux performs the call whose number is in regs->ax. @matters: it may be about memory, or copy the process. */
enum tacet_served tacet_range_before_call(struct tacet_hosted *hosted, struct pt_regs *regs, bool matters)
{
	struct tacet_range *range = hosted->space->range;
	long number = tacet_call_number(regs->ax);
	bool copies;
	int done;

	if (!range || READ_ONCE(range->visibility) == TACET_RANGE_HANDED_OVER)
		return TACET_SERVED_BY_LINUX;
	/* Somebody is to see the thread's calls on Linux, which has no room for the range. */
	if (!(hosted->context->local & TACET_LOCAL_MEMORY))
		return TACET_SERVED_BY_LINUX;
	tacet_discard_settle(range);
	if (!matters && READ_ONCE(hosted->context->refusal) == TACET_REFUSAL_NONE) {
		hosted->memory.repeats = 0;
		return TACET_SERVED_BY_LINUX;
	}
	if (refuses_locked(hosted, range, regs))
		return answer(regs, -EINVAL);
	done = serve_refusal(hosted, range);
	if (done > 0)
		return TACET_SERVED_BY_CORE;
	hosted->memory.repeats = 0;
	if (!done && tacet_range_answers(range, regs))
		return TACET_SERVED;
	if (!done && asks_beyond_job(range, regs))
		return answer(regs, -ENOMEM);
	copies = copies_process(regs);
	if (!done && copies && beyond_job(range, tacet_range_populated(range)))
		return answer(regs, -ENOMEM);
	if (!done && (about_mappings(range, regs) || (copies && copy_would_fail(range))))
		done = hand_over_for_call(range, number);
	/* A child copies either the range, or what Linux has after the hand-over. */
	if (!done && copies)
		tacet_range_will_fork(hosted, range);
	if (number == __NR_mlockall || number == __NR_munlockall)
		tacet_range_locks_all(range, regs);
	return done && !goes_on_without(number) ? answer(regs, tacet_range_refuse(range, number, done)) :
						  TACET_SERVED_BY_LINUX;
}

/* Before the thread goes to a core. If somebody looks at its calls, all of them go to Linux, and
 * its process needs ordinary memory; likewise if another process has limited its memory. */
void tacet_range_before_post(struct tacet_hosted *hosted, bool looked_at)
{
	struct tacet_range *range = hosted->space->range;

	if (!range || READ_ONCE(range->visibility) == TACET_RANGE_HANDED_OVER)
		return;
	if (looked_at)
		tacet_handover(range, "because others see its calls");
	else if (!tacet_range_unlimited())
		tacet_handover(range, "because its memory is limited");
}

/* The program touches memory for which its job has no frame: as in a control group that is full, it is
 * killed. */
static int end_beyond_job(void)
{
	tacet_report(TACET_LOG_WARNING, "process %d (%s): killed: it touched memory beyond the limit of its job",
		     current->tgid, current->comm);
	send_sig(SIGKILL, current, 1);
	return -EFAULT;
}

/* A page fault in the range that a core could not resolve. 0: the core tries again. Otherwise
 * Linux executes the instruction, or a signal is pending. */
int tacet_range_fault(struct tacet_hosted *hosted, unsigned long address, u64 error)
{
	struct tacet_range *range = hosted->space->range;
	unsigned long page = (address - range->base) >> PAGE_SHIFT;
	struct tacet_leaf leaf;

	switch (READ_ONCE(hosted->context->refusal)) {
	case TACET_REFUSAL_BEYOND:
		if (beyond_job(range, 1))
			return end_beyond_job();
		fallthrough;
	case TACET_REFUSAL_CLOSED:
		return serve_refusal(hosted, range) < 0 ? -EFAULT : 0;
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
	/* It met a fork, which is over. A thread that faults here too often does not try again. */
	return leaf.value & (TACET_ENTRY_PRESENT | TACET_ENTRY_RESERVED) ? 0 : -EFAULT;
}
