/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* The logs of Slurm's daemons. */
#ifndef TACET_SLURM_LOG_H
#define TACET_SLURM_LOG_H

/* Exported by whichever program of Slurm has loaded the plugin; spank.h declares the same. */
extern void slurm_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define log_error(format, ...) slurm_error("tacet: " format, ##__VA_ARGS__)

#endif
