/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The disturbances of load.c. Each function does one round, or returns false if this machine does not support it.
 */
#ifndef TACET_PERF_LOAD_H
#define TACET_PERF_LOAD_H

#include <stdbool.h>

extern const char *load_directory;	/* files are written here */
extern const char *load_module;		/* an unused module, to load and unload */

bool mmap_threads(void);
bool membarrier_all(void);
bool fork_exec(void);
bool file_writes(void);
bool timers(void);
bool module_cycle(void);
bool tracepoint(void);
bool all_cpus_work(void);
bool drop_caches(void);
bool compaction(void);

/* Undoes the effects of a killed round: the tracepoint, the module. */
void load_restore(void);

#endif
