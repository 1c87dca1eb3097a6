// SPDX-License-Identifier: GPL-2.0
/*
 * The grants that exist, and their revocation.
 *
 *	FREE -- _enter --> VALID -- _revoke --> REVOKED -- no core uses it, cache dropped --> FREE
 *	                                |         | the descriptor changes        ^
 *	                                '----> ENDED -----------------------------'
 *
 * A revoked grant serves no new call and no further portion of one; what the device has of it ends as
 * a call of another thread does that has begun before a close(). Called by ask.c, calls.c, pages.c,
 * enter.c, devices.c and memory/. Must never wait for a core while it holds the lock.
 */
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/pagemap.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "border/border.h"
#include "compat.h"
#include "pico/linux/granted.h"
#include "pico/linux/grants.h"
#include "pico/linux/pico.h"
#include "tacet.h"

#define RELEASE_TRIES 1000

static DEFINE_MUTEX(release_lock);	/* while one is released */

static void release_revoked(struct work_struct *work);
static DECLARE_DELAYED_WORK(releasing, release_revoked);

void tacet_granted_revoke(struct granted *granted, enum tacet_pico_grant_state state)
{
	enum tacet_pico_grant_state before = granted->shared->state;

	if (before >= state)
		return;
	WRITE_ONCE(granted->shared->state, state);
	granted->revoked_at = jiffies;
	if (before != TACET_PICO_GRANT_VALID)
		return;
	WRITE_ONCE(tacet_granted_revoked, tacet_granted_revoked + 1);
	/* Pairs with the core, which counts itself in before it reads the state again. */
	smp_mb();
	tacet_grants_quiet_soon();
	mod_delayed_work(tacet_workqueue, &releasing, 0);
}

/* The lock is held. */
static void forget(struct granted *granted)
{
	smp_store_release(&granted->shared->state, TACET_PICO_GRANT_FREE);
	WRITE_ONCE(granted->space->pico_grants, granted->space->pico_grants - 1);
	list_del(&granted->link);
	WRITE_ONCE(tacet_granted_count, tacet_granted_count - 1);
}

/* A revoked grant that no core uses; with @all one that a core uses too. *@left: there are more of
 * them. The lock of releases is held: it stays. */
static struct granted *take_revoked(bool all, bool *left)
{
	struct granted *granted, *found = NULL;
	unsigned long irq;

	*left = false;
	spin_lock_irqsave(&tacet_granted_lock, irq);
	list_for_each_entry(granted, &tacet_granted, link) {
		if (granted->shared->state == TACET_PICO_GRANT_VALID)
			continue;
		if (!granted->settled || !tacet_granted_over(granted, all)) {
			*left = true;
			continue;
		}
		found = granted;
		break;
	}
	/* A core that runs may just be counting itself in and out again. */
	if (found && all)
		found->shared->using = 0;
	if (found)
		tacet_granted_let_go(found);
	spin_unlock_irqrestore(&tacet_granted_lock, irq);
	return found;
}

/*
 * Whoever looked at the blocks through the page cache while cores wrote them may have old ones there.
 * Nothing is written any more, so what is read after this is new. Sleeps: a page that is being read
 * is waited for. A page that somebody has changed stays, as after a direct write on Linux.
 */
static void drop_pages(const struct granted *granted)
{
	if (granted->shared->rights & TACET_PICO_WRITE && READ_ONCE(granted->pages->nrpages))
		invalidate_inode_pages2(granted->pages);
}

/* The calls that wait for that end. */
static void forget_taken(struct granted *granted)
{
	unsigned long irq;

	spin_lock_irqsave(&tacet_granted_lock, irq);
	forget(granted);
	spin_unlock_irqrestore(&tacet_granted_lock, irq);
}

/* Only now: whoever sees that none is revoked any more may claim the devices. */
static void count_released(void)
{
	unsigned long irq;

	spin_lock_irqsave(&tacet_granted_lock, irq);
	WRITE_ONCE(tacet_granted_revoked, tacet_granted_revoked - 1);
	spin_unlock_irqrestore(&tacet_granted_lock, irq);
}

static bool release_all(bool used_too)
{
	struct granted *granted;
	bool left;

	tacet_sleeps();
	mutex_lock(&release_lock);
	tacet_positions_settle_revoked(used_too);
	while ((granted = take_revoked(used_too, &left))) {
		drop_pages(granted);
		forget_taken(granted);
		if (granted->claim)
			tacet_claim_release(granted->claim);
		count_released();
		iput(granted->inode);
		put_pid(granted->process);
		kfree(granted);
	}
	mutex_unlock(&release_lock);
	return left;
}

/* Another program may claim the devices of revoked grants when this returns, unless a device takes
 * long over a call that it has begun. Sleeps. */
void tacet_grants_release(void)
{
	unsigned int tries;

	tacet_sleeps();
	for (tries = 0; READ_ONCE(tacet_granted_revoked) && release_all(false) && tries < RELEASE_TRIES; tries++)
		usleep_range(50, 100);
}

