// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Background load for Linux's CPUs: all activities that are known to disturb other CPUs.
 *
 * usage: load CPUS SECONDS DIRECTORY MODULE [KIND...]
 * CPUS as in 0-1; MODULE a file DIRECTORY/MODULE.ko. Ends early when DIRECTORY/stop appears.
 * With KINDs, runs only those, to find which disturbs. Each disturbance is a process that repeats it until the time is
 * over: address space changes of many threads, membarrier, fork and exec, file writes, timers, module load and unload,
 * tracepoint toggles (static keys and code patching), work on every CPU (stat_refresh), reclaim, compaction. At the end
 * it prints how often each was done, also if 0 times, so that a load that did nothing is not mistaken for a quiet core.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

const char *load_directory, *load_module;
static unsigned long *done;
static pid_t workers[32];

static const struct {
	const char *name;
	bool (*once)(void);	/* one round; false: not possible on this machine */
	unsigned pause_us;
} disturbances[] = {
	{ "mmap_threads", mmap_threads, 5000 },
	{ "membarrier", membarrier_all, 5000 },
	{ "fork_exec", fork_exec, 20000 },
	{ "file_writes", file_writes, 20000 },
	{ "timers", timers, 5000 },
	{ "module", module_cycle, 50000 },
	{ "tracepoint", tracepoint, 20000 },
	{ "all_cpus_work", all_cpus_work, 20000 },
	{ "drop_caches", drop_caches, 300000 },
	{ "compaction", compaction, 300000 },
};
#define KINDS (sizeof(disturbances) / sizeof(*disturbances))

static bool keep_to(const char *list)
{
	cpu_set_t set;
	unsigned first, last;
	int got = sscanf(list, "%u-%u", &first, &last);

	CPU_ZERO(&set);
	if (got < 1)
		return false;
	for (unsigned cpu = first; cpu <= (got == 2 ? last : first); cpu++)
		CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

static void work(size_t kind)
{
	while (disturbances[kind].once()) {
		done[kind]++;
		if (disturbances[kind].pause_us)
			usleep(disturbances[kind].pause_us);
	}
	_exit(0);
}

static bool wanted(const char *name, char **only)
{
	if (!*only)
		return true;
	while (*only && strcmp(name, *only))
		only++;
	return *only;
}

int main(int argc, char **argv)
{
	if (argc < 5 || !keep_to(argv[1])) {
		fprintf(stderr, "usage: load CPUS SECONDS DIRECTORY MODULE [KIND...]\n");
		return 2;
	}
	load_directory = argv[3];
	load_module = argv[4];
	done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (done == MAP_FAILED)
		return 1;
	for (size_t kind = 0; kind < KINDS; kind++) {
		if (!wanted(disturbances[kind].name, argv + 5))
			continue;
		workers[kind] = fork();
		if (!workers[kind]) {
			setpgid(0, 0);
			work(kind);
		}
	}
	printf("load started\n");
	fflush(stdout);
	for (double left = atof(argv[2]); left > 0; left -= 0.1) {
		char stop[256];

		snprintf(stop, sizeof(stop), "%s/stop", load_directory);
		usleep(100000);
		if (!access(stop, F_OK))
			break;
	}
	for (size_t kind = 0; kind < KINDS; kind++)
		if (workers[kind])
			kill(workers[kind], SIGKILL);
	for (size_t kind = 0; kind < KINDS; kind++)
		printf("load %s %lu\n", disturbances[kind].name, done[kind]);
	while (wait(NULL) > 0)
		;
	load_restore();
	return 0;
}
