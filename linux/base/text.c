// SPDX-License-Identifier: GPL-2.0
/*
 * A text that grows, for the files of view/. Never longer than MOST_BYTES. Calls no other
 * file.
 */
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/text.h"

#define MOST_BYTES (64ul << 20)

/* Room for @more bytes and a 0. */
int tacet_text_reserve(struct tacet_text *text, size_t more)
{
	size_t room = max(text->room, (size_t)PAGE_SIZE);
	char *start;

	while (room < text->bytes + more + 1)
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

int tacet_text_append(struct tacet_text *text, const char *from, size_t bytes)
{
	int error = tacet_text_reserve(text, bytes);

	if (error)
		return error;
	memcpy(text->start + text->bytes, from, bytes);
	text->bytes += bytes;
	text->start[text->bytes] = 0;
	return 0;
}

int tacet_text_print(struct tacet_text *text, const char *format, ...)
{
	va_list arguments;
	int bytes, error;

	va_start(arguments, format);
	bytes = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	error = tacet_text_reserve(text, bytes);
	if (error)
		return error;
	va_start(arguments, format);
	vsnprintf(text->start + text->bytes, bytes + 1, format, arguments);
	va_end(arguments);
	text->bytes += bytes;
	return 0;
}

/* Appends a file of sysfs or procfs, which the caller may read. -ENOENT: in the caller's tree
 * that name means something else. */
int tacet_text_read_file(struct tacet_text *text, const char *path)
{
	struct file *file = filp_open(path, O_RDONLY, 0);
	unsigned long magic;
	loff_t position = 0;
	ssize_t bytes;

	if (IS_ERR(file))
		return PTR_ERR(file);
	magic = file_inode(file)->i_sb->s_magic;
	bytes = magic == SYSFS_MAGIC || magic == PROC_SUPER_MAGIC ? 1 : -ENOENT;
	while (bytes > 0) {
		bytes = tacet_text_reserve(text, PAGE_SIZE);
		if (!bytes)
			bytes = kernel_read(file, text->start + text->bytes, text->room - text->bytes - 1,
					    &position);
		if (bytes > 0) {
			text->bytes += bytes;
			text->start[text->bytes] = 0;
		}
	}
	filp_close(file, NULL);
	return bytes;
}

void tacet_text_empty(struct tacet_text *text)
{
	text->bytes = 0;
	if (text->start)
		text->start[0] = 0;
}

void tacet_text_free(struct tacet_text *text)
{
	kvfree(text->start);
	*text = (struct tacet_text){};
}

const char *tacet_text_next_line(const char *line, const char *end)
{
	const char *newline = memchr(line, '\n', end - line);

	return newline ? newline + 1 : end;
}
