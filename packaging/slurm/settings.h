/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* What a user writes behind --tacet=. Pure. */
#ifndef TACET_SLURM_SETTINGS_H
#define TACET_SLURM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* The longest text of all settings, with its end. */
#define SETTINGS_TEXT 128

struct settings {
	char memory[24];		/* for `tacet job begin --memory`; empty: no limit */
	char bind[16];			/* for `tacet run --bind`; empty: threads move */
	unsigned int linux_cpus;	/* of the job's CPUs, those that Linux keeps; at least 1 */
};

bool settings_read(const char *text, struct settings *settings, char *complaint, size_t size);

#endif
