// SPDX-License-Identifier: GPL-2.0
/*
 * Linux's files about CPUs and threads, as a hosted program reads them.
 *
 * Knows which files those are: by their place in their file system, whatever path the program
 * used. For a file of the table below view/opened.c opens a file of our own, to which this file
 * gives a copy of Linux's operations in which only reading differs: a read takes Linux's text
 * and changes it. All else (polling, mapping, locks, the inode) stays Linux's.
 *
 * Must never touch the operations of a file that a program has: another thread may be just
 * between two looks at them, or may have duplicated the descriptor. An open file holds the module.
 */
#include <linux/cgroup.h>
#include <linux/device.h>
#include <linux/kernfs.h>
#include <linux/magic.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "compat.h"
#include "memory/memory.h"
#include "view/view.h"

#define LONGEST 192	/* of the paths below, with the end */

static const struct tacet_view_kind kinds[] = {
	{ SYSFS_MAGIC, "/devices/system/cpu/online", tacet_view_online },
	{ SYSFS_MAGIC, "/devices/system/cpu/offline", tacet_view_offline },
	{ SYSFS_MAGIC, "/devices/system/cpu/cpu#/online", tacet_view_cpu_online },
	{ SYSFS_MAGIC, "/devices/system/cpu/cpu#/topology/*", tacet_view_topology },
	{ SYSFS_MAGIC, "/devices/system/cpu/cpu#/cache/index#/*", tacet_view_cache },
	{ SYSFS_MAGIC, "/devices/system/node/node#/*", tacet_view_node },
	{ SYSFS_MAGIC, "/devices/system/node/has_cpu", tacet_view_nodes },
	{ SYSFS_MAGIC, "/devices/pci~/local_cpulist", tacet_view_device },
	{ SYSFS_MAGIC, "/devices/pci~/local_cpus", tacet_view_device },
	{ PROC_SUPER_MAGIC, "/stat", tacet_view_stat },
	{ PROC_SUPER_MAGIC, "/cpuinfo", tacet_view_cpuinfo },
	{ PROC_SUPER_MAGIC, "/#/status", tacet_view_status },
	{ PROC_SUPER_MAGIC, "/#/task/#/status", tacet_view_status },
	{ PROC_SUPER_MAGIC, "/#/stat", tacet_view_thread_stat },
	{ PROC_SUPER_MAGIC, "/#/task/#/stat", tacet_view_thread_stat },
	{ PROC_SUPER_MAGIC, "/#/maps", tacet_view_maps },
	{ PROC_SUPER_MAGIC, "/#/task/#/maps", tacet_view_maps },
	{ CGROUP2_SUPER_MAGIC, "~/cpuset.cpus.effective", tacet_view_online },
};

/* Whether @path is of the kind @pattern; its numbers and its varying end go to @view. */
static bool matches(const char *pattern, const char *path, struct tacet_view *view)
{
	unsigned int number = 0;

	for (; *pattern; pattern++) {
		if (*pattern == '~') {
			size_t bytes = strlen(pattern) - 1, all = strlen(path);

			strscpy(view->name, pattern + 2, sizeof(view->name));
			return all >= bytes && !strcmp(path + all - bytes, pattern + 1);
		}
		if (*pattern == '*') {
			if (!*path || strchr(path, '/'))
				return false;
			strscpy(view->name, path, sizeof(view->name));
			return true;
		}
		if (*pattern == '#') {
			char *end;

			view->numbers[number] = simple_strtoul(path, &end, 10);
			if (end == path)
				return false;
			path = end;
			number++;
		} else if (*pattern != *path++) {
			return false;
		}
	}
	return !*path;
}

/* Reads all that Linux says. */
static int read_linux(struct file *file, const struct file_operations *operations, struct tacet_text *text)
{
	ssize_t bytes;

	do {
		struct kiocb call;
		struct iov_iter room;
		struct kvec part;

		bytes = tacet_text_reserve(text, PAGE_SIZE);
		if (bytes)
			break;
		part = (struct kvec){ text->start + text->bytes, text->room - text->bytes - 1 };
		init_sync_kiocb(&call, file);
		call.ki_pos = text->bytes;
		iov_iter_kvec(&room, ITER_DEST, &part, 1, part.iov_len);
		bytes = operations->read_iter ? operations->read_iter(&call, &room) : seq_read_iter(&call, &room);
		if (bytes > 0)
			text->bytes += bytes;
		text->start[text->bytes] = 0;
	} while (bytes > 0);
	return bytes;
}

static int refresh(struct tacet_view *view, struct file *file)
{
	struct tacet_text from = {};
	int error;

	tacet_text_empty(&view->text);
	error = read_linux(file, view->linux_operations, &from);
	if (!error && from.bytes)
		error = view->kind->change(view, &from, &view->text);
	tacet_text_free(&from);
	return error;
}

