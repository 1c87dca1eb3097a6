// SPDX-License-Identifier: GPL-2.0
/*
 * What Linux is about to unmap in the address spaces of hosted processes with a range, otherwise than by
 * munmap(2): memory/ is told.
 *
 * Beside each space's notifier it has one of its own: Linux allows a notifier to hear of stale TLBs, or of
 * changes before they are made, and not of both. Called by border/space.c, which has one reference for
 * each of its own. _follow sleeps and takes the mmap lock.
 */
#include <linux/mmu_notifier.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "border/border.h"
#include "tacet.h"

static void (*listener)(struct mm_struct *mm, unsigned long start, unsigned long end);
static atomic_t alive = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(gone);

void tacet_unmaps_tell(void (*unmapped)(struct mm_struct *mm, unsigned long start, unsigned long end))
{
	listener = unmapped;
}

static int about_to_change(struct mmu_notifier *notifier, const struct mmu_notifier_range *change)
{
	if (change->event == MMU_NOTIFY_CLEAR && mmu_notifier_range_blockable(change))
		listener(change->mm, change->start, change->end);
	return 0;
}

static struct mmu_notifier *allocate(struct mm_struct *mm)
{
	struct mmu_notifier *notifier = kzalloc(sizeof(*notifier), GFP_KERNEL);

	if (!notifier)
		return ERR_PTR(-ENOMEM);
	atomic_inc(&alive);
	return notifier;
}

static void discard(struct mmu_notifier *notifier)
{
	kfree(notifier);
	if (atomic_dec_and_test(&alive))
		wake_up(&gone);
}

static const struct mmu_notifier_ops operations = {
	.invalidate_range_start = about_to_change,
	.alloc_notifier = allocate,
	.free_notifier = discard,
};

struct mmu_notifier *tacet_unmaps_follow(struct mm_struct *mm)
{
	return mmu_notifier_get(&operations, mm);
}

/* As tacet_space_settle(), which comes after this. */
void tacet_unmaps_settle(void)
{
	wait_event(gone, !atomic_read(&alive));
}
