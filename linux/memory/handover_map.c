// SPDX-License-Identifier: GPL-2.0
/*
 * How a range's content becomes ordinary memory. It is mapped as a private file: a thread
 * that touches it at any instant finds its content, and Linux's copy on write makes the
 * copies. When every page is a copy the mappings lose their file. They are then anonymous
 * mappings as mmap(2) makes them, and all calls answer as for these.
 *
 * Called by memory/handover.c for a range that is closed: its tables do not change, and its
 * frames stay until the mappings are anonymous. Sleeps.
 *
 * TRICK a file that becomes anonymous: when all pages of a private mapping are copies, the mapping is
 * taken out of its file's tree (`i_mmap`) and loses its file.
 * BREAKS a kernel that keeps more than `vm_file`, `vm_ops` and the tree's node for a file's mapping.
 * NOTICED `tests/user/anonymous.c`, `anonymous_moves.c`: each call answers as for anonymous memory.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/interval_tree_generic.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/shmem_fs.h>

#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

/* The page at the address, to be read or copied: the partition's, or the page of zeros. */
static vm_fault_t find_content(struct vm_fault *vmf)
{
	struct tacet_range *range = vmf->vma->vm_private_data;
	unsigned long page = vmf->pgoff - (range->base >> PAGE_SHIFT);
	struct tacet_leaf leaf;

	if (READ_ONCE(range->lost) || READ_ONCE(range->partition_gone))
		return VM_FAULT_SIGBUS;
	leaf = tacet_range_leaf(range, page);
	vmf->page = range->zero_page;
	if (tacet_leaf_has_frames(&leaf)) {
		/* So the frame is held if the kernel uses it longer than we do. */
		WRITE_ONCE(*leaf.entry, leaf.value | TACET_ENTRY_MIRRORED);
		vmf->page = pfn_to_page(tacet_leaf_frame(&leaf) + (page - leaf.page));
	}
	get_page(vmf->page);
	return 0;
}

static int refuse_move(struct vm_area_struct *area)
{
	return -EINVAL;
}

/* Each piece counts as a piece of the range's mapping. If a fork copies one, the child has lost
 * its memory. */
static const struct vm_operations_struct run_operations = {
	.open = tacet_mapping_opened,
	.close = tacet_mapping_closed,
	.mremap = refuse_move,
	.fault = find_content,
};

static int map_run_of_file(struct file *file, struct vm_area_struct *area)
{
	struct tacet_handover_map *handover = file->private_data;

	vma_set_file(area, handover->zeros);
	/* Linux does not execute files without a name, but this is not a file's content. */
	tacet_vma_set_flags(area, VM_MAYEXEC | (handover->run->protection & PROT_EXEC ? VM_EXEC : 0) |
				  (handover->run->undumped ? VM_DONTDUMP : 0) |
				  (handover->run->locked ? VM_LOCKED : 0));
	area->vm_ops = &run_operations;
	area->vm_private_data = handover->range;
	atomic_inc(&handover->range->mappings);
	return 0;
}

static const struct file_operations run_file_operations = {
	.owner = THIS_MODULE,
	.mmap = map_run_of_file,
};

int tacet_handover_map_begin(struct tacet_handover_map *handover)
{
	struct tacet_range *range = handover->range;

	lockdep_assert_held(&range->lock);
	range->zero_page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!range->zero_page)
		return -ENOMEM;
	handover->zeros = tacet_shmem_file("dev/zero");
	if (IS_ERR(handover->zeros)) {
		put_page(range->zero_page);
		return PTR_ERR(handover->zeros);
	}
	handover->file = anon_inode_getfile("[tacet]", &run_file_operations, handover, O_RDWR);
	if (IS_ERR(handover->file)) {
		fput(handover->zeros);
		put_page(range->zero_page);
		return PTR_ERR(handover->file);
	}
	return 0;
}

/* Makes Linux copy the page at @address, if the mapping there is still ours. */
static int copy_page_at(struct mm_struct *mm, unsigned long address)
{
	const struct vm_area_struct *area;
	struct page *page = NULL;
	long got = 1;

	mmap_read_lock(mm);
	area = vma_lookup(mm, address);
	if (area && area->vm_ops == &run_operations)
		got = tacet_get_user_page(mm, address, FOLL_WRITE | FOLL_FORCE, &page);
	mmap_read_unlock(mm);
	if (got != 1)
		return got < 0 ? got : -EFAULT;
	if (page)
		put_page(page);
	return 0;
}

