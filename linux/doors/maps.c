// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/tacet/maps: the caller's mappings as /proc/self/maps has them, but with the mappings
 * in its range instead of the one mapping that Linux has there.
 *
 * A hosted program that opens its own maps gets this file (delegate/paths.c). All lines but
 * those of the range are Linux's own text. A file shows the mappings of the process that
 * opened it, at that moment. Calls about the file answer as for Linux's own: it has no method
 * that that one does not have.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/module.h>
#include <linux/mman.h>
#include <linux/namei.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "compat.h"
#include "doors/doors.h"
#include "memory/memory.h"
#include "tacet.h"

#define NAME_COLUMN 73	/* of fs/proc/task_mmu.c, with addresses of 8 bytes */
#define MOST_BYTES (64ul << 20)

struct text {
	char *start;
	size_t bytes, room;
};

/* Room for @more bytes. */
static int reserve(struct text *text, size_t more)
{
	size_t room = max(text->room, (size_t)PAGE_SIZE);
	char *start;

	while (room < text->bytes + more)
		room *= 2;
	if (room == text->room)
		return 0;
	start = room > MOST_BYTES ? NULL : kvmalloc(room, GFP_KERNEL_ACCOUNT);
	if (!start)
		return -ENOMEM;
	if (text->bytes)
		memcpy(start, text->start, text->bytes);
	kvfree(text->start);
	text->start = start;
	text->room = room;
	return 0;
}

static int append(struct text *text, const char *from, size_t bytes)
{
	int error = reserve(text, bytes);

	if (error)
		return error;
	memcpy(text->start + text->bytes, from, bytes);
	text->bytes += bytes;
	return 0;
}

/* Opens /proc/self/maps. In the caller's tree anything may have that name: only a regular file
 * in proc is opened that is read as a sequence, which our own file is not. */
static struct file *open_linux(void)
{
	struct file *file = ERR_PTR(-ENOENT);
	const struct file_operations *operations;
	struct path path;
	int error = kern_path("/proc/self/maps", LOOKUP_FOLLOW, &path);

	if (error)
		return ERR_PTR(error);
	operations = d_inode(path.dentry)->i_fop;
	if (path.mnt->mnt_sb->s_magic == PROC_SUPER_MAGIC && S_ISREG(d_inode(path.dentry)->i_mode) &&
	    (operations->read == seq_read || operations->read_iter == seq_read_iter))
		file = dentry_open(&path, O_RDONLY, current_cred());
	path_put(&path);
	if (!IS_ERR(file) && file->f_op != operations) {
		fput(file);
		return ERR_PTR(-ENOENT);
	}
	return file;
}

/* Reads Linux's text about the calling process. */
static int read_linux(struct text *text)
{
	struct file *file = open_linux();
	ssize_t bytes = 0;

	text->bytes = 0;
	if (IS_ERR(file))
		return PTR_ERR(file);
	do {
		struct kiocb call;
		struct iov_iter room;
		struct kvec part;

		bytes = reserve(text, PAGE_SIZE);
		if (bytes)
			break;
		part = (struct kvec){ text->start + text->bytes, text->room - text->bytes };
		init_sync_kiocb(&call, file);
		call.ki_pos = text->bytes;
		iov_iter_kvec(&room, ITER_DEST, &part, 1, part.iov_len);
		bytes = seq_read_iter(&call, &room);
		if (bytes > 0)
			text->bytes += bytes;
	} while (bytes > 0);
	fput(file);
	return bytes;
}

/* Appends a line like Linux's for anonymous memory. */
static int append_run(struct text *text, const struct tacet_range *range, const struct tacet_run *run)
{
	u64 start = range->base + ((u64)run->page << PAGE_SHIFT);
	u64 end = start + ((u64)run->pages << PAGE_SHIFT);
	bool heap = start < range->shared->break_end && end > range->shared->break_start;
	char line[NAME_COLUMN + 16];
	int bytes;

	bytes = snprintf(line, sizeof(line), "%08llx-%08llx %c%c%cp 00000000 00:00 0 ", start, end,
			 run->protection & PROT_READ ? 'r' : '-',
			 run->protection & PROT_WRITE ? 'w' : '-',
			 run->protection & PROT_EXEC ? 'x' : '-');
	if (heap)
		bytes += snprintf(line + bytes, sizeof(line) - bytes, "%*s[heap]",
				  max(NAME_COLUMN - bytes, 0), "");
	line[bytes++] = '\n';
	return append(text, line, bytes);
}

