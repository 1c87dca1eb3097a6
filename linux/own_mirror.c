// SPDX-License-Identifier: GPL-2.0
/*
 * A range's mapping: a file of 512 GiB whose pages are the partition's own, mapped on
 * demand when the kernel or a thread on Linux touches them ("mirrored").
 *
 * Linux never splits or moves the mapping: what wants to is first made Linux's
 * (own_leave.c). A fork copies. What is mirrored is marked in the co-kernel's tables,
 * under the range's lock, so that the co-kernel takes none of it away before Linux
 * has unmapped it (own_kept.c).
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pagemap.h>
#include <linux/pseudo_fs.h>

#include "compat.h"
#include "tacet.h"

#define FAULT_TRIES 64

static struct vfsmount *mount;
static int mount_count;

static int init_context(struct fs_context *context)
{
	return init_pseudo(context, 0x7461636d) ? 0 : -ENOMEM;
}

static struct file_system_type file_system = {
	.name = "tacet",
	.owner = THIS_MODULE,
	.init_fs_context = init_context,
	.kill_sb = kill_anon_super,
};

/* Takes the frame at the fault's page, marked as mirrored. Under the range's lock. */
static vm_fault_t take_page(struct tacet_range *range, struct vm_fault *vmf)
{
	struct tacet_leaf leaf = tacet_range_leaf(range, vmf->pgoff);
	u64 frame = (leaf.value & TACET_ENTRY_FRAME) >> PAGE_SHIFT;
	struct folio *folio;

	if (leaf.value & TACET_ENTRY_RESERVED)
		return VM_FAULT_RETRY;	/* address space: a core is to populate it */
	if (!(leaf.value & TACET_ENTRY_PRESENT) || !tacet_frames_have(frame, leaf.pages))
		return VM_FAULT_SIGSEGV;
	WRITE_ONCE(*leaf.entry, leaf.value | TACET_ENTRY_MIRRORED);
	vmf->page = pfn_to_page(frame + (vmf->pgoff - leaf.page));
	folio = page_folio(vmf->page);
	folio_get(folio);
	if (!folio->mapping) {
		/* Distinct for shared futexes of a parent and its child. */
		folio->index = range->serial << (TACET_OWN_SHIFT - PAGE_SHIFT) | vmf->pgoff;
		folio->mapping = range->mapping;
	}
	return 0;
}

/* The range is on its way to Linux: whoever touches it waits, without the mmap lock,
 * and finds the ordinary memory. */
static vm_fault_t wait_for_linux(struct tacet_range *range, struct vm_fault *vmf)
{
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY) || vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_SIGBUS;
	kref_get(&range->references);
	tacet_release_fault_lock(vmf);
	mutex_lock(&range->lock);
	mutex_unlock(&range->lock);
	tacet_range_put(range);
	return VM_FAULT_RETRY;
}

