// SPDX-License-Identifier: GPL-2.0
/*
 * A core's page fault, resolved in the context of the thread's Linux task.
 *
 * A fault that Linux would answer with a signal is not resolved here: the task executes the
 * instruction itself, and Linux raises the fault.
 */
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <asm/futex.h>
#include <asm/trap_pf.h>

#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "memory/memory.h"
#include "tacet.h"

/* Reserved bits, protection keys, shadow stacks, SGX (SDM vol. 3, 4.7). */
#define PF_NOT_OURS (BIT(3) | BIT(5) | BIT(6) | BIT(15))

static bool executable(unsigned long address)
{
	struct vm_area_struct *area = find_vma(current->mm, address);

	return area && area->vm_start <= address && area->vm_flags & VM_EXEC;
}

/* fixup_user_fault() does not grow the stack, and Linux complains in its log; a real access does. */
static int touch(unsigned long address, bool write)
{
	u32 __user *word = (u32 __user *)(address & ~3ul);
	int old;
	u32 value __maybe_unused;

	if (write)
		return arch_futex_atomic_op_inuser(FUTEX_OP_ADD, 0, &old, word);
	return get_user(value, word);
}

/* 0: the core may repeat the instruction. Sleeps. */
int tacet_fault(struct tacet_hosted *hosted, unsigned long address, u64 error)
{
	struct tacet_space *space = hosted->space;
	struct tacet_range *range = space->range;
	bool write = error & X86_PF_WRITE, unlocked = false;
	unsigned int flags = FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_KILLABLE | FAULT_FLAG_USER;
	int result = -EFAULT;

	if (address >= TASK_SIZE_MAX || error & PF_NOT_OURS)
		return -EFAULT;
	if (range && READ_ONCE(range->visibility) != TACET_RANGE_HANDED_OVER &&
	    tacet_range_covers(range, address, 1))
		return tacet_range_fault(hosted, address, error);
	if (write)
		flags |= FAULT_FLAG_WRITE;
	mmap_read_lock(current->mm);
	if (vma_lookup(current->mm, address) && (!(error & X86_PF_INSTR) || executable(address)))
		result = fixup_user_fault(current->mm, address, flags, &unlocked);
	mmap_read_unlock(current->mm);
	if (result && !(error & X86_PF_INSTR) && !fatal_signal_pending(current))
		result = touch(address, write);
	if (!result)
		tacet_space_sync(space, address, address);
	return result;
}
