// SPDX-License-Identifier: GPL-2.0
/*
 * The range of addresses in which a process has memory of the partition, as Linux
 * sees it: one mapping of 512 GiB whose pages are the partition's own, mapped on
 * demand when the kernel or a thread on Linux touches them ("mirrored"). The cores
 * have tables of their own there (space.c), which the co-kernel writes.
 *
 * Owns struct tacet_range, its file and its mapping. Linux never splits the mapping:
 * what wants to is first made Linux's (own_leave.c). A fork copies. What is mirrored
 * is marked in the co-kernel's tables, under the range's lock, so that the co-kernel
 * takes none of it away before Linux has unmapped it (own_kept.c).
 */
#include <linux/anon_inodes.h>
#include <linux/bitmap.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/personality.h>
#include <linux/pseudo_fs.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "tacet.h"

#define RANGE_PAGES (TACET_OWN_BYTES >> PAGE_SHIFT)
#define SLOTS 254			/* of the addresses of a program, 1 and up */
#define TRIES 64
#define FAULT_TRIES 64

static DEFINE_HASHTABLE(ranges, 8);	/* by mm; RCU readers */
static DEFINE_SPINLOCK(ranges_lock);	/* writers, and the numbers that are taken */
static unsigned long *taken;		/* numbers */
static unsigned int range_count;
static atomic64_t serials;

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

unsigned int tacet_range_count(void)
{
	return READ_ONCE(range_count);
}

/* RCU. */
struct tacet_range *tacet_range_find(struct mm_struct *mm)
{
	struct tacet_range *range;

	if (!READ_ONCE(range_count))
		return NULL;
	hash_for_each_possible_rcu(ranges, range, link, (unsigned long)mm)
		if (range->mm == mm)
			return range;
	return NULL;
}

struct tacet_range *tacet_range_get(struct mm_struct *mm)
{
	struct tacet_range *range;

	rcu_read_lock();
	range = tacet_range_find(mm);
	if (range && !kref_get_unless_zero(&range->references))
		range = NULL;
	rcu_read_unlock();
	return range;
}

static void free_range(struct kref *references)
{
	struct tacet_range *range = container_of(references, struct tacet_range, references);

	mmdrop(range->mm);
	kfree_rcu(range, rcu);
}

void tacet_range_put(struct tacet_range *range)
{
	kref_put(&range->references, free_range);
}

/* Any of [start, start + bytes) is in it. */
bool tacet_range_covers(const struct tacet_range *range, u64 start, u64 bytes)
{
	u64 end = start + bytes < start ? U64_MAX : start + bytes;

	return start < range->base + TACET_OWN_BYTES && end > range->base;
}

/* The lock that cores take as well: not to be preempted with it. False: the cores are
 * gone. */