/* Each read from the start takes the text anew, as Linux does. */
static ssize_t view_read(struct kiocb *call, struct iov_iter *to)
{
	struct tacet_view *view = container_of(call->ki_filp->f_op, struct tacet_view, operations);
	ssize_t bytes = 0;

	if (mutex_lock_killable(&view->lock))
		return -EINTR;
	if (!call->ki_pos || !view->text.start)
		bytes = refresh(view, call->ki_filp);
	if (!bytes && call->ki_pos < view->text.bytes && iov_iter_count(to)) {
		bytes = copy_to_iter(view->text.start + call->ki_pos, view->text.bytes - call->ki_pos, to);
		call->ki_pos += bytes;
		bytes = bytes ?: -EFAULT;
	}
	mutex_unlock(&view->lock);
	return bytes;
}

void tacet_view_free(struct tacet_view *view)
{
	if (view->range)
		tacet_range_put(view->range);
	put_pid(view->pid);
	tacet_text_free(&view->text);
	kfree(view);
	module_put(THIS_MODULE);
}

/* The last reference of the file is gone. Linux still reads file->f_op. The module is not
 * unloaded before this function's end: tacet_exit() waits for running tasks. */
static int view_release(struct inode *inode, struct file *file)
{
	struct tacet_view *view = container_of(file->f_op, struct tacet_view, operations);
	const struct file_operations *operations = view->linux_operations;
	int result = operations->release ? operations->release(inode, file) : 0;

	WRITE_ONCE(file->f_op, operations);
	tacet_view_free(view);
	return result;
}

/* The thread that a file of procfs is about. RCU. */
static struct pid *subject(struct file *file, const struct tacet_view *view)
{
	unsigned int number = view->numbers[1] ?: view->numbers[0];

	if (view->kind->magic != PROC_SUPER_MAGIC || !number)
		return NULL;
	return get_pid(find_pid_ns(number, proc_pid_ns(file_inode(file)->i_sb)));
}

/* The file is about a thread of the caller's process. RCU. */
static bool is_own(const struct tacet_view *view)
{
	struct task_struct *task = pid_task(view->pid, PIDTYPE_PID);

	return task && current->mm && READ_ONCE(task->mm) == current->mm;
}

/* The node of the device in whose directory of sysfs the file is. */
static int node_of(struct file *file)
{
	struct kernfs_node *directory = file->f_path.dentry->d_parent->d_inode->i_private;

	return dev_to_node(kobj_to_dev((struct kobject *)directory->priv));
}

/* @own, which nobody else has yet, is read through @view from now on, which it keeps. */
void tacet_view_install(struct tacet_view *view, struct file *own)
{
	mutex_init(&view->lock);
	rcu_read_lock();
	view->pid = subject(own, view);
	if (view->kind->change == tacet_view_maps && is_own(view))
		view->range = tacet_range_get(current->mm);
	rcu_read_unlock();
	if (view->kind->change == tacet_view_device)
		view->node = node_of(own);
	view->linux_operations = own->f_op;
	view->operations = *own->f_op;
	view->operations.read = NULL;
	view->operations.read_iter = view_read;
	view->operations.release = view_release;
	if (own->f_op->llseek == seq_lseek)
		view->operations.llseek = no_seek_end_llseek;
	own->f_op = &view->operations;
}

static bool interesting(const struct file *file)
{
	unsigned long magic = file_inode(file)->i_sb->s_magic;

	return magic == SYSFS_MAGIC || magic == PROC_SUPER_MAGIC || magic == CGROUP2_SUPER_MAGIC;
}

/* Linux reads @file as the views know it. Not so one that has a view already, which another
 * thread may have put where the calling thread's file was. */
static bool viewable(const struct file *file)
{
	const struct file_operations *operations = file->f_op;

	return file->f_mode & FMODE_READ && S_ISREG(file_inode(file)->i_mode) &&
	       operations->read_iter != view_read &&
	       (operations->read_iter || operations->read == seq_read);
}

/* A view for @file, which holds the module; NULL: the program reads it as it is. Does not sleep. */
struct tacet_view *tacet_view_for(struct file *file)
{
	struct tacet_view *view;
	char buffer[LONGEST];
	const char *path;
	unsigned int i;

	if (!interesting(file) || !viewable(file))
		return NULL;
	path = dentry_path_raw(file->f_path.dentry, buffer, sizeof(buffer));
	view = IS_ERR(path) ? NULL : kzalloc(sizeof(*view), GFP_ATOMIC);
	for (i = 0; view && i < ARRAY_SIZE(kinds); i++) {
		if (file_inode(file)->i_sb->s_magic != kinds[i].magic || !matches(kinds[i].path, path, view))
			continue;
		view->kind = &kinds[i];
		__module_get(THIS_MODULE);
		return view;
	}
	kfree(view);
	return NULL;
}
