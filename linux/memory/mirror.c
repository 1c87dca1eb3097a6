// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults of Linux in a range. The kernel, or a thread that is on Linux for a moment,
 * touches a page of the range: Linux maps it from then on. The page is mirrored.
 *
 * Called through the range's mapping (memory/mapping.c), with the mmap lock held: it has no
 * operation that Linux calls without. Under the piece's lock the page is marked as mirrored
 * in the co-kernel's tables. The co-kernel takes neither the page nor a right away before
 * Linux has unmapped it (memory/held.c).
 *
 * TRICK `folio->mapping` of frames: a frame that Linux maps gets the range's `mapping` and an index
 * that no other range has, so that shared futexes work.
 * BREAKS a kernel that keeps more in a page of a file than these two (it is on no list, and not up to
 * date).
 * NOTICED `tests/user/anonymous_waits.c`, `futexes.c`; Linux's "Bad page" when such a frame is given
 * back, for which each scenario looks.
 */
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <asm/trap_pf.h>
#include <asm/trapnr.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define FAULT_TRIES 64

/* Signals an access that the page does not allow, as Linux does for its own mappings: this
 * mapping allows all. */
void tacet_range_signal(unsigned long address, u64 error)
{
	struct kernel_siginfo info;
	bool refused = sigismember(&current->blocked, SIGSEGV) ||
		       current->sighand->action[SIGSEGV - 1].sa.sa_handler == SIG_IGN;

	clear_siginfo(&info);
	info.si_signo = SIGSEGV;
	info.si_code = SEGV_ACCERR;
	info.si_addr = (void __user *)address;
	current->thread.cr2 = address;
	current->thread.error_code = error | X86_PF_USER;
	current->thread.trap_nr = X86_TRAP_PF;
	if (refused)
		force_sig(SIGSEGV);
	else
		send_sig_info(SIGSEGV, &info, current);
}

/* A thread in user mode on Linux is signalled as on a core. The kernel's own access fails. */
static vm_fault_t forbidden(struct vm_fault *vmf)
{
	u64 error = (vmf->flags & FAULT_FLAG_WRITE ? X86_PF_WRITE : 0) |
		    (vmf->flags & FAULT_FLAG_INSTRUCTION ? X86_PF_INSTR : 0);

	if (!(vmf->flags & FAULT_FLAG_USER))
		return VM_FAULT_SIGSEGV;
	tacet_range_signal(vmf->real_address, error | X86_PF_PROT);
	return VM_FAULT_NOPAGE;
}

static bool forbids(const struct tacet_leaf *leaf, const struct vm_fault *vmf)
{
	return tacet_leaf_forbids(leaf, vmf->flags & FAULT_FLAG_WRITE,
				  vmf->flags & FAULT_FLAG_INSTRUCTION);
}

/* Marks the fault's page as mirrored and takes its frame. Under the piece's lock. */
static vm_fault_t take_page(struct tacet_range *range, struct vm_fault *vmf,
			    const struct tacet_leaf *leaf)
{
	u64 frame = tacet_leaf_frame(leaf);
	struct folio *folio;

	if (leaf->value & TACET_ENTRY_RESERVED)
		return VM_FAULT_RETRY;	/* no frame yet: a core has to populate it */
	if (!(leaf->value & TACET_ENTRY_PRESENT) || !tacet_frames_have(frame, leaf->pages))
		return VM_FAULT_SIGSEGV;
	WRITE_ONCE(*leaf->entry, leaf->value | TACET_ENTRY_MIRRORED);
	vmf->page = pfn_to_page(frame + (vmf->pgoff - leaf->page));
	folio = page_folio(vmf->page);
	folio_get(folio);
	if (!folio->mapping) {
		/* A parent and its child must not share futexes. */
		folio->index = range->serial << (TACET_RANGE_SHIFT - PAGE_SHIFT) | vmf->pgoff;
		folio->mapping = range->mapping;
	}
	return 0;
}

/* The range is being handed over, or some of it has yet to be discarded: the thread waits, without the
 * mmap lock, and then finds ordinary memory, or zeros. */
static vm_fault_t wait_for_linux(struct tacet_range *range, struct vm_fault *vmf)
{
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY) || vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_SIGBUS;
	kref_get(&range->references);
	tacet_release_fault_lock(vmf);
	mutex_lock(&range->lock);
	tacet_discard_settle_locked(range);
	mutex_unlock(&range->lock);
	tacet_range_put(range);
	return VM_FAULT_RETRY;
}

vm_fault_t tacet_mirror(struct vm_fault *vmf)
{
	struct tacet_range *range = vmf->vma->vm_private_data;
	unsigned int tries;

	lockdep_assert_held(&vmf->vma->vm_mm->mmap_lock);
	if (!range || READ_ONCE(range->partition_gone) || READ_ONCE(range->lost))
		return VM_FAULT_SIGBUS;
	if (tacet_discards_any(range))
		return wait_for_linux(range, vmf);
	for (tries = 0; tries < FAULT_TRIES; tries++) {
		struct tacet_leaf leaf = {};
		vm_fault_t result = 0;
		bool open;

		if (!tacet_range_lock(range, vmf->pgoff))
			return VM_FAULT_SIGBUS;
		open = range->shared->state == TACET_RANGE_OPEN;
		if (open)
			leaf = tacet_range_leaf(range, vmf->pgoff);
		if (!forbids(&leaf, vmf))
			result = open ? take_page(range, vmf, &leaf) : 0;
		tacet_range_unlock(range, vmf->pgoff);
		if (!open)
			return wait_for_linux(range, vmf);
		if (forbids(&leaf, vmf))
			return forbidden(vmf);
		if (result != VM_FAULT_RETRY)
			return result;
		switch (tacet_ask_touch(range->number, vmf->pgoff, vmf->flags & FAULT_FLAG_WRITE,
					tacet_policy_mine(), tacet_nodes_allowed())) {
		case 0:
			break;
		case -EFAULT:
			return VM_FAULT_SIGSEGV;
		default:
			return VM_FAULT_SIGBUS;
		}
	}
	return VM_FAULT_SIGBUS;
}

/* The first write to a page that was mapped for reading. A mirrored page stays as it is until
 * Linux has unmapped it, and Linux does not unmap it meanwhile. */
vm_fault_t tacet_mirror_to_write(struct vm_fault *vmf)
{
	struct tacet_range *range = vmf->vma->vm_private_data;
	struct tacet_leaf leaf;

	if (!range || READ_ONCE(range->partition_gone) || !tacet_range_lock(range, vmf->pgoff))
		return VM_FAULT_SIGBUS;
	leaf = tacet_range_leaf(range, vmf->pgoff);
	tacet_range_unlock(range, vmf->pgoff);
	if (!forbids(&leaf, vmf))
		return 0;
	/* Linux does not say here whether a thread in user mode writes. Of a page that is not mapped it does: it asks again. */
	tacet_range_zap(range, (loff_t)vmf->pgoff << PAGE_SHIFT, PAGE_SIZE);
	return VM_FAULT_NOPAGE;
}
