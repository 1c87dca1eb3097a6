// SPDX-License-Identifier: GPL-2.0
/*
 * A core's page fault, resolved in the context of the thread's Linux task.
 *
 * A fault that Linux would answer with a signal is not resolved here: the task executes the
 * instruction itself, and Linux raises the fault.
 */
#include <linux/fs.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/userfaultfd_k.h>
#include <asm/futex.h>
#include <asm/trap_pf.h>

#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "memory/memory.h"
#include "tacet.h"

/* Reserved bits, protection keys, shadow stacks, SGX (SDM vol. 3, 4.7). */
#define PF_NOT_OURS (BIT(3) | BIT(5) | BIT(6) | BIT(15))

/* A program's first touches mostly come in a row: a fault that Linux serves makes the neighbours present that it
 * would soon be asked for. */
static unsigned int fault_pages = 16;
module_param(fault_pages, uint, 0644);
MODULE_PARM_DESC(fault_pages, "pages of an aligned cluster that a first write makes present, a power of 2; 1: none but its own (default 16)");

/* Linux maps so many pages of a file around a read of one of them, if it has them in memory. */
#define WINDOW_BYTES (16 * PAGE_SIZE)
#define WINDOWS 4

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

/* Only what nobody else sees or waits for. A page that is copied early misses what is written to its file later. */
static bool has_clusters(struct vm_area_struct *area)
{
	return !(area->vm_flags & (VM_SPECIAL | VM_HUGETLB | VM_SHARED | VM_LOCKED | VM_RAND_READ)) &&
	       !userfaultfd_armed(area) && !(area->vm_file && inode_is_open_for_write(file_inode(area->vm_file)));
}

/* Best effort, and never waits for a disk. The mmap lock is held. */
static void make_present(struct vm_area_struct *area, unsigned long start, unsigned long end, unsigned long step, bool write)
{
	unsigned int flags = FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_RETRY_NOWAIT | (write ? FAULT_FLAG_WRITE : 0);

	for (; start < end; start += step)
		if (handle_mm_fault(area, start, flags, NULL) & (VM_FAULT_ERROR | VM_FAULT_RETRY | VM_FAULT_COMPLETED))
			return;
}

/*
 * @address has just been made present: so are its neighbours. A first write: those behind it in its cluster, in a
 * stack those before it. A first read of a file: what Linux has in memory of the next windows.
 */
static void make_neighbours_present(unsigned long address, bool write)
{
	unsigned long bytes = (unsigned long)READ_ONCE(fault_pages) << PAGE_SHIFT, first, end;
	struct vm_area_struct *area = vma_lookup(current->mm, address);

	if (bytes <= PAGE_SIZE || bytes & (bytes - 1) || !area || !has_clusters(area))
		return;
	if (write) {
		first = max(address & ~(bytes - 1), area->vm_start);
		end = min((address | (bytes - 1)) + 1, area->vm_end);
		if (area->vm_flags & VM_GROWSDOWN)
			make_present(area, first, address & PAGE_MASK, PAGE_SIZE, true);
		else
			make_present(area, (address & PAGE_MASK) + PAGE_SIZE, end, PAGE_SIZE, true);
	} else if (area->vm_file) {
		first = (address & ~(WINDOW_BYTES - 1)) + WINDOW_BYTES;
		end = min(first + (WINDOWS - 1) * WINDOW_BYTES, area->vm_end);
		make_present(area, first, end, WINDOW_BYTES, false);
	}
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
	if (!result)
		make_neighbours_present(address, write);
	mmap_read_unlock(current->mm);
	if (result && !(error & X86_PF_INSTR) && !fatal_signal_pending(current))
		result = touch(address, write);
	if (!result)
		tacet_space_sync(space, address, address);
	return result;
}
