/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* The control groups that Slurm made for this process, and CPUs as Linux has them. */
#ifndef TACET_SLURM_GROUP_H
#define TACET_SLURM_GROUP_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define GROUP_TEXT 1024

bool group_of_job(char *group, size_t size);
bool group_own_cpus(cpu_set_t *cpus);
bool group_cpus(const char *group, cpu_set_t *cpus);
void cpus_away(const cpu_set_t *cpus, cpu_set_t *away);
bool cpus_some_away(void);
void cpu_siblings(int cpu, cpu_set_t *cpus);

#endif
