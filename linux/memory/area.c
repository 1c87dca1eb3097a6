// SPDX-License-Identifier: GPL-2.0
/*
 * A range's mapping: a file of 512 GiB whose pages are the partition's own, mapped on
 * demand (memory/mirror.c).
 *
 * The mapping allows everything; what a core made read-only is guarded page by page,
 * from the first such page on. Until then Linux may hold pages for as long as a device
 * wants to write them, which it may not where somebody asks at each first write.
 *
 * Linux never splits or moves the mapping: what wants to is first made Linux's
 * (memory/leave.c). A fork copies.
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

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

/* No part of it goes anywhere, but to Linux. */
static int may_split(struct vm_area_struct *area, unsigned long address)
{
	const struct tacet_range *range = area->vm_private_data;

	return range && READ_ONCE(range->leaver) == current ? 0 : -EINVAL;
}

void tacet_range_close_area(struct vm_area_struct *area)
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
 * The calling thread forks: cores find nothing of the range until its other memory is
 * copied too (true: tacet_range_forked() ends that). A child whose memory is of two
 * moments has lists that lead nowhere; on Linux the moments are closer than a core can
 * write.
 */
static bool hold_for_fork(struct tacet_range *range)
{
	struct tacet_hosted *hosted;
	bool held = false;

	atomic_inc(&range->forks);
	tacet_range_sync(range);
	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	if (hosted && !hosted->copied) {
		kref_get(&range->references);
		hosted->copied = range;
		held = true;
	}
	rcu_read_unlock();
	return held;
}

static void end_fork(struct tacet_range *range)
{
	if (atomic_dec_and_test(&range->forks))
		tacet_range_sync(range);
}

/* @hosted, which is the calling thread or nobody's any more, has forked, or could not. */
void tacet_range_forked(struct tacet_hosted *hosted)
{
	struct tacet_range *range = READ_ONCE(hosted->copied) ? xchg(&hosted->copied, NULL) : NULL;

	if (!range)
		return;
	end_fork(range);
	tacet_range_put(range);
}

/*
 * In fork(): @area is the child's, of the parent's range @from. Copies all that the
 * parent has now; its threads on cores wait for the mmap lock if they touch it. Fork
 * cannot fail here: a child without its memory is killed before it runs.
 */
static void open_in_child(struct vm_area_struct *area, struct tacet_range *from)
{
	struct tacet_range *range = range_in_the_making(area->vm_mm);
	const struct tacet_range_shared *old = from->shared;
	bool held;

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
	range->shared->eager = old->eager;
	range->shared->rights = old->rights;
	range->shared->break_start = old->break_start;
	if (from->lost || old->state != TACET_RANGE_OPEN) {
		range->lost = true;
		tacet_range_publish(range);
		return;
	}
	held = hold_for_fork(from);
	unmap_mapping_range(from->mapping, 0, 0, 1);
	if (tacet_ask(TACET_ASK_COPY, from->number, range->number))
		range->lost = true;
	else
		range->shared->state = TACET_RANGE_OPEN;
	if (!held)
		end_fork(from);
	tacet_range_publish(range);
}

void tacet_range_open_area(struct vm_area_struct *area)
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
	.open = tacet_range_open_area,
	.close = tacet_range_close_area,
	.may_split = may_split,
	.mremap = may_move,
	.fault = tacet_mirror,
};

/* The same; but what is mapped to be read cannot be written before we are asked. */
static const struct vm_operations_struct guarded_operations = {
	.open = tacet_range_open_area,
	.close = tacet_range_close_area,
	.may_split = may_split,
	.mremap = may_move,
	.fault = tacet_mirror,
	.page_mkwrite = tacet_mirror_to_write,
};

/* Anonymous memory to write and execute: what the process may have of Linux, it may
 * have of us (SELinux, PR_SET_MDWE). */
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
 * Lets cores give the range's pages @rights, if the process may have such pages. The
 * instruction that faults in executable pages is executed on Linux again, to be
 * signalled: the mapping has to allow that. In the context of a thread of the process.
 */
void tacet_range_grant(struct tacet_range *range, u32 rights)
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
	if (range->dead || range->state != TACET_RANGE_VISIBLE || !area ||
	    area->vm_private_data != range)
		goto out;
	tacet_vma_set_flags(area, flags);
	area->vm_ops = &guarded_operations;
	/* As vma_set_page_prot(), which is not exported: no first write goes unnoticed. */
	area->vm_page_prot = vm_get_page_prot(area->vm_flags & ~VM_SHARED);
	unmap_mapping_range(range->mapping, 0, 0, 1);
	smp_store_release(&range->shared->rights, range->shared->rights | rights | TACET_RANGE_READ_ONLY);
out:
	mmap_write_unlock(range->mm);
	mutex_unlock(&range->lock);
}

static int map_file(struct file *file, struct vm_area_struct *area)
{
	if (area->vm_private_data || area->vm_end - area->vm_start != TACET_RANGE_BYTES)
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
	i_size_write(inode, TACET_RANGE_BYTES);
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