static void release_revoked(struct work_struct *work)
{
	if (release_all(false))
		queue_delayed_work(tacet_workqueue, &releasing, 1);
}

static void revoke_if(bool (*chosen)(const struct granted *granted, const void *what), const void *what)
{
	struct granted *granted;
	unsigned long irq;

	if (!tacet_grants_any())
		return;
	spin_lock_irqsave(&tacet_granted_lock, irq);
	list_for_each_entry(granted, &tacet_granted, link)
		/* Of a revoked one the file and the device may be gone. */
		if (granted->shared->state == TACET_PICO_GRANT_VALID && chosen(granted, what))
			tacet_granted_revoke(granted, TACET_PICO_GRANT_REVOKED);
	spin_unlock_irqrestore(&tacet_granted_lock, irq);
}

static bool every(const struct granted *granted, const void *what)
{
	return true;
}

static bool of_unit(const struct granted *granted, const void *what)
{
	return granted->shared->device == *(const unsigned int *)what;
}

static bool of_space(const struct granted *granted, const void *what)
{
	return granted->space == what;
}

static bool of_file(const struct granted *granted, const void *what)
{
	return granted->file == what;
}

static bool of_pages(const struct granted *granted, const void *what)
{
	return granted->pages == what;
}

static bool of_disk(const struct granted *granted, const void *what)
{
	return granted->disk == what;
}

static bool unnoticed(const struct granted *granted, const void *what)
{
	return granted->pages->nrpages || granted->disk->queue->mq_freeze_depth;
}

/* All end, and no new ones are made. */
void tacet_grants_stop(void)
{
	WRITE_ONCE(tacet_grants_open, false);
	/* Pairs with tacet_grants_enter(), which publishes before it looks again. */
	smp_mb();
	revoke_if(every, NULL);
}

/* The cores have stopped. */
void tacet_grants_end(void)
{
	tacet_grants_stop();
	tacet_grants_quiet_end();
	cancel_delayed_work_sync(&releasing);
	release_all(true);
}

void tacet_grants_revoke_device(unsigned int unit)
{
	revoke_if(of_unit, &unit);
}

/* Also when the space's memory goes, or its threads have left the cores: then an errand of the thread
 * that left last, or else the work item, releases the claims. */
void tacet_grants_revoke_space(struct tacet_space *space)
{
	if (space->shared)
		revoke_if(of_space, space->shared);
}

void tacet_grants_revoke_file(const struct file *file)
{
	revoke_if(of_file, file);
}

/* NULL: of any disk. */
void tacet_grants_revoke_disk(const struct gendisk *disk)
{
	revoke_if(disk ? of_disk : every, disk);
}

/* Somebody uses the block device through the page cache @pages, which cores know nothing of. */
void tacet_grants_revoke_pages(void *pages)
{
	revoke_if(of_pages, pages);
}

/* Sometimes: what was filled into a page cache while a grant was being made, and a disk whose requests
 * Linux waits for by a way that it does not tell of. */
void tacet_grants_look(void)
{
	revoke_if(unnoticed, NULL);
}

struct descriptors {
	const struct tacet_space_shared *space;
	int first, last;
};

/* Of a table of the calling task's that changes they mean something else; other tables' are looked at
 * again. */
static void revoke_descriptor(struct granted *granted, void *what)
{
	const struct descriptors *descriptors = what;
	int descriptor = granted->shared->descriptor;

	if (granted->space != descriptors->space || descriptor < descriptors->first ||
	    descriptor > descriptors->last)
		return;
	tacet_granted_revoke(granted, granted->table == current->files ? TACET_PICO_GRANT_ENDED :
									 TACET_PICO_GRANT_REVOKED);
}

void tacet_grants_revoke(struct tacet_space *space, int first, int last)
{
	struct descriptors descriptors = { .space = space->shared, .first = first, .last = last };

	tacet_grants_each(revoke_descriptor, &descriptors);
}

static bool in_use(const struct tacet_space_shared *space)
{
	struct granted *granted;
	unsigned long irq;
	bool used = false;

	spin_lock_irqsave(&tacet_granted_lock, irq);
	list_for_each_entry(granted, &tacet_granted, link)
		used |= granted->space == space && READ_ONCE(granted->shared->using);
	spin_unlock_irqrestore(&tacet_granted_lock, irq);
	return used;
}

/* A device that is done with a command, or was taken away from it, has written all that it will. */
void tacet_grants_settle(struct mm_struct *mm)
{
	struct tacet_space_shared *shared;
	struct tacet_space *space;

	if (!tacet_grants_any())
		return;
	rcu_read_lock();
	space = tacet_space_find(mm);
	shared = space ? space->shared : NULL;
	if (shared)
		tacet_grants_revoke_space(space);
	rcu_read_unlock();
	while (shared && in_use(shared) && !READ_ONCE(tacet_partition.failed))
		usleep_range(50, 100);
}
