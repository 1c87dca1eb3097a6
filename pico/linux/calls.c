// SPDX-License-Identifier: GPL-2.0
/*
 * Calls by which a descriptor comes to mean something else, or its device does: its grant ends
 * before Linux executes the call, and none that was made meanwhile stays.
 *
 * Called by delegate/calls.c for every task, since descriptors can be shared, in an RCU read
 * section; does not sleep. @space: of a hosted task, else NULL.
 */
#include <linux/blkdev.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>

#include "border/border.h"
#include "compat.h"
#include "pico/linux/granted.h"
#include "pico/linux/grants.h"
#include "tacet.h"

/* clone(2) with @flags makes a process that shares the table and not the memory. */
static bool shares_table(u64 flags)
{
	return (flags & (CLONE_FILES | CLONE_VM)) == CLONE_FILES;
}

/* The same of clone3(2). */
static bool shares_table_by(const u64 __user *arguments)
{
	u64 flags;

	return copy_from_user_nofault(&flags, arguments, sizeof(flags)) || shares_table(flags);
}

/* Of @number in the calling task's own table: the descriptors that it changes, or false. */
static bool changes(const struct pt_regs *regs, long number, int *first, int *last)
{
	*first = 0;
	*last = INT_MAX;
	switch (number) {
	case __NR_close:
		*first = *last = regs->di;
		return true;
	case __NR_dup2:
	case __NR_dup3:
		*first = *last = regs->si;
		return true;
	case __NR_close_range:
	case __NR_unshare:
	case __NR_execve:
	case __NR_execveat:
	case __NR_io_uring_setup:
		return true;
	case __NR_setuid:	/* a program's rights are looked at again */
	case __NR_setgid:
	case __NR_setreuid:
	case __NR_setregid:
	case __NR_setresuid:
	case __NR_setresgid:
	case __NR_setfsuid:
	case __NR_setfsgid:
	case __NR_setgroups:
	case __NR_capset:
		return true;
	case __NR_clone:
		return shares_table(regs->di);
	case __NR_clone3:
		return shares_table_by((const u64 __user *)regs->di);
	default:
		return false;
	}
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

	if (number != __NR_ioctl && (number != __NR_fcntl || regs->si != F_SETFL))
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

/* By a task that is not hosted, but perhaps has the memory of one that is. */
static void change_for_others(const struct pt_regs *regs, long number)
{
	struct tacet_space *space;
	int first, last;

	if (!changes(regs, number, &first, &last))
		return;
	space = space_of(NULL);
	if (space && space->shared)
		tacet_grants_revoke(space, first, last);
}

void tacet_grants_before_call(struct tacet_space *space, const struct pt_regs *regs, long number)
{
	int first, last;

	if (tacet_grants_any())
		tacet_positions_before_call(space_of(space), regs, number);
	if (space && space->shared && changes(regs, number, &first, &last)) {
		atomic_inc(&space->closing);
		/* Pairs with tacet_grants_enter(), which publishes before it reads `closing`. */
		smp_mb();
		tacet_grants_revoke(space, first, last);
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
	bool changed;
	int first, last;

	changed = space && space->shared && changes(regs, number, &first, &last);
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
