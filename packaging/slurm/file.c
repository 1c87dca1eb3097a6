// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Small files of text, of this plugin and of Linux. Called by group.c, record.c and sched.c. Every path of these is below FILE_ROOT,
 * which only tests set.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"

#ifndef FILE_ROOT
#define FILE_ROOT ""
#endif

#define PATH_BYTES 1400

/* False: it is too long, so no file can have it. */
static bool below_root(const char *path, const char *behind, char *to)
{
	return (size_t)snprintf(to, PATH_BYTES, FILE_ROOT "%s%s", path, behind) < PATH_BYTES;
}

/* The first line, without its end. False, and an empty line: the file cannot be read, or the line is longer. */
bool file_read_line(const char *path, char *line, size_t size)
{
	char full[PATH_BYTES];
	int fd = below_root(path, "", full) ? open(full, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t length = fd < 0 ? -1 : read(fd, line, size);
	char *end = length > 0 ? memchr(line, '\n', length) : NULL;
	bool fits = length >= 0 && (end || (size_t)length < size);

	if (fd >= 0)
		close(fd);
	if (end)
		*end = 0;
	else
		line[fits ? length : 0] = 0;
	return fits;
}

/* The file has either its old content or the new one, whoever is killed. */
bool file_write_line(const char *path, const char *line)
{
	char full[PATH_BYTES], draft[PATH_BYTES];
	bool written;
	int fd;

	if (!below_root(path, "", full) || !below_root(path, ".new", draft))
		return false;
	fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return false;
	/* whatever the daemon's umask is: tasks read it as their user */
	written = !fchmod(fd, 0644) && dprintf(fd, "%s\n", line) == (int)strlen(line) + 1;
	if (close(fd) || !written || rename(draft, full)) {
		unlink(draft);
		return false;
	}
	return true;
}

/* For root to write and all to read, whatever the daemon's umask is. */
bool file_make_folder(const char *path)
{
	char full[PATH_BYTES];

	return below_root(path, "", full) && (!mkdir(full, 0755) || errno == EEXIST) && !chmod(full, 0755);
}

void file_remove(const char *path)
{
	char full[PATH_BYTES];

	if (below_root(path, "", full))
		unlink(full);
}

static int lock(const char *path, int how, int flags)
{
	char full[PATH_BYTES];
	int fd = below_root(path, "", full) ? open(full, O_RDONLY | O_CLOEXEC | flags) : -1, failed;

	if (fd < 0)
		return -1;
	while ((failed = flock(fd, how)) && errno == EINTR)
		;
	if (!failed)
		return fd;
	close(fd);
	return -1;
}

/* Waits. Its caller closes the result, which unlocks it, as the caller's death does; -1: there is no such folder. */
int file_lock_folder(const char *path)
{
	return lock(path, LOCK_EX, O_DIRECTORY);
}

/* The same of a file, without waiting; -1 also: another process has it. */
int file_try_lock(const char *path)
{
	return lock(path, LOCK_EX | LOCK_NB, O_NOFOLLOW);
}

/* False: there is no file @from. */
bool file_rename(const char *from, const char *to)
{
	char before[PATH_BYTES], after[PATH_BYTES];

	return below_root(from, "", before) && below_root(to, "", after) && !rename(before, after);
}

/* Visits the files of the folder whose names end so, until a visit is true: was one? Without @visit the first file is enough. */
bool file_any(const char *folder, const char *ending, bool (*visit)(const char *name))
{
	char full[PATH_BYTES];
	DIR *entries = below_root(folder, "", full) ? opendir(full) : NULL;
	struct dirent *entry;
	bool found = false;

	while (entries && !found && (entry = readdir(entries))) {
		size_t length = strlen(entry->d_name), end = strlen(ending);

		if (length >= end && !strcmp(entry->d_name + length - end, ending))
			found = !visit || visit(entry->d_name);
	}
	if (entries)
		closedir(entries);
	return found;
}
