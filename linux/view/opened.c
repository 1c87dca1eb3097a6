// SPDX-License-Identifier: GPL-2.0
/*
 * A hosted thread has opened one of Linux's files about CPUs and threads: before it returns from
 * the call, its descriptor names a file of our own, which is the same one, opened once more.
 *
 * The file that Linux opened is left as it is. Another thread of the process may already have
 * it: the descriptor is there before the call ends, and its number can be guessed. So nothing
 * is changed that anybody else can reach, and the descriptor is exchanged only while it still
 * names that file.
 *
 * Called by delegate/calls.c. The exchange is task work, since opening sleeps. Other programs'
 * files, and those that were opened before the program was hosted, are not exchanged.
 *
 * TRICK files of our own: the descriptor of an opened file about CPUs is exchanged for the same file
 * opened once more, with a copy of Linux's operations in which reading differs.
 * BREAKS a kernel that finds a file's state by its operations, or allocates table entries otherwise.
 * NOTICED `viewable()` at each open; `tests/user/cpuview.c`; scenarios `views.sh`.
 */
#include <linux/cred.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/task_work.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "compat.h"
#include "view/view.h"

/* The descriptor names @own instead of @found, if it still names that. */
static bool exchange(struct files_struct *table, unsigned int descriptor, struct file *found, struct file *own)
{
	struct fdtable *entries;
	bool same;

	spin_lock(&table->file_lock);
	entries = files_fdtable(table);
	same = files_lookup_fd_locked(table, descriptor) == found;
	if (same)
		rcu_assign_pointer(entries->fd[descriptor], own);
	spin_unlock(&table->file_lock);
	return same;
}

/* Opens it once more, with the rights with which it was opened. */
static void replace(struct tacet_view *view)
{
	struct file *found = view->found;
	struct file *own = dentry_open(&found->f_path, found->f_flags, found->f_cred);

	if (IS_ERR(own)) {
		tacet_view_free(view);	/* no memory, or what the file is about has ended */
		return;
	}
	own->f_pos = found->f_pos;
	tacet_view_install(view, own);
	if (exchange(current->files, view->descriptor, found, own))
		filp_close(found, current->files);
	else
		fput(own);
}

/* The task, about to return to user mode, or exiting: then it has no descriptors. */
static void take_over(struct callback_head *work)
{
	struct tacet_view *view = container_of(work, struct tacet_view, opening);
	struct file *found = view->found;

	if (current->files)
		replace(view);
	else
		tacet_view_free(view);
	fput(found);
}

/* In @found, which the caller holds, somebody else may have what the thread has opened: a
 * duplicate, or the file of another process that was put here. */
static bool has_other_users(struct file *found)
{
	return file_count(found) != 2;
}

/* A hosted thread has executed a call, and has not returned to the program yet. */
void tacet_view_opened(const struct pt_regs *regs, long result)
{
	struct tacet_view *view;
	struct file *found;

	if (result < 0 || (regs->orig_ax != __NR_open && regs->orig_ax != __NR_openat && regs->orig_ax != __NR_openat2))
		return;
	found = fget(result);
	if (!found)
		return;
	view = has_other_users(found) ? NULL : tacet_view_for(found);
	if (view) {
		view->found = found;
		view->descriptor = result;
		init_task_work(&view->opening, take_over);
		if (!task_work_add(current, &view->opening, TWA_RESUME))
			return;
		tacet_view_free(view);	/* it ends */
	}
	fput(found);
}