static int append_range(struct text *text, struct tacet_range *range)
{
	struct tacet_run run = {};
	int error = 0;

	while (!error && !fatal_signal_pending(current)) {
		run = tacet_range_run(range, run.page + run.pages);
		if (!run.pages)
			break;
		error = append_run(text, range, &run);
	}
	return error;
}

/* Copies Linux's text, with the range's lines instead of those that begin in the range. */
static int merge(struct text *text, const struct text *linux_text, struct tacet_range *range)
{
	const char *line = linux_text->start, *end = line + linux_text->bytes;
	bool listed = false;
	int error = 0;

	while (line < end && !error) {
		const char *next = memchr(line, '\n', end - line);
		u64 start = simple_strtoull(line, NULL, 16);

		next = next ? next + 1 : end;
		if (start >= range->base && !listed) {
			error = append_range(text, range);
			listed = true;
		}
		if (!error && (start < range->base || start - range->base >= TACET_RANGE_BYTES))
			error = append(text, line, next - line);
		line = next;
	}
	return error;
}

/* Reads Linux's text first, without a lock: other processes can make this slow. */
static int write_maps(struct text *text)
{
	struct tacet_range *range = current->mm ? tacet_range_get(current->mm) : NULL;
	struct text linux_text = {};
	bool open = false;
	int error;

	if (!range)
		return read_linux(text);
	if (READ_ONCE(range->visibility) == TACET_RANGE_VISIBLE) {
		error = read_linux(&linux_text);
		mutex_lock(&range->lock);
		open = READ_ONCE(range->visibility) == TACET_RANGE_VISIBLE && !range->partition_gone && !range->lost;
		if (open && !error)
			error = merge(text, &linux_text, range);
		mutex_unlock(&range->lock);
	}
	tacet_range_put(range);
	kvfree(linux_text.start);
	return open ? error : read_linux(text);
}

static int release_maps(struct inode *inode, struct file *file)
{
	struct text *text = file->private_data;

	kvfree(text->start);
	kfree(text);
	return 0;
}

static int open_maps(struct inode *inode, struct file *file)
{
	struct text *text = kzalloc(sizeof(*text), GFP_KERNEL_ACCOUNT);
	int error;

	if (!text)
		return -ENOMEM;
	file->private_data = text;
	error = write_maps(text);
	if (error)
		release_maps(inode, file);
	return error;
}

static ssize_t read_maps(struct file *file, char __user *to, size_t bytes, loff_t *position)
{
	const struct text *text = file->private_data;

	return simple_read_from_buffer(to, bytes, position, text->start, text->bytes);
}

static const struct file_operations text_operations = {
	.owner = THIS_MODULE,
	.read = read_maps,
	.llseek = no_seek_end_llseek,
	.release = release_maps,
};

/* Files of proc_create() can be polled, /proc/self/maps cannot: the file gets methods of its
 * own. A `proc_release` would never be called. */
static int open_as_text(struct inode *inode, struct file *file)
{
	const struct file_operations *operations = fops_get(&text_operations);
	int error = operations ? open_maps(inode, file) : -ENODEV;

	if (error)
		fops_put(operations);
	else
		replace_fops(file, operations);
	return error;
}

static const struct proc_ops maps_operations = {
	.proc_open = open_as_text,
	/* Without these Linux would open it as a file that cannot be read, or not from a place. */
	.proc_read = read_maps,
	.proc_lseek = no_seek_end_llseek,
};

static struct proc_dir_entry *directory;

int tacet_maps_init(void)
{
	directory = proc_mkdir("tacet", NULL);
	if (directory && proc_create("maps", 0444, directory, &maps_operations))
		return 0;
	tacet_maps_exit();
	return -ENOMEM;
}

void tacet_maps_exit(void)
{
	proc_remove(directory);
}
