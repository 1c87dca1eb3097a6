// SPDX-License-Identifier: GPL-2.0
/*
 * The grants that exist, and their revocation.
 *
 *	FREE -- _enter --> VALID -- _revoke --> REVOKED -- no core uses it, claim released --> FREE
 *
 * A revoked grant serves no new call at once; what is in flight on a core ends as a call of
 * another thread does that has begun before a close(). Called by ask.c, calls.c, pages.c,
 * devices.c and memory/. Must never wait for a core while it holds the lock.
 */
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/mutex.h>
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
/* A disk that takes longer for a command is frozen with it. */
#define FREEZE_PATIENCE_US 100000

static DEFINE_MUTEX(release_lock);	/* while one is released */
static bool open;			/* new ones may be made */

static void release_revoked(struct work_struct *work);
static DECLARE_DELAYED_WORK(releasing, release_revoked);

void tacet_grants_begin(void)
{
	WRITE_ONCE(open, true);
}

/* Grants of @shared's space begin at its place in the table. */
static unsigned int index_of(const struct tacet_space_shared *space)
{
	return space - tacet_partition.spaces;
}

/* The lock is held. */
static void revoke(struct granted *granted)
{
	if (granted->shared->state != TACET_PICO_GRANT_VALID)
		return;
	WRITE_ONCE(granted->shared->state, TACET_PICO_GRANT_REVOKED);
	WRITE_ONCE(tacet_granted_revoked, tacet_granted_revoked + 1);
	/* Pairs with the core, which counts itself in before it reads the state again. */
	smp_mb();
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

/* A revoked grant that no core uses, taken out of the list; with @all one that a core uses too.
 * *@left: there are more of them. */
static struct granted *take_revoked(bool all, bool *left)
{
	struct granted *granted, *found = NULL;
	unsigned long irq;

	*left = false;
	spin_lock_irqsave(&tacet_granted_lock, irq);
	list_for_each_entry(granted, &tacet_granted, link) {
		if (granted->shared->state != TACET_PICO_GRANT_REVOKED)
			continue;
		if (!granted->settled || !tacet_granted_over(granted, all)) {
			*left = true;
			continue;
		}
		found = granted;
		break;
	}
	if (found) {
		/* A core that runs may just be counting itself in and out again. */
		if (all)
			found->shared->using = 0;
		forget(found);
	}
	spin_unlock_irqrestore(&tacet_granted_lock, irq);
	return found;
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

	mutex_lock(&release_lock);
	tacet_positions_settle_revoked(used_too);
	while ((granted = take_revoked(used_too, &left))) {
		if (granted->claim)
			tacet_claim_release(granted->claim);
		count_released();
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
			revoke(granted);
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

static bool with_pages(const struct granted *granted, const void *what)
{
	return granted->pages->nrpages;
}

/* The cores have stopped. */
void tacet_grants_end(void)
{
	WRITE_ONCE(open, false);
	revoke_if(every, NULL);
	cancel_delayed_work_sync(&releasing);
	release_all(true);
}

void tacet_grants_revoke_device(unsigned int unit)
{
	revoke_if(of_unit, &unit);
}

void tacet_grants_revoke_space(struct tacet_space *space)
{
	if (space->shared)
		revoke_if(of_space, space->shared);
}

/* The space's memory goes, and its threads have left the cores. Sleeps. */
void tacet_grants_space_gone(struct tacet_space *space)
{
	tacet_grants_revoke_space(space);
	tacet_grants_release();
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

/* The disk is done with the cores' commands when this returns, unless it takes very long. Any context. */
void tacet_grants_freeze_disk(const struct gendisk *disk)
{
	unsigned int us;

	tacet_grants_revoke_disk(disk);
	for (us = 0; us < FREEZE_PATIENCE_US && tacet_grants_used(disk); us++)
		udelay(1);
}

/* Somebody uses the block device through the page cache @pages, which cores know nothing of. */
void tacet_grants_revoke_pages(void *pages)
{
	revoke_if(of_pages, pages);
}

/* Sometimes: what was filled into a page cache while a grant was being made. */
void tacet_grants_look(void)
{
	revoke_if(with_pages, NULL);
}

struct descriptors {
	const struct tacet_space_shared *space;
	int first, last;
};

static bool of_descriptors(const struct granted *granted, const void *what)
{
	const struct descriptors *descriptors = what;

	return granted->space == descriptors->space &&
	       granted->shared->descriptor >= descriptors->first &&
	       granted->shared->descriptor <= descriptors->last;
}

void tacet_grants_revoke(struct tacet_space *space, int first, int last)
{
	struct descriptors descriptors = { .space = space->shared, .first = first, .last = last };

	revoke_if(of_descriptors, &descriptors);
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

/* Any grant of the descriptor that is not free. */
bool tacet_grants_has(const struct tacet_space *space, int descriptor)
{
	const struct tacet_pico_grant *table = tacet_pico_grants(index_of(space->shared));
	unsigned int i;

	for (i = 0; i < TACET_PICO_GRANTS; i++)
		if (READ_ONCE(table[i].state) && READ_ONCE(table[i].descriptor) == descriptor)
			return true;
	return false;
}

/* The locks are held. NULL: the space has as many as there can be. */
static struct tacet_pico_grant *free_entry(struct tacet_space *space)
{
	struct tacet_pico_grant *table = tacet_pico_grants(index_of(space->shared));
	unsigned int i;

	for (i = 0; i < TACET_PICO_GRANTS; i++)
		if (table[i].state == TACET_PICO_GRANT_FREE)
			return &table[i];
	return NULL;
}

/* The locks are held. */
static void publish(struct granted *granted, int descriptor, const struct tacet_pico_grant *terms)
{
	struct tacet_pico_grant *shared = granted->shared;

	shared->descriptor = descriptor;
	shared->device = terms->device;
	shared->namespace_id = terms->namespace_id;
	shared->rights = terms->rights;
	shared->block_shift = terms->block_shift;
	shared->first = terms->first;
	shared->count = terms->count;
	shared->position = TACET_PICO_NO_POSITION;
	list_add(&granted->link, &tacet_granted);
	WRITE_ONCE(tacet_granted_count, tacet_granted_count + 1);
	smp_store_release(&shared->state, TACET_PICO_GRANT_VALID);
	WRITE_ONCE(granted->space->pico_grants, granted->space->pico_grants + 1);
	/* Pairs with tacet_grants_before_call(), which counts itself in before it looks. */
	smp_mb();
}

/*
 * Whoever closes the descriptor takes the table's lock after he has revoked grants; so either he
 * is seen in `closing`, or the descriptor is gone from the table, or he sees the grant.
 */
int tacet_grants_enter(struct tacet_space *space, int descriptor, struct file *file,
		       struct tacet_claim *claim, const struct tacet_pico_grant *terms)
{
	struct granted *granted = kzalloc(sizeof(*granted), GFP_KERNEL);
	int error = -EBUSY;

	if (!granted)
		return -ENOMEM;
	granted->space = space->shared;
	granted->file = file;
	granted->pages = file->f_mapping;
	granted->disk = I_BDEV(file->f_mapping->host)->bd_disk;
	granted->claim = claim;
	granted->process = get_pid(task_tgid(current));
	granted->given = file->f_pos;
	spin_lock(&current->files->file_lock);
	spin_lock_irq(&tacet_granted_lock);
	granted->shared = open ? free_entry(space) : NULL;
	if (granted->shared && files_lookup_fd_locked(current->files, descriptor) == file) {
		error = 0;
		publish(granted, descriptor, terms);
		if (atomic_read(&space->closing) || file->f_mapping->nrpages ||
		    granted->disk->queue->mq_freeze_depth)
			revoke(granted);
	}
	spin_unlock_irq(&tacet_granted_lock);
	spin_unlock(&current->files->file_lock);
	if (error) {
		put_pid(granted->process);
		kfree(granted);
	}
	return error;
}
