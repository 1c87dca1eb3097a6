// SPDX-License-Identifier: GPL-2.0
/*
 * A hosted process's address space as a core sees it, and its coherence.
 *
 * Owns one root page per hosted mm. Its user half repeats the top-level entries of
 * Linux's root, its kernel half is the co-kernel's. Cores use Linux's own tables below the
 * top level, except for the process's range, whose tables are the co-kernel's.
 *
 * When Linux invalidates, the notifier repeats the entries and waits until every core that
 * may have cached the old ones has flushed them. The notifier runs in any context, with
 * page-table locks held: it never sleeps.
 */
#include <linux/hashtable.h>
#include <linux/io.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "arch/arch.h"
#include "base/probed.h"
#include "border/border.h"
#include "compat.h"
#include "tacet.h"

#define FLUSH_PATIENCE_NS (20 * NSEC_PER_SEC)

static DEFINE_HASHTABLE(spaces, 8);	/* by mm; RCU readers */
static DEFINE_SPINLOCK(spaces_lock);	/* writers, and partition->spaces_taken */
static atomic_t undiscarded = ATOMIC_INIT(0);	/* spaces that still exist */
static DECLARE_WAIT_QUEUE_HEAD(discarded);
static const struct tacet_space_operations *memory_operations;
static void (*deserted)(struct tacet_space *space);

/* Called once, before there is any space. */
void tacet_space_use(const struct tacet_space_operations *memory)
{
	memory_operations = memory;
}

/* The same: @gone is told of each space that cores have left; it does not sleep. */
void tacet_space_tell(void (*gone)(struct tacet_space *space))
{
	deserted = gone;
}

/* Where the space's range is in its root. */
struct range_place {
	unsigned int index;
	unsigned long base;
	u64 entry;
};

/* False: cores find what Linux has everywhere. */
static bool find_range(const struct tacet_space *space, struct range_place *place)
{
	u64 frame;

	lockdep_assert_held(&space->lock);
	if (!space->range || !memory_operations->range_tables(space->range, &place->base, &frame))
		return false;
	place->index = tacet_tables_index(place->base);
	place->entry = frame ? tacet_tables_range_entry(frame) : 0;
	return true;
}

/* Repeats the entries that map [start, end]. Any context. */
void tacet_space_sync(struct tacet_space *space, unsigned long start, unsigned long end)
{
	u64 *root = page_address(space->root);
	unsigned long from = min(start, TASK_SIZE_MAX - 1), to = min(end, TASK_SIZE_MAX - 1);
	unsigned int first = tacet_tables_index(from), last = tacet_tables_index(to), index;
	struct range_place place;
	unsigned long flags;
	bool replaces;

	raw_spin_lock_irqsave(&space->lock, flags);
	replaces = !space->released && find_range(space, &place);
	for (index = first; index <= last; index++) {
		u64 entry = space->released ? 0 : tacet_tables_user_entry(space->notifier.mm, index);

		if (replaces && index == place.index)
			entry = tacet_tables_with_range(space->fourth, entry, place.base, place.entry,
							index == first ? from : 0, index == last ? to : ULONG_MAX);
		if (READ_ONCE(root[index]) != entry)
			WRITE_ONCE(root[index], entry);
	}
	raw_spin_unlock_irqrestore(&space->lock, flags);
}

static int flushed(const struct tacet_wait *wait)
{
	return (s64)(smp_load_acquire(&wait->core->shared->flush_acknowledged) - wait->wanted) >= 0;
}

/* The handler of the core's doorbell acknowledges, whatever the core does: the spin is short. If a
 * core does not acknowledge, all are stopped: nothing that they cached is used again. */
static void await_flush(struct tacet_core *core, u64 generation)
{
	struct tacet_wait wait = {
		.core = core,
		.done = flushed,
		.wanted = generation,
		.patience_ns = FLUSH_PATIENCE_NS,
		.whatever_it_does = true,
		.while_online = true,
		.until_silent = true,
		.failure = "a core does not acknowledge a TLB flush",
	};

	tacet_await(&wait);
}