/* Maps the run and copies its pages. */
int tacet_handover_map_run(struct tacet_handover_map *handover, const struct tacet_run *run)
{
	struct tacet_range *range = handover->range;
	unsigned long start = range->base + (run->page << PAGE_SHIFT);
	unsigned long page = run->page, i, at;
	int error = 0;

	handover->run = run;
	/* With the offset that an anonymous mapping has there. */
	at = vm_mmap(handover->file, start, run->pages << PAGE_SHIFT, run->protection & ~PROT_EXEC,
		     MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, start);
	if (at != start)
		return IS_ERR_VALUE(at) ? (int)at : -EINVAL;
	while (page < run->page + run->pages && !error) {
		struct tacet_leaf leaf = tacet_range_leaf(range, page);

		for (i = 0; tacet_leaf_has_frames(&leaf) && i < leaf.pages && !error; i++) {
			error = copy_page_at(range->mm, range->base + ((leaf.page + i) << PAGE_SHIFT));
			cond_resched();
		}
		page = leaf.page + leaf.pages;
	}
	return error;
}

/* The tree of a file's mappings (i_mmap): Linux exports no function that removes one. */
#define FIRST_PAGE(area) ((area)->vm_pgoff)
#define LAST_PAGE(area) ((area)->vm_pgoff + vma_pages(area) - 1)
INTERVAL_TREE_DEFINE(struct vm_area_struct, shared.rb, unsigned long, shared.rb_subtree_last, FIRST_PAGE, LAST_PAGE,
		     static __maybe_unused, file_areas);

/* The mapping, which is private, is not one of its file any more. As unlink_file_vma() in
 * mm/mmap.c, and what follows it there; nobody finds the file again through the mapping,
 * since the mmap lock is held for writing and faults without it are over. */
static void drop_file(struct vm_area_struct *area)
{
	struct file *file = area->vm_file;

	i_mmap_lock_write(file->f_mapping);
	file_areas_remove(area, &file->f_mapping->i_mmap);
	i_mmap_unlock_write(file->f_mapping);
	/* Before Linux 6.2 an anonymous mapping's name lies there. */
	memset(&area->shared, 0, sizeof(area->shared));
	area->vm_file = NULL;
	fput(file);
}

static void make_anonymous(struct tacet_range *range)
{
	struct vm_area_struct *area;
	VMA_ITERATOR(iterator, range->mm, range->base);

	for_each_vma_range(iterator, area, range->base + TACET_RANGE_BYTES) {
		if (area->vm_ops != &run_operations)
			continue;
		area->vm_ops = NULL;
		area->vm_private_data = NULL;
		drop_file(area);
		tacet_range_mapping_gone(range);
	}
}

/* Waits for faults without the mmap lock; there are none until the lock is released. */
static void stop_faults(struct tacet_range *range)
{
	struct vm_area_struct *area;
	VMA_ITERATOR(iterator, range->mm, range->base);

	lockdep_assert_held_write(&range->mm->mmap_lock);
	for_each_vma_range(iterator, area, range->base + TACET_RANGE_BYTES)
		tacet_vma_set_flags(area, 0);
}

/* After this no thread can reach a frame of the range. If not @all pages are copied the content
 * is lost: the pieces stay as they are until the process has ended. */
void tacet_handover_map_end(struct tacet_handover_map *handover, bool all)
{
	struct tacet_range *range = handover->range;

	lockdep_assert_held(&range->lock);
	mmap_write_lock(range->mm);
	stop_faults(range);
	/* Pages that were only read are found again, as pages of zeros. This finds the mappings
	 * by their file, so they have it until afterwards. */
	unmap_mapping_range(handover->zeros->f_mapping, range->base, TACET_RANGE_BYTES, 0);
	if (all)
		make_anonymous(range);
	else
		WRITE_ONCE(range->lost, true);
	mmap_write_unlock(range->mm);
	fput(handover->file);
	fput(handover->zeros);
	put_page(range->zero_page);
}
