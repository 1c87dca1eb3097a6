// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The scheduling class of --tacet-sched: the first job on a node loads it, the last one unloads it. Called by job.c, in
 * job_prolog and job_epilog: a small process stays with the class, and would end with the extern step.
 *
 * A class that the site has loaded itself stays. The lock is that of the records' folder.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "file.h"
#include "log.h"
#include "record.h"
#include "sched.h"

/* The class was loaded for jobs; written and removed with the lock held. */
#define LOADED RECORD_FOLDER "/loaded"

static const char *const start[] = { "tacet", "sched", "start", NULL };
static const char *const stop[] = { "tacet", "sched", "stop", NULL };

static bool load(char *why, size_t size)
{
	if (!command_run(start, why, size))
		return file_write_line(LOADED, "sched");
	return strstr(why, "loaded already");
}

static void unload(void)
{
	char why[512], line[16];

	if (file_any(RECORD_FOLDER, ".sched", NULL) || !file_read_line(LOADED, line, sizeof(line)))
		return;
	if (command_run(stop, why, sizeof(why)))
		log_error("%s", why);
	file_remove(LOADED);
}

/* False: @why has one line. */
bool sched_join(uint32_t job, char *why, size_t size)
{
	int lock = file_lock_folder(RECORD_FOLDER);
	bool done;

	if (lock < 0) {
		snprintf(why, size, "the folder of its records is gone");
		return false;
	}
	done = record_write(job, RECORD_SCHED, "sched");
	if (!done)
		snprintf(why, size, "its record cannot be written");
	done = done && load(why, size);
	close(lock);
	return done;
}

/* Idempotent. */
void sched_leave(uint32_t job)
{
	int lock = file_lock_folder(RECORD_FOLDER);

	if (lock < 0)
		return;
	record_remove(job, RECORD_SCHED);
	unload();
	close(lock);
}
