// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * A task of a step, just before its program starts, as its user. Called by plugin.c. It decides whether the program may
 * start, how `tacet run` starts it, and where it runs.
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
bool task_await_job(uint32_t job, enum rung rung, char *why, size_t size)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	struct settings began;
	char line[CPUS_TEXT];
	int waited_ms;

	if (!record_read(job, RECORD_WANTED, line, sizeof(line))) {
		snprintf(why, size, "job %u began without --%s: give it to sbatch or salloc too", job, rung_names[rung]);
		return false;
	}
	if (!settings_read_line(line, &began, why, size))
		return false;
	if (began.rung != rung) {
		snprintf(why, size, "job %u began with --%s: its steps cannot have --%s", job, rung_names[began.rung],
			 rung_names[rung]);
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
static bool own_part(const cpu_set_t *begun, cpu_set_t *part)
{
	cpu_set_t step;

	if (!group_own_cpus(&step))
		return false;
	CPU_AND(part, &step, begun);
	return CPU_COUNT(part) && !CPU_EQUAL(part, begun);
}

static bool read_begun(uint32_t job, cpu_set_t *begun)
{
	char line[CPUS_TEXT];

	return record_read(job, RECORD_BEGUN, line, sizeof(line)) && cpus_parse(line, begun);
}

/* The words before the program, which stay valid: ranks divide the CPUs among themselves. Returns how many. */
int task_words(uint32_t job, const struct settings *settings, const char *words[TASK_WORDS])
{
	static char list[CPUS_TEXT];
	cpu_set_t begun, part;
	int count = 0;

	words[count++] = command_path;
	if (settings->rung == RUNG_SCHED)
		words[count++] = "sched";
	words[count++] = "run";
	if (settings->rung == RUNG_PARTITION && read_begun(job, &begun) && own_part(&begun, &part) &&
	    cpus_print(&part, list, sizeof(list))) {
		words[count++] = "--cpus";
		words[count++] = list;
	}
	if (settings->bind[0]) {
		words[count++] = "--bind";
		words[count++] = settings->bind;
	}
	words[count++] = "--";
	words[count] = NULL;
	return count;
}

/* A program of --tacet-tune or --tacet-sched has the CPUs that it would have in the partition. */
bool task_stay_on_cpus(uint32_t job)
{
	cpu_set_t begun, part;

	if (!read_begun(job, &begun))
		return false;
	return !sched_setaffinity(0, sizeof(begun), own_part(&begun, &part) ? &part : &begun);
}
