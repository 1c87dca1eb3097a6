// SPDX-License-Identifier: GPL-2.0
/*
 * A grant comes into being: it is published to the cores, and what speaks against it is looked at once
 * more, since that may have come meanwhile. The other end of its life is grants.c.
 *
 * Called by ask.c in the context of the thread whose descriptor it is; sleeps.
 */
#include <linux/blkdev.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "base/probed.h"
#include "border/border.h"
#include "compat.h"
#include "pico/linux/granted.h"
#include "pico/linux/grants.h"
#include "pico/linux/pico.h"
#include "tacet.h"

bool tacet_grants_open;		/* new ones may be made */

void tacet_grants_begin(void)
{
	WRITE_ONCE(tacet_grants_open, true);
}

/* Grants of @space begin at its place in the table. */
static unsigned int index_of(const struct tacet_space_shared *space)
{
	return space - tacet_partition.spaces;
}

/*
 * Threads of the calling task's process alone have its table of descriptors, and none of them has rings,
 * by which the kernel would close some without a call. Other threads of the process may have other
 * tables: grants are not for those.
 */
bool tacet_grants_own_table(void)
{
	struct task_struct *task;
	int users = 0;
	bool rings = false;

	rcu_read_lock();
	for_each_thread(current, task) {
		if (READ_ONCE(task->files) != current->files)
			continue;
		users++;
		rings |= tacet_has_rings(task);
	}
	rcu_read_unlock();
	return atomic_read(&current->files->count) == users && !rings;
}

/* Any grant of the calling task's descriptor that is not free. */
bool tacet_grants_has(const struct tacet_space *space, int descriptor)
{
	const struct tacet_pico_grant *entries = tacet_pico_grants(index_of(space->shared));
	unsigned int i;

	for (i = 0; i < TACET_PICO_GRANTS; i++)
		if (READ_ONCE(entries[i].state) && READ_ONCE(entries[i].descriptor) == descriptor &&
		    READ_ONCE(entries[i].table) == (unsigned long)current->files)
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
	shared->table = (unsigned long)granted->table;
	WRITE_ONCE(shared->generation, shared->generation + 1);
	list_add(&granted->link, &tacet_granted);
	WRITE_ONCE(tacet_granted_count, tacet_granted_count + 1);
	smp_store_release(&shared->state, TACET_PICO_GRANT_VALID);
	WRITE_ONCE(granted->space->pico_grants, granted->space->pico_grants + 1);
	/* Pairs with tacet_grants_before_call(), which counts itself in before it looks. */
	smp_mb();
}

/*
 * Whoever closes the descriptor takes the table's lock after he has revoked grants; so either he
 * is seen in `closing`, or the descriptor is gone from the table, or he sees the grant. Whoever shares
 * the table with another process counts it in first, and revokes afterwards.
 */
int tacet_grants_enter(struct tacet_space *space, int descriptor, struct file *file,
		       struct tacet_claim *claim, const struct tacet_pico_grant *terms)
{
	struct granted *granted = kzalloc(sizeof(*granted), GFP_KERNEL);
	int error = -EBUSY;

	if (!granted)
		return -ENOMEM;
	granted->space = space->shared;
	granted->table = current->files;
	granted->file = file;
	granted->inode = igrab(file->f_mapping->host);
	granted->pages = file->f_mapping;
	granted->disk = I_BDEV(file->f_mapping->host)->bd_disk;
	granted->claim = claim;
	granted->process = get_pid(task_tgid(current));
	granted->given = file->f_pos;
	granted->holds = percpu_ref_tryget_live(&granted->disk->queue->q_usage_counter);
	/* Others may change what the descriptor means: their calls are seen before the grant can be used. */
	tacet_probe_everyone();
	spin_lock(&current->files->file_lock);
	spin_lock_irq(&tacet_granted_lock);
	granted->shared = READ_ONCE(tacet_grants_open) && granted->inode && granted->holds ? free_entry(space) : NULL;
	if (granted->shared && files_lookup_fd_locked(current->files, descriptor) == file) {
		error = 0;
		publish(granted, descriptor, terms);
		if (atomic_read(&space->closing) || !tacet_grants_own_table())
			tacet_granted_revoke(granted, TACET_PICO_GRANT_ENDED);
		else if (file->f_mapping->nrpages || granted->disk->queue->mq_freeze_depth ||
			 !READ_ONCE(tacet_grants_open) || !tacet_probes_everyone())
			tacet_granted_revoke(granted, TACET_PICO_GRANT_REVOKED);
	}
	spin_unlock_irq(&tacet_granted_lock);
	spin_unlock(&current->files->file_lock);
	if (error) {
		if (granted->holds)
			percpu_ref_put(&granted->disk->queue->q_usage_counter);
		iput(granted->inode);
		put_pid(granted->process);
		kfree(granted);
	}
	return error;
}
