/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* What one callback of a job leaves for the later ones, in files of root. */
#ifndef TACET_SLURM_RECORD_H
#define TACET_SLURM_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record {
	RECORD_WANTED,		/* the job's rung and settings; written by job_prolog. Without it there is no job for us */
	RECORD_ENDING,		/* the same, from the begin of its end on; whoever ends it has the file locked */
	RECORD_BEGUN,		/* the CPUs for its programs; written by the extern step */
	RECORD_REFUSED,		/* why it has none; written by the extern step, or by job_prolog */
	RECORD_SCHED,		/* it needs the scheduling class; sched.c */
};

#define RECORD_FOLDER "/run/tacet/slurm"

bool record_open(void);
bool record_write(uint32_t job, enum record what, const char *line);
bool record_read(uint32_t job, enum record what, char *line, size_t size);
void record_remove(uint32_t job, enum record what);
void record_ends(uint32_t job);
int record_try_lock_ending(uint32_t job);

#endif