/* Flushes the TLB of each core that has @root loaded (0: of all). */
static void flush_cores(u64 root)
{
	u64 generation[8];
	unsigned int first, i, n = tacet_partition.core_count;

	/* Pairs with the core, which announces a root before it loads it. */
	smp_mb();
	for (first = 0; first < n; first += ARRAY_SIZE(generation)) {
		unsigned int count = min_t(unsigned int, n - first, ARRAY_SIZE(generation));

		for (i = 0; i < count; i++) {
			struct tacet_core *core = &tacet_partition.cores[first + i];

			generation[i] = 0;
			if (!core->started || (root && READ_ONCE(core->shared->active_root) != root))
				continue;
			generation[i] = __atomic_add_fetch(&core->shared->flush_requested, 1,
							   __ATOMIC_SEQ_CST);
			tacet_arch_ring(core);
		}
		for (i = 0; i < count; i++)
			if (generation[i])
				await_flush(&tacet_partition.cores[first + i], generation[i]);
	}
}

static void invalidate(struct mmu_notifier *notifier, struct mm_struct *mm, unsigned long start,
		       unsigned long end)
{
	struct tacet_space *space = container_of(notifier, struct tacet_space, notifier);

	tacet_space_sync(space, start, end ? end - 1 : 0);
	flush_cores(space->root_address);
}

/* Makes the cores that have @root loaded (physical address; 0: all) execute a full memory
 * barrier and flush their TLBs. */
void tacet_flush_cores(u64 root)
{
	flush_cores(root);
}

static bool has_loaded(const struct tacet_core *core, const struct tacet_space *space)
{
	return READ_ONCE(core->shared->active_root) == space->root_address;
}

/* A thread that uses the space again ends the wait too, unless the mm itself ends. */
static int left_or_used(const struct tacet_wait *wait)
{
	const struct tacet_space *space = wait->subject;
	bool mm_ends = wait->wanted;

	return !has_loaded(wait->core, space) || (!mm_ends && atomic_read(&space->users));
}

/*
 * Makes every core leave @space. When this returns no core has it loaded, unless a thread
 * uses it again (never if the mm itself @ends).
 *
 * Any context, so it spins. That is short: no thread of @space is on a core. A core that has it
 * loaded all the same is idle, or answers a question, from which it looks up when it is rung.
 */
static void leave_cores(struct tacet_space *space, bool ends)
{
	struct tacet_wait wait = {
		.done = left_or_used,
		.subject = space,
		.wanted = ends,
		.patience_ns = FLUSH_PATIENCE_NS,
		.while_online = true,
		.until_silent = true,
		.failure = "a core does not leave an address space",
	};
	unsigned int i;

	smp_mb();
	for (i = 0; i < tacet_partition.core_count; i++) {
		struct tacet_core *core = &tacet_partition.cores[i];

		if (!core->started || !has_loaded(core, space))
			continue;
		tacet_attention(core, TACET_ATTENTION_DROP);
		wait.core = core;
		if (!tacet_await(&wait) && has_loaded(core, space))
			return;
	}
}

/* The mm ends; its threads have left their cores. */
static void mm_ends(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	struct tacet_space *space = container_of(notifier, struct tacet_space, notifier);

	raw_spin_lock_irq(&space->lock);
	space->released = true;
	raw_spin_unlock_irq(&space->lock);
	tacet_space_sync(space, 0, ULONG_MAX);
	leave_cores(space, true);
	deserted(space);
}

/* NULL: no thread of @mm has been on a core. In an RCU read section. */
struct tacet_space *tacet_space_find(struct mm_struct *mm)
{
	struct tacet_space *space;

	hash_for_each_possible_rcu(spaces, space, link, (unsigned long)mm)
		if (space->notifier.mm == mm)
			return space;
	return NULL;
}

static void publish(struct tacet_space *space, struct mm_struct *mm)
{
	unsigned int entry;

	spin_lock(&spaces_lock);
	entry = find_first_zero_bit(tacet_partition.spaces_taken, tacet_partition.context_count);
	/* Grants of the space that had the entry before are not released yet: another entry. */
	while (entry < tacet_partition.context_count && READ_ONCE(tacet_partition.spaces[entry].pico_grants))
		entry = find_next_zero_bit(tacet_partition.spaces_taken, tacet_partition.context_count,
					   entry + 1);
	if (entry < tacet_partition.context_count) {
		__set_bit(entry, tacet_partition.spaces_taken);
		space->shared = &tacet_partition.spaces[entry];
		memset(space->shared, 0, sizeof(*space->shared));
	}
	space->notifier.mm = mm;
	hash_add_rcu(spaces, &space->link, (unsigned long)mm);
	spin_unlock(&spaces_lock);
}

static void withdraw(struct tacet_space *space)
{
	spin_lock(&spaces_lock);
	hash_del_rcu(&space->link);
	if (space->shared)
		__clear_bit(space->shared - tacet_partition.spaces, tacet_partition.spaces_taken);
	spin_unlock(&spaces_lock);
}

