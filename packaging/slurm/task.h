/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* A task of a step, just before its program starts, as its user. */
#ifndef TACET_SLURM_TASK_H
#define TACET_SLURM_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings.h"

/* Words before the task's program, with the NULL behind them. */
#define TASK_WORDS 8

bool task_await_job(uint32_t job, enum rung rung, char *why, size_t size);
int task_words(uint32_t job, const struct settings *settings, const char *words[TASK_WORDS]);
bool task_stay_on_cpus(uint32_t job);

#endif
