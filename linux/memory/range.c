// SPDX-License-Identifier: GPL-2.0
/*
 * The range of a process: the addresses at which it has memory of the partition. Linux
 * has one mapping of 512 GiB there (memory/mapping.c); cores have tables of their own
 * (border/space.c), which the co-kernel writes.
 *
 * Owns struct tacet_range: who has a range, what cores find there, and the locks of its
 * pieces. A range begins with a program or a fork and ends in memory/release.c.
 */
#include <linux/bitmap.h>
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define RANGE_PAGES (TACET_RANGE_BYTES >> PAGE_SHIFT)

static DEFINE_HASHTABLE(ranges, 8);	/* by mm; RCU readers */
static DEFINE_SPINLOCK(ranges_lock);	/* writers, and the numbers that are numbers */
static unsigned long *numbers;		/* that are taken, in the partition */
static unsigned int range_count;
static atomic64_t serials;

unsigned int tacet_range_count(void)
{
	return READ_ONCE(range_count);
}

/* Those of programs of job number @job. */
unsigned int tacet_range_count_of(unsigned int job)
{
	unsigned int bucket, count = 0;
	struct tacet_range *range;

	rcu_read_lock();
	hash_for_each_rcu(ranges, bucket, range, link)
		count += range->job == job;
	rcu_read_unlock();
	return count;
}

/* There is one in memory that all cores map, since its job is not kept apart. */
bool tacet_range_any_of_all(void)
{
	unsigned int bucket;
	struct tacet_range *range;
	bool found = false;

	rcu_read_lock();
	hash_for_each_rcu(ranges, bucket, range, link)
		found |= !tacet_job_maps(range->job);
	rcu_read_unlock();
	return found;
}

static unsigned int job_of_range(const struct tacet_range *range)
{
	return range->job;
}

/* In an RCU read section. */
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

/* With a reference; NULL: @mm has no range. Any context. */
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

/* The module waits for work items before it goes. */
static void free_range(struct work_struct *work)
{
	struct tacet_range *range = container_of(work, struct tacet_range, free_work);

	if (range->mapping)
		tacet_range_inode_put(range->mapping);
	tacet_discards_free(range);
	mmdrop(range->mm);
	kfree_rcu(range, rcu);
	module_put(THIS_MODULE);
}

/* Any context, and the inode's end sleeps. */
static void free_soon(struct kref *references)
{
	struct tacet_range *range = container_of(references, struct tacet_range, references);

	INIT_WORK(&range->free_work, free_range);
	queue_work(tacet_workqueue, &range->free_work);
}

void tacet_range_put(struct tacet_range *range)
{
	kref_put(&range->references, free_soon);
}

static bool tables_for_cores(const struct tacet_range *range, unsigned long *base, u64 *frame)
{
	enum tacet_range_visibility state = READ_ONCE(range->visibility);

	*base = range->base;
	*frame = state == TACET_RANGE_VISIBLE && !atomic_read(&range->forks) ? range->shared->root : 0;
	return state != TACET_RANGE_HANDED_OVER;
}

static const struct tacet_space_operations range_in_space = {
	.get_range = tacet_range_get,
	.put_range = tacet_range_put,
	.range_tables = tables_for_cores,
	.range_job = job_of_range,
};

void tacet_memory_init(void)
{
	tacet_space_use(&range_in_space);
}

