// SPDX-License-Identifier: GPL-2.0
/*
 * Populating a new program's memory, if its process asked for that (TACET_HOST_POPULATE):
 * then its threads fault less on a core. Not by default, because calls see the difference
 * (mincore, msync, userfaultfd), and because a program may have more memory than it uses.
 *
 * Called by delegate/park.c in the thread's own context. Sleeps.
 */
#include <linux/capability.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "tacet.h"

#define EARLY_PAGES 4096	/* 8 MiB: the longest arguments; 8 MiB: a moved program's first data */

static bool ordinary(const struct vm_area_struct *area)
{
	return !(area->vm_flags & (VM_SPECIAL | VM_HUGETLB)) && area->vm_flags & (VM_READ | VM_WRITE);
}

/*
 * As mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT), without faulting anything in. Pages are
 * locked as the program touches them. Without ONFAULT Linux would populate each later mapping,
 * and a program that reserves more addresses than there is memory would be killed.
 */
static bool lock_mappings(struct mm_struct *mm)
{
	struct vm_area_struct *area;
	VMA_ITERATOR(iterator, mm, 0);

	if (mmap_write_lock_killable(mm))
		return false;
	mm->def_flags |= VM_LOCKED | VM_LOCKONFAULT;
	for_each_vma(iterator, area) {
		if (!ordinary(area) || area->vm_flags & VM_LOCKED)
			continue;
		tacet_vma_set_flags(area, VM_LOCKED | VM_LOCKONFAULT);
		mm->locked_vm += vma_pages(area);
	}
	mmap_write_unlock(mm);
	return true;
}

/* The pages of @area that are there, up to @room of them. */
static unsigned int keep_pages(struct mm_struct *mm, const struct vm_area_struct *area, struct page **pages,
			       unsigned int room)
{
	unsigned long address;
	unsigned int count = 0;

	for (address = area->vm_start; address < area->vm_end && count < room; address += PAGE_SIZE) {
		cond_resched();
		if (tacet_get_user_page(mm, address, FOLL_NOFAULT, &pages[count]) != 1)
			continue;
		if (PageAnon(pages[count]))
			count++;
		else
			put_page(pages[count]);
	}
	return count;
}

/*
 * Linux made some pages before the program's mappings were locked: its arguments, and what
 * execve() wrote into its data. These are not on the list of locked pages, so compaction would
 * move each of them once, and flush a core. It leaves pages alone to which somebody holds a
 * reference that is not a mapping: we hold one, as long as the space exists. If there are more than
 * EARLY_PAGES (a moved program with a large alignment), compaction may move the others.
 */
static void keep_early_pages(struct tacet_space *space)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *area;
	VMA_ITERATOR(iterator, mm, 0);

	space->early = kvcalloc(EARLY_PAGES, sizeof(*space->early), GFP_KERNEL_ACCOUNT);
	if (!space->early || mmap_read_lock_killable(mm))
		return;
	for_each_vma(iterator, area)
		if (ordinary(area) && (area->vm_flags & (VM_WRITE | VM_SHARED)) == VM_WRITE &&
		    space->early_count < EARLY_PAGES)
			space->early_count += keep_pages(mm, area, space->early + space->early_count,
							 EARLY_PAGES - space->early_count);
	mmap_read_unlock(mm);
}

/* Faults in the page at *@address or the next one that exists, and advances. False: there is
 * none, or a signal kills the thread. */
static bool prefault_next(struct mm_struct *mm, unsigned long *address)
{
	struct vm_area_struct *area;
	unsigned int flags = FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_KILLABLE | FAULT_FLAG_USER;
	bool unlocked = false;

	mmap_read_lock(mm);
	area = find_vma(mm, *address);
	if (!area) {
		mmap_read_unlock(mm);
		return false;
	}
	*address = max(*address, area->vm_start);
	if (!ordinary(area)) {
		*address = area->vm_end;
	} else {
		if ((area->vm_flags & (VM_WRITE | VM_SHARED)) == VM_WRITE)
			flags |= FAULT_FLAG_WRITE;
		/* A mapping may be longer than its file: nothing can be faulted in there. */
		if (fixup_user_fault(mm, *address, flags, &unlocked) && !unlocked)
			*address = area->vm_end;
		else
			*address += PAGE_SIZE;
	}
	mmap_read_unlock(mm);
	return !fatal_signal_pending(current);
}

/*
 * At a program's first instruction: locks what it touches of its memory, now and in future,
 * if it may lock without limit; faults in what is there in any case.
 */
void tacet_populate(struct tacet_space *space)
{
	unsigned long address = 0;

	if (capable(CAP_IPC_LOCK) || rlimit(RLIMIT_MEMLOCK) == RLIM_INFINITY)
		space->locked = lock_mappings(current->mm);
	if (space->locked && !space->early)
		keep_early_pages(space);
	while (prefault_next(current->mm, &address))
		cond_resched();
}
