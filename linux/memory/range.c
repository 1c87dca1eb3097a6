// SPDX-License-Identifier: GPL-2.0
/*
 * The range of addresses in which a process has memory of the partition: one mapping
 * of 512 GiB for Linux (memory/mirror.c), tables of their own for the cores (border/space.c),
 * which the co-kernel writes.
 *
 * Owns struct tacet_range, from the start of a program or its fork to the end of the
 * last piece of the mapping, when all memory goes back.
 */
#include <linux/bitmap.h>
#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/personality.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define RANGE_PAGES (TACET_RANGE_BYTES >> PAGE_SHIFT)
/*
 * Slots for it lie where Linux itself places programs: from two thirds of the addresses up
 * (ELF_ET_DYN_BASE in arch/x86/include/asm/elf.h), on 16 TiB, as with the most random bits
 * that it takes (vm.mmap_rnd_bits). Who wants memory at one address in several programs
 * looks for it in the middle of what one of them has free (hwloc, PMIx), and sanitizers have
 * theirs at fixed addresses: neither expects a program elsewhere.
 */
#define FIRST_SLOT 171
#define SLOTS 32
#define TRIES 64

static DEFINE_HASHTABLE(ranges, 8);	/* by mm; RCU readers */
static DEFINE_SPINLOCK(ranges_lock);	/* writers, and the numbers that are taken */
static unsigned long *taken;		/* numbers */
static unsigned int range_count;
static atomic64_t serials;

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

/* A reference, or NULL. Any context. */
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

static bool tables_for_cores(const struct tacet_range *range, unsigned long *base, u64 *frame)
{
	enum tacet_range_visibility state = READ_ONCE(range->state);

	*base = range->base;
	*frame = state == TACET_RANGE_VISIBLE && !atomic_read(&range->forks) ? range->shared->root : 0;
	return state != TACET_RANGE_HANDED_OVER;
}

static const struct tacet_space_operations space_operations = {
	.get_range = tacet_range_get,
	.put_range = tacet_range_put,
	.range_tables = tables_for_cores,
};

void tacet_memory_init(void)
{
	tacet_space_use(&space_operations);
}

/* Any of [start, start + bytes) is in it. */
bool tacet_range_covers(const struct tacet_range *range, u64 start, u64 bytes)
{
	u64 end = start + bytes < start ? U64_MAX : start + bytes;

	return start < range->base + TACET_RANGE_BYTES && end > range->base;
}

static u32 *lock_of(struct tacet_range *range, unsigned long page)
{
	unsigned long piece = page / TACET_PIECE_PAGES % TACET_PIECES;

	return &range->shared->locks[piece % TACET_PIECE_LINES][piece / TACET_PIECE_LINES];
}

static int try_lock(const struct tacet_wait *wait)
{
	u32 unlocked = 0;

	preempt_disable();
	if (__atomic_compare_exchange_n((u32 *)wait->subject, &unlocked, 1, false,
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return 1;
	preempt_enable();
	return 0;
}

/* The lock of the piece of @page, which cores take as well: not to be preempted with it.
 * False: the cores are gone. */
bool tacet_range_lock(struct tacet_range *range, unsigned long page)
{
	struct tacet_wait wait = {
		.done = try_lock,
		.subject = lock_of(range, page),
		.pause = TACET_PAUSE_YIELD,
	};

	return !tacet_await(&wait);
}

void tacet_range_unlock(struct tacet_range *range, unsigned long page)
{
	smp_store_release(lock_of(range, page), 0);
	preempt_enable();
}

/* Whoever had a lock of the range has given it back when this returns, and who takes one
 * now finds what was written before. */
void tacet_range_settle(struct tacet_range *range)
{
	unsigned long page;

	for (page = 0; page < RANGE_PAGES && tacet_range_lock(range, page); page += TACET_PIECE_PAGES)
		tacet_range_unlock(range, page);
}

/* Every core finds the range as its state and forks say when this returns. Any context. */
void tacet_range_sync(struct tacet_range *range)
{
	struct tacet_space *space;

	rcu_read_lock();
	space = tacet_space_find(range->mm);
	if (space) {
		tacet_space_sync(space, range->base, range->base);
		tacet_flush_cores(space->root_address);
	}
	rcu_read_unlock();
}

void tacet_range_set_state(struct tacet_range *range, enum tacet_range_visibility state)
{
	WRITE_ONCE(range->state, state);
	tacet_range_sync(range);
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
		range->shared->state = TACET_RANGE_NONE;
		tacet_ask(TACET_ASK_CLEAR, range->number, 0);
	}
	WRITE_ONCE(range->state, TACET_RANGE_HANDED_OVER);
	forget(range);
}

/* For @mm, with one area; nobody finds it before it is published. */
struct tacet_range *tacet_range_new(struct mm_struct *mm)
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
	range->shared->policy_count = 1;
	return range;
}