static vm_fault_t mirror(struct vm_fault *vmf)
{
	struct tacet_range *range = vmf->vma->vm_private_data;
	unsigned int tries;

	if (!range || READ_ONCE(range->dead) || READ_ONCE(range->lost))
		return VM_FAULT_SIGBUS;
	for (tries = 0; tries < FAULT_TRIES; tries++) {
		vm_fault_t result;
		bool open;

		if (!tacet_range_lock(range))
			return VM_FAULT_SIGBUS;
		open = range->shared->state == TACET_OWN_OPEN;
		result = open ? take_page(range, vmf) : 0;
		tacet_range_unlock(range);
		if (!open)
			return wait_for_linux(range, vmf);
		if (result != VM_FAULT_RETRY)
			return result;
		switch (tacet_ask(TACET_ASK_TOUCH, range->number, vmf->pgoff,
				  !!(vmf->flags & FAULT_FLAG_WRITE))) {
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

/* No part of it goes anywhere, but to Linux. */
static int may_split(struct vm_area_struct *area, unsigned long address)
{
	const struct tacet_range *range = area->vm_private_data;

	return range && READ_ONCE(range->leaver) == current ? 0 : -EINVAL;
}

static void close_area(struct vm_area_struct *area)
{
	if (area->vm_private_data)
		tacet_range_area_gone(area->vm_private_data);
}

/* Not RCU: the mm is a child's in the making, whose pieces keep the range. */
static struct tacet_range *range_in_the_making(struct mm_struct *mm)
{
	struct tacet_range *range;

	rcu_read_lock();
	range = tacet_range_find(mm);
	rcu_read_unlock();
	return range;
}

/*
 * In fork(): @area is the child's, of the parent's range @from. Copies all that the
 * parent has now; its threads on cores wait for the mmap lock if they touch it. Fork
 * cannot fail here: a child without its memory is killed before it runs.
 */
static void open_in_child(struct vm_area_struct *area, struct tacet_range *from)
{
	struct tacet_range *range = range_in_the_making(area->vm_mm);
	const struct tacet_own *old = from->shared;

	if (range) {	/* another piece of what is half Linux's already */
		atomic_inc(&range->areas);
		area->vm_private_data = range;
		return;
	}
	if (!from->dead)
		range = tacet_range_new(area->vm_mm);
	area->vm_private_data = range;
	if (!range)
		return;
	range->base = from->base;
	range->mapping = from->mapping;
	range->shared->base = old->base;
	range->shared->top = old->top;
	range->shared->cursor = old->cursor;
	range->shared->eager = old->eager;
	range->shared->break_start = old->break_start;
	range->shared->break_end = old->break_end;
	if (from->lost || old->state != TACET_OWN_OPEN) {
		range->lost = true;
		tacet_range_publish(range);
		return;
	}
	tacet_range_set_state(from, TACET_RANGE_PAUSED);
	unmap_mapping_range(from->mapping, 0, 0, 1);
	if (tacet_ask(TACET_ASK_COPY, from->number, range->number, 0))
		range->lost = true;
	else
		range->shared->state = TACET_OWN_OPEN;
	tacet_range_set_state(from, TACET_RANGE_OPEN);
	tacet_range_publish(range);
}

static void open_area(struct vm_area_struct *area)
{
	struct tacet_range *range = area->vm_private_data;

	if (!range)
		return;
	if (area->vm_mm != range->mm)
		open_in_child(area, range);
	else
		atomic_inc(&range->areas);
}

static int may_move(struct vm_area_struct *area)
{
	return -EINVAL;
}

static const struct vm_operations_struct area_operations = {
	.open = open_area,
	.close = close_area,
	.may_split = may_split,
	.mremap = may_move,
	.fault = mirror,
};

static int map_file(struct file *file, struct vm_area_struct *area)
{
	if (area->vm_private_data || area->vm_end - area->vm_start != TACET_OWN_BYTES)
		return -EINVAL;
	tacet_vma_set_flags(area, VM_DONTEXPAND | VM_DONTDUMP);
	area->vm_ops = &area_operations;
	area->vm_private_data = file->private_data;
	return 0;
}

static int release_file(struct inode *inode, struct file *file)
{
	iput(file->f_mapping->host);
	simple_release_fs(&mount, &mount_count);
	return 0;
}

static const struct file_operations file_operations = {
	.owner = THIS_MODULE,
	.mmap = map_file,
	.release = release_file,
};

/* A file whose pages nobody else's are: with an inode of its own, as shared futexes
 * are named by it. */
struct file *tacet_range_open_file(struct tacet_range *range)
{
	struct inode *inode;
	struct file *file;
	int error = simple_pin_fs(&file_system, &mount, &mount_count);

	if (error)
		return ERR_PTR(error);
	inode = alloc_anon_inode(mount->mnt_sb);
	if (IS_ERR(inode)) {
		simple_release_fs(&mount, &mount_count);
		return ERR_CAST(inode);
	}
	i_size_write(inode, TACET_OWN_BYTES);
	file = anon_inode_getfile("[tacet]", &file_operations, range, O_RDWR);
	if (IS_ERR(file)) {
		iput(inode);
		simple_release_fs(&mount, &mount_count);
		return file;
	}
	file->f_mapping = inode->i_mapping;
	range->mapping = inode->i_mapping;
	return file;
}
