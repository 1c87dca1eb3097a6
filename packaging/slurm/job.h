/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* A job of Slurm as a job of Tacet: its life on one node. All of it as root. */
#ifndef TACET_SLURM_JOB_H
#define TACET_SLURM_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "settings.h"

bool job_want(uint32_t job, enum rung rung, const char *settings);
bool job_is_wanted(uint32_t job);
bool job_is_to_end(uint32_t job);
void job_begin(uint32_t job, uid_t user, uint64_t memory_mib);
void job_reclaim(void);
void job_end(uint32_t job);
void job_finish_ends(void);

#endif
