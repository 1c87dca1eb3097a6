/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* The tacet command, called by root. */
#ifndef TACET_SLURM_COMMAND_H
#define TACET_SLURM_COMMAND_H

#include <stddef.h>

/* Where the command is; `tacet=PATH` behind the plugin's name in plugstack.conf names another place. */
extern const char *command_path;

int command_run(const char *const *words, char *complaint, size_t size);

#endif