/* The range has at least one byte of [start, start + bytes). */
bool tacet_range_covers(const struct tacet_range *range, u64 start, u64 bytes)
{
	u64 end = start + bytes < start ? U64_MAX : start + bytes;

	return bytes && start < range->base + TACET_RANGE_BYTES && end > range->base;
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

/* Takes the lock of the piece of @page, which cores take too: its holder is not preempted.
 * False: the cores are gone. Sleeps. */
bool tacet_range_lock(struct tacet_range *range, unsigned long page)
{
	struct tacet_wait wait = {
		.done = try_lock,
		.subject = lock_of(range, page),
		.pause = TACET_PAUSE_SLEEP,
	};

	tacet_sleeps();
	return try_lock(&wait) || !tacet_await(&wait);
}

void tacet_range_unlock(struct tacet_range *range, unsigned long page)
{
	smp_store_release(lock_of(range, page), 0);
	preempt_enable();
}

/* When this returns each piece's lock has been free once: a core that takes one now sees what
 * was written before. */
void tacet_range_settle(struct tacet_range *range)
{
	unsigned long page;

	for (page = 0; page < RANGE_PAGES && tacet_range_lock(range, page); page += TACET_PIECE_PAGES)
		tacet_range_unlock(range, page);
}

/* When this returns cores find at the range's addresses what range->visibility and
 * range->forks say. Any context. */
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

void tacet_range_set_visibility(struct tacet_range *range, enum tacet_range_visibility state)
{
	lockdep_assert_held(&range->lock);
	WRITE_ONCE(range->visibility, state);
	tacet_range_sync(range);
}

/* Tells the cores of @change forks more in progress. Not if the range has given its number away: a
 * hand-over does not wait for the end of a fork. Any context. */
void tacet_range_count_forks(struct tacet_range *range, int change)
{
	spin_lock(&ranges_lock);
	if (range->listed)
		__atomic_fetch_add(&range->shared->forks, change, __ATOMIC_SEQ_CST);
	spin_unlock(&ranges_lock);
}

/* Nobody finds the range any more. @partition_gone: its number is gone too. */
void tacet_range_unlist(struct tacet_range *range, bool partition_gone)
{
	spin_lock(&ranges_lock);
	if (range->listed) {
		hash_del_rcu(&range->link);
		WRITE_ONCE(range_count, range_count - 1);
		range->listed = false;
		if (!partition_gone)
			__clear_bit(range->number, numbers);
	}
	if (partition_gone)
		WRITE_ONCE(range->partition_gone, true);
	spin_unlock(&ranges_lock);
}

/* A range for @mm, of a program of job number @job, with one mapping. Holds the module until the last reference is gone: a
 * process may have a range longer than threads that are hosted. Nobody finds it before it is published. NULL: no memory
 * or no number. */
struct tacet_range *tacet_range_new(struct mm_struct *mm, unsigned int job)
{
	struct tacet_range *range = kzalloc(sizeof(*range), GFP_KERNEL);
	unsigned int number = U32_MAX;

	if (!range)
		return NULL;
	/* The caller's thread is hosted, or its memory is a range: the module stays meanwhile. */
	__module_get(THIS_MODULE);
	kref_init(&range->references);
	mutex_init(&range->lock);
	mt_init(&range->locks);
	spin_lock_init(&range->counted_lock);
	tacet_discards_init(range);
	atomic_set(&range->mappings, 1);
	range->serial = atomic64_inc_return(&serials);
	range->mm = mm;
	spin_lock(&ranges_lock);
	if (numbers)
		number = find_first_zero_bit(numbers, tacet_partition.context_count);
	if (number < tacet_partition.context_count)
		__set_bit(number, numbers);
	spin_unlock(&ranges_lock);
	if (number >= tacet_partition.context_count) {
		module_put(THIS_MODULE);
		kfree(range);
		return NULL;
	}
	mmgrab(mm);
	range->number = number;
	range->shared = &tacet_partition.ranges[number];
	memset(range->shared, 0, sizeof(*range->shared));
	range->shared->policy_count = 1;
	range->shared->serial = range->serial;
	range->shared->job = range->job = job;
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

/* The process has no limit on its address space or data. Linux would count all of the range
 * against one, or none of it. */
bool tacet_range_unlimited(void)
{
	return rlimit(RLIMIT_AS) == RLIM_INFINITY && rlimit(RLIMIT_DATA) == RLIM_INFINITY;
}

/* A partition begins, with room for as many ranges as contexts. */
int tacet_ranges_begin(void)
{
	lockdep_assert_held(&tacet_control_lock);
	numbers = bitmap_zalloc(tacet_partition.context_count, GFP_KERNEL);
	return numbers ? 0 : -ENOMEM;
}

/* A range that still has its partition, with a reference; NULL: there is none. */
struct tacet_range *tacet_range_any(void)
{
	struct tacet_range *range, *found = NULL;
	unsigned int bucket;

	rcu_read_lock();
	hash_for_each_rcu(ranges, bucket, range, link)
		if (!READ_ONCE(range->partition_gone) && kref_get_unless_zero(&range->references)) {
			found = range;
			break;
		}
	rcu_read_unlock();
	return found;
}

/* The range with the least serial above @serial that still has its partition, with a reference; NULL: none. */
struct tacet_range *tacet_range_after(u64 serial)
{
	struct tacet_range *range, *found = NULL;
	unsigned int bucket;

	rcu_read_lock();
	hash_for_each_rcu(ranges, bucket, range, link)
		if (range->serial > serial && (!found || range->serial < found->serial) &&
		    !READ_ONCE(range->partition_gone) && kref_get_unless_zero(&range->references)) {
			if (found)
				tacet_range_put(found);
			found = range;
		}
	rcu_read_unlock();
	return found;
}

/* Calls @visit for each range that a process has. It does not sleep. */
void tacet_for_each_range(void (*visit)(struct tacet_range *range))
{
	struct tacet_range *range;
	unsigned int bucket;

	rcu_read_lock();
	hash_for_each_rcu(ranges, bucket, range, link)
		visit(range);
	rcu_read_unlock();
}

/* The partition ends; no range has memory of it any more. */
void tacet_ranges_end(void)
{
	spin_lock(&ranges_lock);
	bitmap_free(numbers);
	numbers = NULL;
	spin_unlock(&ranges_lock);
}
