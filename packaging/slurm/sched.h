/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* The scheduling class of --tacet-sched, which a node has once for all jobs that ask for it. All of it as root. */
#ifndef TACET_SLURM_SCHED_H
#define TACET_SLURM_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool sched_join(uint32_t job, char *why, size_t size);
void sched_leave(uint32_t job);

#endif