bool tacet_range_lock(struct tacet_range *range)
{
	for (;;) {
		u32 unlocked = 0;

		preempt_disable();
		if (__atomic_compare_exchange_n(&range->shared->lock, &unlocked, 1, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
		preempt_enable();
		if (READ_ONCE(tacet_partition.failed))
			return false;
		cond_resched();
		cpu_relax();
	}
}

void tacet_range_unlock(struct tacet_range *range)
{
	smp_store_release(&range->shared->lock, 0);
	preempt_enable();
}

/* Every core finds the range as @state says when this returns. Any context. */
void tacet_range_set_state(struct tacet_range *range, enum tacet_range_state state)
{
	struct tacet_space *space;

	WRITE_ONCE(range->state, state);
	rcu_read_lock();
	space = tacet_space_find(range->mm);
	if (space) {
		tacet_space_sync(space, range->base, range->base);
		tacet_flush_cores(space->root_address);
	}
	rcu_read_unlock();
}

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

/* Nobody finds it any more; @dead: the partition, and its number with it, is gone. */
static void unlist(struct tacet_range *range, bool dead)
{
	spin_lock(&ranges_lock);
	if (range->listed) {
		hash_del_rcu(&range->link);
		WRITE_ONCE(range_count, range_count - 1);
		range->listed = false;
		if (!dead)
			__clear_bit(range->number, taken);
	}
	if (dead)
		WRITE_ONCE(range->dead, true);
	spin_unlock(&ranges_lock);
}

static void forget(struct tacet_range *range)
{
	unlist(range, false);
	tacet_range_put(range);
}

/* One piece of the mapping less. With the last all memory goes back: nothing of it is
 * mapped on Linux any more, and no core has the address space, or finds it there. */
void tacet_range_area_gone(struct tacet_range *range)
{
	if (!atomic_dec_and_test(&range->areas))
		return;
	if (!range->dead) {
		tacet_range_keep(range, 0, RANGE_PAGES);
		range->shared->state = TACET_OWN_NONE;
		tacet_ask(TACET_ASK_CLEAR, range->number, 0, 0);
	}
	WRITE_ONCE(range->state, TACET_RANGE_GONE);
	forget(range);
}

static void close_area(struct vm_area_struct *area)
{
	if (area->vm_private_data)
		tacet_range_area_gone(area->vm_private_data);
}

static struct tacet_range *new_range(struct mm_struct *mm)
{
	struct tacet_range *range = kzalloc(sizeof(*range), GFP_KERNEL);
	unsigned int number = U32_MAX;

	if (!range)
		return NULL;
	kref_init(&range->references);
	mutex_init(&range->lock);
	atomic_set(&range->areas, 1);
	range->serial = atomic64_inc_return(&serials);
	range->mm = mm;
	spin_lock(&ranges_lock);
	if (taken)
		number = find_first_zero_bit(taken, tacet_partition.context_count);
	if (number < tacet_partition.context_count)
		__set_bit(number, taken);
	spin_unlock(&ranges_lock);
	if (number >= tacet_partition.context_count) {
		kfree(range);
		return NULL;
	}
	mmgrab(mm);
	range->number = number;
	range->shared = &tacet_partition.owns[number];
	memset(range->shared, 0, sizeof(*range->shared));
	return range;
}

static void publish(struct tacet_range *range)
{
	spin_lock(&ranges_lock);
	hash_add_rcu(ranges, &range->link, (unsigned long)range->mm);
	range->listed = true;
	WRITE_ONCE(range_count, range_count + 1);
	spin_unlock(&ranges_lock);
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
		range = new_range(area->vm_mm);
	area->vm_private_data = range;
	if (!range)
		return;
	range->base = from->base;
	range->mapping = from->mapping;
	range->shared->base = old->base;
	range->shared->top = old->top;
	range->shared->cursor = old->cursor;
	range->shared->eager = old->eager;
	if (from->lost || old->state != TACET_OWN_OPEN) {
		range->lost = true;
		publish(range);
		return;
	}
	tacet_range_set_state(from, TACET_RANGE_PAUSED);
	unmap_mapping_range(from->mapping, 0, 0, 1);
	if (tacet_ask(TACET_ASK_COPY, from->number, range->number, 0))
		range->lost = true;
	else
		range->shared->state = TACET_OWN_OPEN;
	tacet_range_set_state(from, TACET_RANGE_OPEN);
	publish(range);
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
static struct file *open_file(struct tacet_range *range)
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

/* Maps it in a slot of its own, a random one unless the program asked for none. */
static int map_range(struct tacet_range *range, struct file *file)
{
	bool random = !(current->personality & ADDR_NO_RANDOMIZE);
	unsigned int tries, slot = SLOTS / 2;
	unsigned long address;

	for (tries = 0; tries < TRIES; tries++) {
		slot = random ? 1 + get_random_u32() % SLOTS : slot - 1;
		range->base = (u64)slot << TACET_OWN_SHIFT;
		address = vm_mmap(file, range->base, TACET_OWN_BYTES, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, 0);
		if (address == range->base)
			return 0;
		if (address != -EEXIST)
			return IS_ERR_VALUE(address) ? (int)address : -EINVAL;
	}
	return -EEXIST;
}

/* Limits on address space or data would count all of the range, or none of it. */
static bool unlimited(void)
{
	return rlimit(RLIMIT_AS) == RLIM_INFINITY && rlimit(RLIMIT_DATA) == RLIM_INFINITY;
}

/* Gives the calling thread's new program a range; no core has its address space. */
int tacet_range_create(bool eager)
{
	struct tacet_range *range;
	struct tacet_own *shared;
	struct file *file;
	int error;

	if (!tacet_partition.memory || !unlimited())
		return -EOPNOTSUPP;
	range = new_range(current->mm);
	if (!range)
		return -ENOMEM;
	shared = range->shared;
	publish(range);
	file = open_file(range);
	error = PTR_ERR_OR_ZERO(file);
	error = error ?: tacet_ask(TACET_ASK_OPEN, range->number, 0, 0);
	error = error ?: map_range(range, file);
	shared->base = range->base;
	shared->top = RANGE_PAGES - 1;
	if (!(current->personality & ADDR_NO_RANDOMIZE))
		shared->top -= get_random_u32() % (RANGE_PAGES / 4);
	shared->cursor = shared->top;
	shared->eager = eager;
	if (!error)
		smp_store_release(&shared->state, TACET_OWN_OPEN);
	else
		tacet_range_area_gone(range);
	if (!IS_ERR(file))
		fput(file);
	return error;
}

int tacet_range_init(void)
{
	taken = bitmap_zalloc(tacet_partition.context_count, GFP_KERNEL);
	return taken ? 0 : -ENOMEM;
}

static struct tacet_range *any_range(void)
{
	struct tacet_range *range, *found = NULL;
	unsigned int bucket;

	rcu_read_lock();
	hash_for_each_rcu(ranges, bucket, range, link)
		if (!READ_ONCE(range->dead) && kref_get_unless_zero(&range->references)) {
			found = range;
			break;
		}
	rcu_read_unlock();
	return found;
}

/* The cores are gone. Whoever still has a range, after a failure, loses what is there. */
void tacet_range_exit(void)
{
	struct tacet_range *range;

	while (taken && (range = any_range())) {
		mutex_lock(&range->lock);
		mmap_write_lock(range->mm);
		if (range->mapping)
			unmap_mapping_range(range->mapping, 0, 0, 1);
		unlist(range, true);
		mmap_write_unlock(range->mm);
		mutex_unlock(&range->lock);
		tacet_range_put(range);
	}
	tacet_kept_exit();
	spin_lock(&ranges_lock);
	bitmap_free(taken);
	taken = NULL;
	spin_unlock(&ranges_lock);
}
