// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * A task of a step, just before its program starts, as its user. Called by plugin.c. It decides whether the program may
 * start, and how `tacet run` starts it; it changes nothing.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "command.h"
#include "cpus.h"
#include "group.h"
#include "record.h"
#include "settings.h"
#include "task.h"

/* slurmd starts steps when the extern step has begun the job; one that was killed leaves no outcome. */
#define PATIENCE_MS 40000
#define LOOK_MS 50

/* True: the job has begun on this node. Else why not. */
bool task_await_job(uint32_t job, char *why, size_t size)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	char line[CPUS_TEXT];
	int waited_ms;

	if (!record_read(job, RECORD_WANTED, line, sizeof(line))) {
		snprintf(why, size, "job %u began without --tacet: give it to sbatch or salloc too", job);
		return false;
	}
	for (waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += LOOK_MS) {
		if (record_read(job, RECORD_BEGUN, line, sizeof(line)))
			return true;
		if (record_read(job, RECORD_REFUSED, why, size))
			return false;
		nanosleep(&pause, NULL);
	}
	snprintf(why, size, "job %u has not begun on this node: PrologFlags=Contain in slurm.conf; see slurmd's log", job);
	return false;
}

/*
 * The step's own part of the job's CPUs, if it has one: steps beside each other do not meet. A step that has only CPUs
 * of Linux uses all of the job's. False: no list is needed.
 */
static bool own_part(uint32_t job, char *list, size_t size)
{
	char group[GROUP_TEXT], line[CPUS_TEXT];
	cpu_set_t step, begun, part;

	if (!record_read(job, RECORD_BEGUN, line, sizeof(line)) || !cpus_parse(line, &begun))
		return false;
	if (!group_of_step(group, sizeof(group)) || !group_cpus(group, &step))
		return false;
	CPU_AND(&part, &step, &begun);
	return CPU_COUNT(&part) && !CPU_EQUAL(&part, &begun) && cpus_print(&part, list, size);
}

/* The words before the program, which stay valid: ranks divide the CPUs among themselves. Returns how many. */
int task_words(uint32_t job, const char *bind, const char *words[TASK_WORDS])
{
	static char list[CPUS_TEXT];
	int count = 0;

	words[count++] = command_path;
	words[count++] = "run";
	if (own_part(job, list, sizeof(list))) {
		words[count++] = "--cpus";
		words[count++] = list;
	}
	if (bind[0]) {
		words[count++] = "--bind";
		words[count++] = bind;
	}
	words[count++] = "--";
	words[count] = NULL;
	return count;
}
