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

/* Waits. Its caller closes the result, which unlocks it, as the caller's death does; -1: there is no such folder. */
int file_lock_folder(const char *path)
{
	char full[PATH_BYTES];
	int fd = below_root(path, "", full) ? open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	while (fd >= 0 && flock(fd, LOCK_EX) && errno == EINTR)
		;
	return fd;
}

/* The folder has a file whose name ends so. */
bool file_any(const char *folder, const char *ending)
{
	char full[PATH_BYTES];
	DIR *entries = below_root(folder, "", full) ? opendir(full) : NULL;
	struct dirent *entry;
	bool found = false;

	while (entries && !found && (entry = readdir(entries))) {
		size_t length = strlen(entry->d_name), end = strlen(ending);

		found = length >= end && !strcmp(entry->d_name + length - end, ending);
	}
	if (entries)
		closedir(entries);
	return found;
}
