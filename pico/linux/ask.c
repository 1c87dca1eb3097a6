// SPDX-License-Identifier: GPL-2.0
/*
 * A program's thread makes a call on Linux that a core could serve: its descriptor gets a grant if
 * nothing speaks against it.
 *
 * Called by delegate/serve.c in the thread's own context; sleeps. Refusals are silent, and not
 * repeated for a while: Linux serves the call as ever.
 */
#include <linux/blkdev.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <asm/unistd.h>

#include "border/border.h"
#include "compat.h"
#include "pico/linux/grants.h"
#include "pico/linux/pico.h"
#include "tacet.h"

#define PAUSE_JIFFIES (HZ / 10)

/* A block device's file on which each call goes to the device and nothing else. */
static bool direct(const struct file *file)
{
	unsigned int wanted = O_DIRECT, unwanted = O_APPEND | O_PATH;

	return S_ISBLK(file_inode(file)->i_mode) && (file->f_flags & wanted) &&
	       !(file->f_flags & unwanted) && !mapping_mapped(file->f_mapping);
}

/*
 * Nobody else has claimed the device (a file system, another program by O_EXCL), and nobody does
 * while the grant exists. NULL: the program itself has. What lies in the page cache goes to the
 * device.
 */
static struct tacet_claim *claim_device(struct file *file, bool *claimed)
{
	struct block_device *device = I_BDEV(file->f_mapping->host);
	struct tacet_claim *claim = NULL;

	*claimed = READ_ONCE(device->bd_holder) == file;
	if (!*claimed) {
		claim = tacet_claim(device->bd_dev);
		if (IS_ERR(claim))
			return NULL;
	}
	*claimed = !sync_blockdev(device);
	invalidate_bdev(device);
	return claim;
}

/* The control lock is held: the devices stay. */
static void grant(struct tacet_space *space, int descriptor, struct file *file)
{
	struct tacet_pico_grant terms = {};
	struct tacet_pico_unit *unit = tacet_pico_eligible(file, &terms);
	struct tacet_claim *claim;
	bool claimed;

	if (!unit)
		return;
	terms.device = unit->index;
	claim = claim_device(file, &claimed);
	if ((!claimed || tacet_grants_enter(space, descriptor, file, claim, &terms)) && claim)
		tacet_claim_release(claim);
}

/* When the descriptor, and those that share its entry, are looked at again: the first calls of a
 * program's other descriptors do not wait for it. */
static unsigned long *next_grant(struct tacet_space *space, int descriptor)
{
	return &space->next_grant[(unsigned int)descriptor % TACET_PICO_GRANTS];
}

static void consider(struct tacet_space *space, int descriptor)
{
	struct file *file = fget(descriptor);

	if (!file)
		return;
	/* A thread that waited for the control lock could not leave its core for the end of the
	 * partition. */
	if (direct(file) && tacet_grants_own_table() && mutex_trylock(&tacet_control_lock)) {
		if (tacet_partition.state == TACET_PARTITION_UP)
			grant(space, descriptor, file);
		mutex_unlock(&tacet_control_lock);
		WRITE_ONCE(*next_grant(space, descriptor), jiffies + PAUSE_JIFFIES);
	}
	fput(file);
}

/* A core serves such calls. */
static bool reads_or_writes(long number)
{
	switch (number) {
	case __NR_read:
	case __NR_write:
	case __NR_readv:
	case __NR_writev:
	case __NR_pread64:
	case __NR_pwrite64:
	case __NR_preadv:
	case __NR_pwritev:
	case __NR_preadv2:
	case __NR_pwritev2:
		return true;
	default:
		return false;
	}
}

void tacet_grant_ask(struct tacet_space *space, const struct pt_regs *regs)
{
	if (!tacet_pico_area() || !space->shared ||
	    !reads_or_writes(regs->ax) ||
	    time_before(jiffies, READ_ONCE(*next_grant(space, regs->di))) ||
	    tacet_grants_has(space, regs->di))
		return;
	consider(space, regs->di);
}
