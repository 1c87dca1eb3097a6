// SPDX-License-Identifier: GPL-2.0
/*
 * Calls by which a descriptor comes to mean something else, or its device does: its grant ends
 * before Linux executes the call, and none that was made meanwhile stays.
 *
 * Called by delegate/calls.c for every task, since descriptors can be shared, in an RCU read
 * section; does not sleep. @space: of a hosted task, else NULL.
 */
#include <linux/blkdev.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <asm/unistd.h>

#include "border/border.h"
#include "compat.h"
#include "pico/linux/granted.h"
#include "pico/linux/grants.h"
#include "pico/linux/meaning.h"
#include "tacet.h"

/* Of @number in the calling task's own table: the descriptors that it changes, or false. */
static bool changes(const struct pt_regs *regs, long number, struct tacet_change *change)
{
	return tacet_call_changes(number, regs->di, regs->si, change);
}

/* Commands for a whole controller go to such a file: /dev/nvme0, /dev/ng0n1. */
static bool passes_commands(const struct file *file)
{
	return S_ISCHR(file_inode(file)->i_mode) && file->f_op->uring_cmd;
}

/* A device may change, with all of its partitions. */
static void change_device(const struct file *file)
{
	if (S_ISBLK(file_inode(file)->i_mode))
		tacet_grants_revoke_disk(I_BDEV(file->f_mapping->host)->bd_disk);
	else if (passes_commands(file))
		tacet_grants_revoke_disk(NULL);
}

/* Linux tells of the block device, or empties its page cache, in which nothing is while there are
 * grants. The block layer knows these commands before a driver does. */
static bool harmless(const struct file *file, unsigned int command)
{
	if (!S_ISBLK(file_inode(file)->i_mode))
		return false;
	switch (command) {
	case BLKROGET:
	case BLKFLSBUF:
	case BLKGETSIZE:
	case BLKGETSIZE64:
	case BLKSSZGET:
	case BLKPBSZGET:
	case BLKIOMIN:
	case BLKIOOPT:
	case BLKALIGNOFF:
	case BLKROTATIONAL:
		return true;
	default:
		return false;
	}
}

/* The file itself changes, for everybody who has it open. */
static void change_file(const struct pt_regs *regs, long number)
{
	struct file *file;

	if (!tacet_call_changes_file(number, regs->si))
		return;
	file = fget(regs->di);
	if (!file) {
		/* It was perhaps closed during the call. */
		tacet_grants_revoke_disk(NULL);
		return;
	}
	if (number == __NR_fcntl) {
		tacet_grants_revoke_file(file);
	} else if (!harmless(file, regs->si)) {
		tacet_grants_revoke_file(file);
		change_device(file);
	}
	fput(file);
}

/* That whose descriptors the calling task may have; NULL: it is not hosted. */
static struct tacet_space *space_of(struct tacet_space *space)
{
	return space || !current->mm ? space : tacet_space_find(current->mm);
}

/*
 * The calling task has made @child, which does not run yet. A table of descriptors that another process
 * has too changes without that process's grants; memory with two tables has each number twice.
 */
void tacet_grants_forked(const struct task_struct *child)
{
	struct tacet_space *space;

	if (!tacet_grants_any() || (child->mm == current->mm) == (child->files == current->files))
		return;
	space = space_of(NULL);
	if (space)
		tacet_grants_revoke_space(space);
}

/* By a task that is not hosted, but perhaps has the memory of one that is. */
static void change_for_others(const struct pt_regs *regs, long number)
{
	struct tacet_space *space;
	struct tacet_change change;

	if (!changes(regs, number, &change))
		return;
	space = space_of(NULL);
	if (space && space->shared)
		tacet_grants_revoke(space, change.first, change.last);
}

void tacet_grants_before_call(struct tacet_space *space, const struct pt_regs *regs, long number)
{
	struct tacet_change change;

	if (tacet_grants_any())
		tacet_positions_before_call(space_of(space), regs, number);
	if (space && space->shared && changes(regs, number, &change)) {
		atomic_inc(&space->closing);
		/* Pairs with tacet_grants_enter(), which publishes before it reads `closing`. */
		smp_mb();
		tacet_grants_revoke(space, change.first, change.last);
	}
	if (!tacet_grants_any())
		return;
	if (!space)
		change_for_others(regs, number);
	change_file(regs, number);
	if (number == __NR_pidfd_getfd)
		tacet_positions_settle_all();
}

bool tacet_grants_after_call(struct tacet_space *space, const struct pt_regs *regs, long number)
{
	struct tacet_change change;
	bool changed;

	changed = space && space->shared && changes(regs, number, &change);
	if (changed)
		atomic_dec_if_positive(&space->closing);
	if (!tacet_grants_any())
		return false;
	if (number == __NR_pidfd_getfd)
		tacet_positions_settle_all();
	tacet_positions_after_call(space_of(space), regs, number);
	if (!space)
		change_for_others(regs, number);
	change_file(regs, number);
	return changed && tacet_grants_revoked();
}
