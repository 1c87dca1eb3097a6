/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The disturbances of load.c: each does one round, and says false where this machine does not have it.
 */
#ifndef TACET_PERF_LOAD_H
#define TACET_PERF_LOAD_H

#include <stdbool.h>

extern const char *load_directory;	/* files are written here */
extern const char *load_module;		/* loaded and unloaded: a module that nobody uses */

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

/* Undoes what a killed round may have left: the tracepoint, the module. */
void load_restore(void);

#endif
