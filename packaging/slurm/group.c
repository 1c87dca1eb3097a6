// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The control groups that Slurm made for this process, .../job_4711/step_0/..., and their CPUs by the machine's numbers.
 * Called by job.c and task.c.
 *
 * The path is read, never built: it depends on how Slurm was built and on systemd. Slurm's own lists of cores
 * (S_JOB_ALLOC_CORES) count other things than Linux's CPUs. Control groups of version 2 only: version 1 forgets a CPU
 * that leaves Linux.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "cpus.h"
#include "file.h"
#include "group.h"

#define GROUPS "/sys/fs/cgroup"

/* The group of this process, as far as the end of the part that begins with @part; "": all of it. */
static bool cut_behind(const char *part, char *group, size_t size)
{
	char line[GROUP_TEXT], *at;

	/* version 2 alone has one line: 0::PATH */
	if (!file_read_line("/proc/self/cgroup", line, sizeof(line)) || strncmp(line, "0::/", 4))
		return false;
	at = strstr(line, part);
	if (!at)
		return false;
	at += strlen(part);
	if (*part)
		at[strcspn(at, "/")] = 0;
	return (size_t)snprintf(group, size, "%s", line + 3) < size;
}

bool group_of_job(char *group, size_t size)
{
	return cut_behind("/job_", group, size);
}

/* Those that were given to it, whether Linux has them now or not. */
bool group_cpus(const char *group, cpu_set_t *cpus)
{
	char path[GROUP_TEXT + 64], list[CPUS_TEXT];

	snprintf(path, sizeof(path), GROUPS "%s/cpuset.cpus", group);
	return file_read_line(path, list, sizeof(list)) && cpus_parse(list, cpus);
}

/*
 * The CPUs that Slurm gave to this task: which of the groups of its step has the list, step_0 or step_0/user, depends on
 * Slurm's version, and those below it have an empty one. False: no group has a list.
 */
bool group_own_cpus(cpu_set_t *cpus)
{
	char group[GROUP_TEXT], job[GROUP_TEXT];
	bool found = false;
	cpu_set_t given;

	if (!group_of_job(job, sizeof(job)) || !cut_behind("", group, sizeof(group)))
		return false;
	for (; strlen(group) >= strlen(job); *strrchr(group, '/') = 0) {
		if (!group_cpus(group, &given) || !CPU_COUNT(&given))
			continue;
		if (found)
			CPU_AND(cpus, cpus, &given);
		else
			*cpus = given;
		found = true;
	}
	return found;
}

/* Of @cpus, those that Linux does not have. */
void cpus_away(const cpu_set_t *cpus, cpu_set_t *away)
{
	char list[CPUS_TEXT];
	cpu_set_t online;

	*away = *cpus;
	if (file_read_line("/sys/devices/system/cpu/online", list, sizeof(list)) && cpus_parse(list, &online))
		cpus_remove(away, &online);
	else
		CPU_ZERO(away);
}

/* The machine has CPUs that Linux does not have. */
bool cpus_some_away(void)
{
	char list[CPUS_TEXT];
	cpu_set_t present, away;

	if (!file_read_line("/sys/devices/system/cpu/present", list, sizeof(list)) || !cpus_parse(list, &present))
		return false;
	cpus_away(&present, &away);
	return CPU_COUNT(&away);
}

/* The hardware threads of @cpu's core, itself among them. */
void cpu_siblings(int cpu, cpu_set_t *cpus)
{
	char path[128], list[CPUS_TEXT];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
	if (!file_read_line(path, list, sizeof(list)) || !cpus_parse(list, cpus))
		CPU_ZERO(cpus);
	CPU_SET(cpu, cpus);
}
