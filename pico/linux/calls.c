// SPDX-License-Identifier: GPL-2.0
/*
 * Calls by which a descriptor comes to mean something else: its grant ends before Linux executes
 * the call, and none is made until it has.
 *
 * Called by delegate/calls.c for every task, since descriptors can be shared, in an RCU read
 * section; does not sleep. @space: of a hosted task, else NULL.
 */
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <asm/unistd.h>

#include "border/border.h"
#include "compat.h"
#include "pico/linux/grants.h"
#include "tacet.h"

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
	case __NR_clone:	/* a process that shares the table and not the memory */
		return (regs->di & (CLONE_FILES | CLONE_VM)) == CLONE_FILES;
	default:
		return false;
	}
}

/* The file itself changes, for everybody who has it open. */
static void change_file(int descriptor)
{
	struct file *file = fget(descriptor);

	if (!file)
		return;
	tacet_grants_revoke_file(file);
	if (S_ISBLK(file_inode(file)->i_mode))
		tacet_grants_revoke_pages(file->f_mapping);
	fput(file);
}

void tacet_grants_before_call(struct tacet_space *space, const struct pt_regs *regs, long number)
{
	int first, last;

	if (space && space->shared && changes(regs, number, &first, &last)) {
		atomic_inc(&space->closing);
		/* Pairs with tacet_grants_enter(), which publishes before it reads `closing`. */
		smp_mb();
		tacet_grants_revoke(space, first, last);
	}
	if (!tacet_grants_any())
		return;
	if (!space && current->mm && changes(regs, number, &first, &last)) {
		space = tacet_space_find(current->mm);
		if (space && space->shared)
			tacet_grants_revoke(space, first, last);
	}
	if ((number == __NR_fcntl && regs->si == F_SETFL) || number == __NR_ioctl)
		change_file(regs->di);
}

void tacet_grants_after_call(struct tacet_space *space, const struct pt_regs *regs, long number)
{
	int first, last;

	if (space && space->shared && changes(regs, number, &first, &last))
		atomic_dec_if_positive(&space->closing);
}
