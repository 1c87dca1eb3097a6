// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * A job of Slurm as a job of Tacet: its life on one node. Called by plugin.c, as root.
 *
 * job_prolog wants it, the extern step begins it (only there the job's CPUs are known), job_epilog ends it: its CPUs may
 * stay in the partition, for the next such job. Every job gets back from there those of its CPUs that are to be Linux's. Slurm calls
 * job_epilog at every end, also when it has lost the job's processes. If the epilogue itself is killed, the prologue of the
 * node's next job finishes that end; what is left even so, `tacet job sweep` ends. A
 * failure here never fails a callback: that would drain the node. The job's tasks refuse to start instead (task.c).
 *
 * A job of --tacet-tune makes its CPUs quiet for the same time instead, and one of --tacet-sched has the scheduling class
 * (sched.c). Its programs have the CPUs that would have left Linux.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "cpus.h"
#include "file.h"
#include "group.h"
#include "job.h"
#include "log.h"
#include "record.h"
#include "sched.h"
#include "settings.h"

#define LINE 512
/* An earlier job on the same CPUs may take as long to end: SIGTERM, 5 s, SIGKILL. */
#define PATIENCE_MS 30000
#define LOOK_MS 200
/* The extern step gives a job its CPUs when it starts, before the other steps. */
#define CPUS_PATIENCE_MS 5000

/* False: the job cannot begin here, and no task of it will start. */
bool job_want(uint32_t job, enum rung rung, const char *settings)
{
	char line[SETTINGS_LINE], why[LINE];

	if (!record_open() || !settings_print(rung, settings, line, sizeof(line)))
		return false;
	/* of a run before the job was requeued */
	record_remove(job, RECORD_ENDING);
	record_remove(job, RECORD_BEGUN);
	record_remove(job, RECORD_REFUSED);
	if (!record_write(job, RECORD_WANTED, line))
		return false;
	if (rung == RUNG_SCHED && !sched_join(job, why, sizeof(why)))
		return record_write(job, RECORD_REFUSED, why);
	return true;
}

bool job_is_wanted(uint32_t job)
{
	char text[SETTINGS_LINE];

	return record_read(job, RECORD_WANTED, text, sizeof(text));
}

/* Its end, if it began already, is not complete: slurmd calls the epilogue again if it was killed meanwhile. */
bool job_is_to_end(uint32_t job)
{
	char text[SETTINGS_LINE];

	return job_is_wanted(job) || record_read(job, RECORD_ENDING, text, sizeof(text));
}

/* Those of @cpus that an earlier job left in the partition become Linux's. What is another job's there, or root's, stays. */
static void take_back(const cpu_set_t *cpus)
{
	char list[CPUS_TEXT], why[LINE];
	const char *const words[] = { "tacet", "job", "release", "--cpus", list, NULL };
	cpu_set_t away;

	cpus_away(cpus, &away);
	if (CPU_COUNT(&away) && cpus_print(&away, list, sizeof(list)) && command_run(words, why, sizeof(why)))
		log_error("CPUs %s: %s", list, why);
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

/*
 * Moves @count of @cpus to @kept, which Linux has or gets back. It has some of them perhaps already; those that an earlier
 * job left in the partition are better taken by this one.
 */
static bool keep_for_linux(cpu_set_t *cpus, unsigned int count, cpu_set_t *kept)
{
	cpu_set_t away, here = *cpus;

	cpus_away(cpus, &away);
	cpus_remove(&here, &away);
	/* only CPUs that Linux has name their hardware threads */
	if ((unsigned int)CPU_COUNT(&here) < count) {
		take_back(cpus);
		here = *cpus;
	}
	if (!cpus_take_first(&here, count, kept))
		return false;
	cpus_remove(cpus, kept);
	return true;
}

/* All of the job's CPUs but those that Linux keeps for the job's own processes there. */
static bool choose_cpus(const struct settings *settings, const char *group, cpu_set_t *cpus, char *why)
{
	cpu_set_t all, kept;
	int count;

	if (!group_cpus(group, cpus) || !CPU_COUNT(cpus)) {
		snprintf(why, LINE, "Slurm does not confine jobs to their CPUs: ConstrainCores=yes in cgroup.conf");
		return false;
	}
	all = *cpus;
	count = CPU_COUNT(cpus);
	if (settings->rung != RUNG_PARTITION)
		take_back(&all);
	if (keep_for_linux(cpus, settings->linux_cpus, &kept)) {
		remove_siblings(cpus, &kept);
		cpus_remove(&all, cpus);
		take_back(&all);
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
	return strstr(why, " has it") || strstr(why, "is ending") || strstr(why, "already job");
}

/* Does it, and again while an earlier job is in the way. @most: its exit status if it was done. */
static bool do_soon(const char *const *words, int most, char *why)
{
	static const char *const sweep[] = { "tacet", "job", "sweep", NULL };
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	char swept[LINE];
	int waited_ms;

	for (waited_ms = 0;; waited_ms += LOOK_MS) {
		int status = command_run(words, why, LINE);

		if (status >= 0 && status <= most)
			return true;
		if (!is_busy(why) || waited_ms >= PATIENCE_MS)
			return false;
		if (!waited_ms)
			command_run(sweep, swept, sizeof(swept));
		nanosleep(&pause, NULL);
	}
}

/*
 * Slurm counts no memory of the partition: without a word about it, the job has as much there as Slurm has given it. Where
 * the partition has less left, the job has what there is.
 */
static bool join_partition(const struct settings *settings, const char *id, uid_t user, const char *cpus,
			   uint64_t memory_mib, char *why)
{
	char group[GROUP_TEXT], uid[16], memory[32];
	const char *words[] = { "tacet", "job", "begin", id, "--user", uid, "--cpus", cpus, "--cgroup", group,
				NULL, NULL, NULL };

	if (!group_of_job(group, sizeof(group)))
		return false;
	snprintf(uid, sizeof(uid), "%u", (unsigned int)user);
	if (settings->memory[0])
		snprintf(memory, sizeof(memory), "%s", settings->memory);
	else
		snprintf(memory, sizeof(memory), "%lluM", (unsigned long long)memory_mib);
	if (settings->memory[0] || memory_mib) {
		words[10] = "--memory";
		words[11] = memory;
	}
	if (do_soon(words, 0, why))
		return true;
	if (settings->memory[0] || !strstr(why, "programs can have"))
		return false;
	words[10] = NULL;
	return do_soon(words, 0, why);
}

/* Slurm's own groups cannot become a partition of CPUs. 1: some of it was refused by the kernel, the rest is in force. */
static bool tune(const char *id, const char *cpus, char *why)
{
	const char *words[] = { "tacet", "tune", "job", "begin", id, "--cpus", cpus, "--without", "partition", NULL };

	return do_soon(words, 1, why);
}

static bool begin(uint32_t job, const struct settings *settings, uid_t user, uint64_t memory_mib, char *cpus,
		  size_t size, char *why)
{
	char group[GROUP_TEXT], id[16];
	cpu_set_t set;

	if (!group_of_job(group, sizeof(group))) {
		snprintf(why, LINE, "the job has no control group of version 2: ProctrackType=proctrack/cgroup, cgroup/v2");
		return false;
	}
	if (!choose_cpus(settings, group, &set, why) || !cpus_print(&set, cpus, size))
		return false;
	snprintf(id, sizeof(id), "%u", job);
	switch (settings->rung) {
	case RUNG_TUNE:
		return tune(id, cpus, why);
	case RUNG_SCHED:
		return true;
	default:
		return join_partition(settings, id, user, cpus, memory_mib, why);
	}
}

static void end(uint32_t job, enum rung rung)
{
	char id[16], why[LINE];
	const char *const leave[] = { "tacet", "job", "end", id, "--keep-cpus", NULL };
	const char *const undo[] = { "tacet", "tune", "job", "end", id, NULL };

	snprintf(id, sizeof(id), "%u", job);
	if (rung == RUNG_SCHED)
		sched_leave(job);
	else if (command_run(rung == RUNG_TUNE ? undo : leave, why, sizeof(why)))
		log_error("job %u: %s", job, why);
	record_remove(job, RECORD_BEGUN);
	record_remove(job, RECORD_REFUSED);
	record_remove(job, RECORD_ENDING);
}

/* In the extern step. @memory_mib: of the job on this node, by Slurm; 0: unknown. The tasks of the job read the outcome. */
void job_begin(uint32_t job, uid_t user, uint64_t memory_mib)
{
	char cpus[CPUS_TEXT], text[SETTINGS_LINE], why[LINE];
	struct settings settings = { .rung = RUNG_PARTITION };

	if (record_read(job, RECORD_REFUSED, why, sizeof(why)))
		return;
	snprintf(why, sizeof(why), "it could not read its own record");
	if (!record_read(job, RECORD_WANTED, text, sizeof(text)) ||
	    !settings_read_line(text, &settings, why, sizeof(why)) ||
	    !begin(job, &settings, user, memory_mib, cpus, sizeof(cpus), why)) {
		log_error("job %u: %s", job, why);
		record_write(job, RECORD_REFUSED, why);
		return;
	}
	if (!record_write(job, RECORD_BEGUN, cpus))
		log_error("job %u: its record cannot be written", job);
	/* the epilog ran meanwhile, and found no job to end */
	if (!job_is_wanted(job))
		end(job, settings.rung);
}

/*
 * In each step of a job that is not ours, the extern step first, and before a task starts: an earlier job may have left some
 * of its CPUs in the partition. Only while CPUs are away there is anything to wait for.
 */
void job_reclaim(void)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	char group[GROUP_TEXT];
	cpu_set_t cpus;
	int waited_ms;

	if (!cpus_some_away() || !group_of_job(group, sizeof(group)))
		return;
	for (waited_ms = 0; group_cpus(group, &cpus) && waited_ms < CPUS_PATIENCE_MS; waited_ms += LOOK_MS) {
		if (CPU_COUNT(&cpus)) {
			take_back(&cpus);
			return;
		}
		nanosleep(&pause, NULL);
	}
}

static enum rung rung_of(uint32_t job)
{
	char text[SETTINGS_LINE], why[LINE];
	struct settings settings = { .rung = RUNG_PARTITION };

	/* of a job with a wrong setting the rung is known even so */
	if (record_read(job, RECORD_WANTED, text, sizeof(text)) || record_read(job, RECORD_ENDING, text, sizeof(text)))
		settings_read_line(text, &settings, why, sizeof(why));
	return settings.rung;
}

/* Idempotent. A job that does not end keeps its CPUs until the sweeper ends it. */
void job_end(uint32_t job)
{
	enum rung rung = rung_of(job);
	int lock;

	record_ends(job);
	lock = record_try_lock_ending(job);
	end(job, rung);
	if (lock >= 0)
		close(lock);
}

static bool finish(const char *name)
{
	uint32_t job = strtoul(name, NULL, 10);
	int lock = record_try_lock_ending(job);

	if (lock >= 0) {
		end(job, rung_of(job));
		close(lock);
	}
	return false;
}

/* Before a job begins: finishes the ends of earlier jobs, where a killed epilogue has left off. */
void job_finish_ends(void)
{
	file_any(RECORD_FOLDER, ".ending", finish);
}
