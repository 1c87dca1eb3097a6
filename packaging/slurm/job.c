// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * A job of Slurm as a job of Tacet: its life on one node. Called by plugin.c, as root.
 *
 * job_prolog wants it, the extern step begins it (only there the job's CPUs are known), job_epilog ends it. Slurm calls
 * job_epilog at every end, also when it has lost the job's processes; what is left even so, `tacet job sweep` ends. A
 * failure here never fails a callback: that would drain the node. The job's tasks refuse to start instead (task.c).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "cpus.h"
#include "group.h"
#include "job.h"
#include "log.h"
#include "record.h"
#include "settings.h"

#define LINE 512
/* An earlier job on the same CPUs may take as long to end: SIGTERM, 5 s, SIGKILL. */
#define PATIENCE_MS 30000
#define LOOK_MS 200

/* False: the job cannot begin here, and no task of it will start. */
bool job_want(uint32_t job, const char *settings)
{
	if (!record_open())
		return false;
	/* of a run before the job was requeued */
	record_remove(job, RECORD_BEGUN);
	record_remove(job, RECORD_REFUSED);
	return record_write(job, RECORD_WANTED, settings && *settings ? settings : "linux-cpus=1");
}

bool job_is_wanted(uint32_t job)
{
	char text[SETTINGS_TEXT];

	return record_read(job, RECORD_WANTED, text, sizeof(text));
}

/* A core whose other hardware thread is Linux's would be disturbed by it. */
static void remove_siblings(cpu_set_t *cpus, const cpu_set_t *kept)
{
	cpu_set_t siblings;
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, kept))
			continue;
		cpu_siblings(cpu, &siblings);
		cpus_remove(cpus, &siblings);
	}
}

/* All of the job's CPUs but those that Linux keeps for the job's own processes there. */
static bool choose_cpus(const struct settings *settings, const char *group, cpu_set_t *cpus, char *why)
{
	cpu_set_t kept;
	int count;

	if (!group_cpus(group, cpus) || !CPU_COUNT(cpus)) {
		snprintf(why, LINE, "Slurm does not confine jobs to their CPUs: ConstrainCores=yes in cgroup.conf");
		return false;
	}
	count = CPU_COUNT(cpus);
	if (cpus_take_first(cpus, settings->linux_cpus, &kept)) {
		remove_siblings(cpus, &kept);
		if (CPU_COUNT(cpus))
			return true;
	}
	snprintf(why, LINE, "the job has %d CPU%s on this node and Linux keeps %u: ask for more (-c)", count,
		 count > 1 ? "s" : "", settings->linux_cpus);
	return false;
}

/* Another job is ending on the CPUs, or was left there. */
static bool is_busy(const char *why)
{
	return strstr(why, " has it") || strstr(why, "is ending");
}

static bool begin(uint32_t job, uid_t user, char *cpus, size_t size, char *why)
{
	char text[SETTINGS_TEXT], group[GROUP_TEXT], id[16], uid[16], swept[LINE];
	const char *words[] = { "tacet", "job", "begin", id, "--user", uid, "--cpus", cpus, "--cgroup", group,
				NULL, NULL, NULL };
	static const char *const sweep[] = { "tacet", "job", "sweep", NULL };
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	struct settings settings;
	cpu_set_t set;
	int waited_ms;

	if (!record_read(job, RECORD_WANTED, text, sizeof(text)) || !settings_read(text, &settings, why, LINE))
		return false;
	if (!group_of_job(group, sizeof(group))) {
		snprintf(why, LINE, "the job has no control group of version 2: ProctrackType=proctrack/cgroup, cgroup/v2");
		return false;
	}
	if (!choose_cpus(&settings, group, &set, why) || !cpus_print(&set, cpus, size))
		return false;
	snprintf(id, sizeof(id), "%u", job);
	snprintf(uid, sizeof(uid), "%u", (unsigned int)user);
	if (settings.memory[0]) {
		words[10] = "--memory";
		words[11] = settings.memory;
	}
	for (waited_ms = 0;; waited_ms += LOOK_MS) {
		if (!command_run(words, why, LINE))
			return true;
		if (!is_busy(why) || waited_ms >= PATIENCE_MS)
			return false;
		if (!waited_ms)
			command_run(sweep, swept, sizeof(swept));
		nanosleep(&pause, NULL);
	}
}

/* In the extern step. The tasks of the job read the outcome. */
void job_begin(uint32_t job, uid_t user)
{
	char cpus[CPUS_TEXT], why[LINE] = "it could not read its own record";

	if (!begin(job, user, cpus, sizeof(cpus), why)) {
		log_error("job %u: %s", job, why);
		record_write(job, RECORD_REFUSED, why);
		return;
	}
	if (!record_write(job, RECORD_BEGUN, cpus))
		log_error("job %u: its record cannot be written", job);
	/* the epilog ran meanwhile, and found no job to end */
	if (!job_is_wanted(job))
		job_end(job);
}

/* Idempotent. A job that does not end keeps its CPUs until the sweeper ends it. */
void job_end(uint32_t job)
{
	char id[16], why[LINE];
	const char *const words[] = { "tacet", "job", "end", id, "--return", NULL };

	snprintf(id, sizeof(id), "%u", job);
	record_remove(job, RECORD_WANTED);
	if (command_run(words, why, sizeof(why)))
		log_error("job %u: %s", job, why);
	record_remove(job, RECORD_BEGUN);
	record_remove(job, RECORD_REFUSED);
}
