// SPDX-License-Identifier: GPL-2.0
/*
 * A range's mapping on Linux: a file of 512 GiB whose pages are frames of the partition,
 * mapped on demand (memory/mirror.c).
 *
 * The mapping allows every access. Once a core has made a page read-only, Linux asks at the
 * first write to each page, and from then on it may not pin pages for as long as a device
 * writes them.
 *
 * Linux never splits or moves the mapping: before a call that would, the range is handed
 * over (memory/handover.c). A fork copies it (memory/fork.c).
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/mman.h>
#include <linux/module.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

/* Only a hand-over may split the mapping. */
static int may_split(struct vm_area_struct *area, unsigned long address)
{
	const struct tacet_range *range = area->vm_private_data;

	return range && READ_ONCE(range->handing_over) == current ? 0 : -EINVAL;
}

void tacet_mapping_closed(struct vm_area_struct *area)
{
	if (area->vm_private_data)
		tacet_range_mapping_gone(area->vm_private_data);
}

void tacet_mapping_opened(struct vm_area_struct *area)
{
	struct tacet_range *range = area->vm_private_data;

	if (!range)
		return;
	if (area->vm_mm != range->mm)
		tacet_range_fork(area, range);
	else
		atomic_inc(&range->mappings);
}

static int may_move(struct vm_area_struct *area)
{
	return -EINVAL;
}

static const struct vm_operations_struct area_operations = {
	.open = tacet_mapping_opened,
	.close = tacet_mapping_closed,
	.may_split = may_split,
	.mremap = may_move,
	.fault = tacet_mirror,
};

/* The same, but Linux asks before the first write to a page that was mapped for reading. */
static const struct vm_operations_struct guarded_operations = {
	.open = tacet_mapping_opened,
	.close = tacet_mapping_closed,
	.may_split = may_split,
	.mremap = may_move,
	.fault = tacet_mirror,
	.page_mkwrite = tacet_mirror_to_write,
};

/* The process may map anonymous memory to write and execute on Linux (SELinux, PR_SET_MDWE):
 * then it may have such memory in the range. */
static bool may_execute(void)
{
	unsigned long address = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
					MAP_PRIVATE | MAP_ANONYMOUS, 0);

	if (IS_ERR_VALUE(address))
		return false;
	vm_munmap(address, PAGE_SIZE);
	return true;
}

/*
 * Lets cores give @rights to pages of the range, if the process may have such pages. The
 * mapping has to allow execution: an instruction that faults in an executable page is
 * executed on Linux again, to be signalled there. Called by a thread of the process.
 */
void tacet_mapping_grant(struct tacet_range *range, u32 rights)
{
	unsigned long flags = 0;
	struct vm_area_struct *area;

	if (rights & TACET_RANGE_EXECUTABLE) {
		if (may_execute())
			flags = VM_EXEC;
		else
			rights ^= TACET_RANGE_EXECUTABLE | TACET_RANGE_INEXECUTABLE;
	}
	mutex_lock(&range->lock);
	mmap_write_lock(range->mm);
	area = find_vma(range->mm, range->base);
	if (range->partition_gone || range->visibility != TACET_RANGE_VISIBLE || !area ||
	    area->vm_private_data != range)
		goto out;
	tacet_vma_set_flags(area, flags);
	area->vm_ops = &guarded_operations;
	/* As vma_set_page_prot(), which is not exported: Linux notices each first write. */
	area->vm_page_prot = vm_get_page_prot(area->vm_flags & ~VM_SHARED);
	tacet_range_zap(range, 0, 0);
	smp_store_release(&range->shared->rights, range->shared->rights | rights | TACET_RANGE_READ_ONLY);
out:
	mmap_write_unlock(range->mm);
	mutex_unlock(&range->lock);
}

static int map_range_file(struct file *file, struct vm_area_struct *area)
{
	if (area->vm_private_data || area->vm_end - area->vm_start != TACET_RANGE_BYTES)
		return -EINVAL;
	tacet_vma_set_flags(area, VM_DONTEXPAND | VM_DONTDUMP);
	area->vm_ops = &area_operations;
	area->vm_private_data = file->private_data;
	return 0;
}

static int release_range_file(struct inode *inode, struct file *file)
{
	tacet_range_inode_put(file->f_mapping);
	return 0;
}

static const struct file_operations range_file_operations = {
	.owner = THIS_MODULE,
	.mmap = map_range_file,
	.release = release_range_file,
};

/* The range's file, and the inode that the range has from now on. */
struct file *tacet_mapping_open_file(struct tacet_range *range)
{
	struct address_space *mapping = tacet_range_inode_new();
	struct file *file;

	if (IS_ERR(mapping))
		return ERR_CAST(mapping);
	file = anon_inode_getfile("[tacet]", &range_file_operations, range, O_RDWR);
	if (IS_ERR(file)) {
		tacet_range_inode_put(mapping);
		return file;
	}
	range->mapping = tacet_range_inode_get(mapping);
	file->f_mapping = mapping;
	return file;
}
