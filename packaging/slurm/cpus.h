/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Sets of CPUs, as text like 1-2,5. Pure. */
#ifndef TACET_SLURM_CPUS_H
#define TACET_SLURM_CPUS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

/* The longest text of a set that any function here writes or reads, with its end. */
#define CPUS_TEXT 4096

bool cpus_parse(const char *text, cpu_set_t *cpus);
bool cpus_print(const cpu_set_t *cpus, char *text, size_t size);
void cpus_remove(cpu_set_t *from, const cpu_set_t *cpus);
bool cpus_take_first(cpu_set_t *from, unsigned int count, cpu_set_t *first);

#endif
