// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * What one callback of a job leaves for the later ones: the extern step does not see the option, and only it knows the
 * job's CPUs. Files of root in /run, which tasks read as their user. Called by job.c and task.c.
 */
#include <stdio.h>

#include "file.h"
#include "record.h"

static void path_of(uint32_t job, enum record what, char *path, size_t size)
{
	static const char *const names[] = { "wanted", "ending", "begun", "refused", "sched" };

	snprintf(path, size, RECORD_FOLDER "/%u.%s", job, names[what]);
}

/* False: the folder cannot be made. */
bool record_open(void)
{
	return file_make_folder("/run/tacet") && file_make_folder(RECORD_FOLDER);
}

bool record_write(uint32_t job, enum record what, const char *line)
{
	char path[128];

	path_of(job, what, path, sizeof(path));
	return file_write_line(path, line);
}

/* False: there is none. */
bool record_read(uint32_t job, enum record what, char *line, size_t size)
{
	char path[128];

	path_of(job, what, path, sizeof(path));
	return file_read_line(path, line, size);
}

void record_remove(uint32_t job, enum record what)
{
	char path[128];

	path_of(job, what, path, sizeof(path));
	file_remove(path);
}

/* A job that was wanted is one that ends. */
void record_ends(uint32_t job)
{
	char from[128], to[128];

	path_of(job, RECORD_WANTED, from, sizeof(from));
	path_of(job, RECORD_ENDING, to, sizeof(to));
	file_rename(from, to);
}

/* Closed by the caller; -1: another process ends the job, or it has ended. */
int record_try_lock_ending(uint32_t job)
{
	char path[128];

	path_of(job, RECORD_ENDING, path, sizeof(path));
	return file_try_lock(path);
}