void tacet_range_publish(struct tacet_range *range)
{
	spin_lock(&ranges_lock);
	hash_add_rcu(ranges, &range->link, (unsigned long)range->mm);
	range->listed = true;
	WRITE_ONCE(range_count, range_count + 1);
	spin_unlock(&ranges_lock);
}

/* Maps it at its base, and what there is of @image below it: both or none. */
static int map_there(struct tacet_range *range, struct file *file, struct tacet_image *image)
{
	int error = image ? tacet_image_map_text(image, range->base) : 0;
	unsigned long address;

	if (error)
		return error;
	address = vm_mmap(file, range->base, TACET_RANGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, 0);
	if (address == range->base)
		return 0;
	if (image)
		tacet_image_unmap_text(image);
	return IS_ERR_VALUE(address) ? (int)address : -EINVAL;
}

/* Maps it in a slot of its own, a random one unless the program asked for none. */
static int map_range(struct tacet_range *range, struct file *file, struct tacet_image *image)
{
	bool random = !(current->personality & ADDR_NO_RANDOMIZE);
	unsigned int tries, slot;
	int error = -EEXIST;

	for (tries = 0; tries < TRIES && error == -EEXIST; tries++) {
		slot = FIRST_SLOT + (random ? get_random_u32() : tries) % SLOTS;
		range->base = (u64)slot << TACET_RANGE_SHIFT;
		error = map_there(range, file, image);
	}
	return error;
}

/* Limits on address space or data would count all of the range, or none of it. */
bool tacet_range_unlimited(void)
{
	return rlimit(RLIMIT_AS) == RLIM_INFINITY && rlimit(RLIMIT_DATA) == RLIM_INFINITY;
}

/* Where things are in a new range: its first @pages are taken. */
static void lay_out(struct tacet_range *range, u64 pages)
{
	bool random = !(current->personality & ADDR_NO_RANDOMIZE);
	struct tacet_range_shared *shared = range->shared;

	shared->base = range->base;
	shared->top = RANGE_PAGES - 1;
	if (random)
		shared->top -= get_random_u32() % (RANGE_PAGES / 4);
	shared->break_start = range->base + ALIGN(pages << PAGE_SHIFT, PMD_SIZE) + PMD_SIZE;
	if (random)
		shared->break_start += (u64)(get_random_u32() % TACET_RANGE_BREAK_PAGES / 2) << PAGE_SHIFT;
	shared->break_end = shared->break_start;
}

/* Gives the calling thread's new program a range, with room in front for @image if there is
 * one; no core has its address space. */
int tacet_range_create(bool eager, struct tacet_image *image)
{
	struct tacet_range *range;
	struct tacet_range_shared *shared;
	struct file *file;
	int error;

	if (!tacet_partition.memory || !tacet_range_unlimited() || tacet_policy_excludes() ||
	    current->personality & READ_IMPLIES_EXEC)
		return -EOPNOTSUPP;
	range = tacet_range_new(current->mm);
	if (!range)
		return -ENOMEM;
	shared = range->shared;
	tacet_range_publish(range);
	file = tacet_range_open_file(range);
	error = PTR_ERR_OR_ZERO(file);
	error = error ?: tacet_ask(TACET_ASK_OPEN, range->number, 0);
	error = error ?: map_range(range, file, image);
	lay_out(range, image ? tacet_image_pages(image, range->base) : 0);
	shared->eager = eager;
	if (!error)
		smp_store_release(&shared->state, TACET_RANGE_OPEN);
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
