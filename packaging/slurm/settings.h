/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Which rung a user asks for, and what he writes behind --tacet=. Pure. */
#ifndef TACET_SLURM_SETTINGS_H
#define TACET_SLURM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* The longest text of all settings, with its end; and that of such a text behind its rung. */
#define SETTINGS_TEXT 128
#define SETTINGS_LINE (SETTINGS_TEXT + 16)

/* Three ways to keep Linux away from a job: the option's name says which. */
enum rung {
	RUNG_PARTITION,			/* --tacet: the job's CPUs leave Linux */
	RUNG_TUNE,			/* --tacet-tune: Linux's own work leaves the job's CPUs (`tacet tune`) */
	RUNG_SCHED,			/* --tacet-sched: a scheduling class for the tasks (`tacet sched`) */
	RUNGS,
};

struct settings {
	enum rung rung;
	char memory[24];		/* for `tacet job begin --memory`; empty: not named */
	char bind[16];			/* for `tacet run --bind`; empty: threads move */
	unsigned int linux_cpus;	/* of the job's CPUs, those that Linux keeps; at least 1 */
};

extern const char *const rung_names[RUNGS];

bool settings_read(enum rung rung, const char *text, struct settings *settings, char *complaint, size_t size);
bool settings_print(enum rung rung, const char *text, char *line, size_t size);
bool settings_read_line(const char *line, struct settings *settings, char *complaint, size_t size);

#endif