/* The calling thread's core maps what the space's root maps, and what the range has. */
static bool fits(const struct tacet_space *space)
{
	unsigned int maps = tacet_job_maps(tacet_hosted_job());

	return tacet_job_maps(space->job) == maps &&
	       (!space->range || tacet_job_maps(memory_operations->range_job(space->range)) == maps);
}

static struct mmu_notifier *allocate(struct mm_struct *mm)
{
	struct tacet_space *space = kzalloc(sizeof(*space), GFP_KERNEL);

	if (!space)
		return ERR_PTR(-ENOMEM);
	space->root = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!space->root) {
		kfree(space);
		return ERR_PTR(-ENOMEM);
	}
	space->range = memory_operations->get_range(mm);
	if (space->range)
		space->fourth = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (space->range && !space->fourth) {
		memory_operations->put_range(space->range);
		__free_page(space->root);
		kfree(space);
		return ERR_PTR(-ENOMEM);
	}
	raw_spin_lock_init(&space->lock);
	space->job = tacet_hosted_job();
	space->root_address = page_to_phys(space->root);
	tacet_tables_copy_kernel(&tacet_partition, space->root, tacet_job_maps(space->job));
	atomic_inc(&undiscarded);
	publish(space, mm);
	return &space->notifier;
}

static void discard(struct mmu_notifier *notifier)
{
	struct tacet_space *space = container_of(notifier, struct tacet_space, notifier);

	leave_cores(space, true);
	withdraw(space);
	__free_page(space->root);
	while (space->early_count)
		put_page(space->early[--space->early_count]);
	kvfree(space->early);
	if (space->range) {
		__free_page(space->fourth);
		memory_operations->put_range(space->range);
	}
	kfree_rcu(space, rcu);
	if (atomic_dec_and_test(&undiscarded))
		wake_up(&discarded);
}

/*
 * All spaces have been put: waits until nothing of them is used any more. Sleeps.
 * mmu_notifier_synchronize() alone does not wait for the spaces that other CPUs have yet to
 * discard: with many CPUs, or after contention, sleepable RCU keeps a queue for each CPU.
 * discard() ends with bottom halves off, which RCU waits for.
 */
void tacet_space_settle(void)
{
	tacet_unmaps_settle();
	wait_event(discarded, !atomic_read(&undiscarded));
	mmu_notifier_synchronize();
	synchronize_rcu();
}

static const struct mmu_notifier_ops notifier_operations = {
	.release = mm_ends,
	TACET_INVALIDATE_SECONDARY = invalidate,
	.alloc_notifier = allocate,
	.free_notifier = discard,
};

/* The space of @mm for one more thread, the calling one, made if there is none. Takes the mmap lock. -EUSERS: threads
 * of another job use it, or its memory is of another job, and one of the two is kept apart. */
struct tacet_space *tacet_space_get(struct mm_struct *mm)
{
	struct mmu_notifier *notifier = mmu_notifier_get(&notifier_operations, mm), *follower;
	struct tacet_space *space;

	if (IS_ERR(notifier))
		return ERR_CAST(notifier);
	space = container_of(notifier, struct tacet_space, notifier);
	if (!fits(space)) {
		mmu_notifier_put(notifier);
		return ERR_PTR(-EUSERS);
	}
	if (space->range) {
		/* All threads that have a reference now get the same one. */
		follower = tacet_unmaps_follow(mm);
		if (IS_ERR(follower)) {
			mmu_notifier_put(notifier);
			return ERR_CAST(follower);
		}
		WRITE_ONCE(space->follower, follower);
	}
	atomic_inc(&space->users);
	/* From here on the notifier repeats what changes; cores find entries that are new by faults. */
	if (!smp_load_acquire(&space->complete)) {
		tacet_space_sync(space, 0, ULONG_MAX);
		tacet_probe_memory(mm);	/* its other tasks' calls matter now */
		smp_store_release(&space->complete, true);
	}
	return space;
}

/* A thread stops using @space. The last thread makes the cores leave it first: without the
 * notifier they would not learn that its tables are freed. */
void tacet_space_put(struct tacet_space *space)
{
	if (atomic_dec_and_test(&space->users)) {
		leave_cores(space, false);
		deserted(space);
	}
	if (space->range)
		mmu_notifier_put(READ_ONCE(space->follower));
	mmu_notifier_put(&space->notifier);
}
