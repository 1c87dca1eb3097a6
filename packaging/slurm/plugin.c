// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * `srun --tacet ./a.out`: the callbacks of Slurm (SPANK), in the order of a job's life. Everything else is in the other files.
 *
 *   init            (user, srun; all)          the options; srun binds no task to CPUs that will be away
 *   job_prolog      (root, slurmd's child)     finishes ends that were cut off; keeps the job's settings: the extern step
 *                                              does not see them
 *   task_post_fork  (root, extern step)        the job's CPUs are known: all but Linux's join the partition
 *   init_post_opt   (root, other steps)        a job without an option waits for CPUs that an earlier job left in the partition
 *   task_init       (user, before exec)        a refused job's task ends with one line; else `tacet run` starts it
 *   job_epilog      (root, slurmd's child)     ends the job, whatever was killed before
 *
 * --tacet-tune and --tacet-sched have the same life: their CPUs stay Linux's and become quiet, or their tasks get a
 * scheduling class.
 *
 * The plugin is `optional` in plugstack.conf: a required one that fails drains nodes. Slurm ignores what callbacks of an
 * optional plugin return, so a task that must not start ends itself. Options of plugstack.conf: tacet=PATH of the command.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#pragma GCC visibility push(default)
#include <slurm/spank.h>
SPANK_PLUGIN(tacet, 1)
#pragma GCC visibility pop

#include "command.h"
#include "file.h"
#include "job.h"
#include "log.h"
#include "settings.h"
#include "task.h"

/* Slurm's own steps: the batch script, the shell of salloc and the extern step are numbered from the top. */
#define OWN_STEPS 0xfffffff0u
#define EXTERN_STEP 0xfffffffcu
#define LINE 512
/* Of the process that has loaded the plugin: a command, a daemon, or a task. */
static struct settings settings;
static bool given;
static char wrong[LINE];

/* @rung: which of the options. */
static int take(int rung, const char *text, int remote)
{
	if (given && settings.rung != (enum rung)rung)
		snprintf(wrong, sizeof(wrong), "--%s and --%s: a job can have one of them", rung_names[settings.rung],
			 rung_names[rung]);
	else if (settings_read(rung, text, &settings, wrong, sizeof(wrong)))
		wrong[0] = 0;
	given = true;
	/* in a step the task says it */
	if (!wrong[0] || remote)
		return 0;
	slurm_spank_log("tacet: %s", wrong);
	return -1;
}

static struct spank_option options[RUNGS] = {
	[RUNG_PARTITION] = { "tacet", "memory=SIZE,bind=compact|scatter,linux-cpus=NUMBER",
			     "Run the tasks on CPUs of the job that Linux has given away", 2, RUNG_PARTITION, take },
	[RUNG_TUNE] = { "tacet-tune", "linux-cpus=NUMBER",
			"Keep Linux's own work away from CPUs of the job", 2, RUNG_TUNE, take },
	[RUNG_SCHED] = { "tacet-sched", "linux-cpus=NUMBER",
			 "Run the tasks in a scheduling class of their own", 2, RUNG_SCHED, take },
};

static void read_arguments(int count, char **words)
{
	int i;

	for (i = 0; i < count; i++) {
		if (!strncmp(words[i], "tacet=/", 7))
			command_path = words[i] + 6;
		else
			log_error("plugstack.conf: `%s`: unknown; use tacet=PATH", words[i]);
	}
}

/* How the options reach the commands inside of a job. */
static bool is_in_job(void)
{
	return getenv("SLURM_SPANK__SLURM_SPANK_OPTION_tacet_tacet") ||
	       getenv("SLURM_SPANK__SLURM_SPANK_OPTION_tacet_tacet_tune") ||
	       getenv("SLURM_SPANK__SLURM_SPANK_OPTION_tacet_tacet_sched");
}

static bool is_option(const char *word)
{
	size_t length = strcspn(word, "="), i;

	for (i = 0; i < RUNGS; i++)
		if (length == strlen(rung_names[i]) + 2 && !strncmp(word, "--", 2) &&
		    !strncmp(word + 2, rung_names[i], length - 2))
			return true;
	return false;
}

/* Among the words of this command: Slurm reads its options only later. */
static bool is_asked_for(void)
{
	char words[4096];
	size_t length, at;
	FILE *file;

	if (is_in_job())
		return true;
	file = fopen("/proc/self/cmdline", "re");
	if (!file)
		return false;
	length = fread(words, 1, sizeof(words) - 1, file);
	fclose(file);
	words[length] = 0;
	for (at = 0; at < length; at += strlen(words + at) + 1)
		if (is_option(words + at))
			return true;
	return false;
}

/*
 * task/affinity cannot bind a task to CPUs that are away. A part of a node is bound as a whole even so, and one CPU of the
 * job is always Linux's. srun reads the variable after this, and before its options.
 */
int slurm_spank_init(spank_t spank, int count, char **words)
{
	size_t i;

	read_arguments(count, words);
	switch (spank_context()) {
	case S_CTX_SLURMD:
	case S_CTX_JOB_SCRIPT:
		return 0;
	case S_CTX_LOCAL:
		if (is_asked_for())
			setenv("SLURM_CPU_BIND", "none", 0);
		break;
	default:
		break;
	}
	for (i = 0; i < RUNGS; i++)
		if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS)
			return -1;
	return 0;
}

/* A step of a job without an option; the extern step has no CPUs yet. */
static void reclaim(spank_t spank)
{
	uint32_t job = 0, step = 0;

	if (spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS && step != EXTERN_STEP &&
	    spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS && !job_is_wanted(job))
		job_reclaim();
}

/* The commands inside of a job inherit the variable. */
int slurm_spank_init_post_opt(spank_t spank, int count, char **words)
{
	(void)count, (void)words;
	if (spank_context() == S_CTX_ALLOCATOR && given)
		setenv("SLURM_CPU_BIND", "none", 0);
	if (spank_context() == S_CTX_REMOTE)
		reclaim(spank);
	return 0;
}

int slurm_spank_job_prolog(spank_t spank, int count, char **words)
{
	uint32_t job = 0;
	char *text = NULL;
	size_t i;

	(void)count, (void)words;
	job_finish_ends();
	for (i = 0; i < RUNGS; i++) {
		if (spank_option_getopt(spank, &options[i], &text) != ESPANK_SUCCESS)
			continue;
		if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS || !job_want(job, i, text))
			log_error("job %u: its record cannot be written", job);
		break;
	}
	return 0;
}

int slurm_spank_task_post_fork(spank_t spank, int count, char **words)
{
	uint32_t job = 0, step = 0;
	uint64_t memory_mib = 0;
	uid_t user = 0;

	(void)count, (void)words;
	if (spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step != EXTERN_STEP)
		return 0;
	if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_UID, &user) != ESPANK_SUCCESS)
		return 0;
	if (spank_get_item(spank, S_JOB_ALLOC_MEM, &memory_mib) != ESPANK_SUCCESS)
		memory_mib = 0;
	if (job_is_wanted(job))
		job_begin(job, user, memory_mib);
	else
		job_reclaim();
	return 0;
}

/* One task of a node says why; none of them starts its program. */
static void __attribute__((noreturn)) refuse(spank_t spank, const char *why)
{
	int task = 0;

	spank_get_item(spank, S_TASK_ID, &task);
	if (!task)
		dprintf(STDERR_FILENO, "tacet: %s\n", why);
	_exit(1);
}

/* The user has written `tacet run` himself, with its other options. */
static bool starts_itself(spank_t spank)
{
	char **words = NULL;
	const char *name;
	int count = 0;

	if (spank_get_item(spank, S_JOB_ARGV, &count, &words) != ESPANK_SUCCESS || count < 1 || !words || !words[0])
		return false;
	name = strrchr(words[0], '/');
	return !strcmp(name ? name + 1 : words[0], "tacet");
}

static void host(spank_t spank, uint32_t job)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
	const char *before[TASK_WORDS];
	int count = task_words(job, &settings, before);

	if (spank_prepend_task_argv(spank, count, before) != ESPANK_SUCCESS)
		refuse(spank, "Slurm does not let the plugin start a program before the task's own");
#else
	(void)job;
	refuse(spank, settings.rung == RUNG_SCHED ?
		      "a plugin of Slurm before 23.11 starts no program: `srun --tacet-sched tacet sched run ./a.out`" :
		      "a plugin of Slurm before 23.11 starts no program: `srun --tacet tacet run ./a.out`");
#endif
}

int slurm_spank_task_init(spank_t spank, int count, char **words)
{
	uint32_t job = 0, step = 0;
	char why[LINE];

	(void)count, (void)words;
	if (!given || spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step == EXTERN_STEP)
		return 0;
	if (wrong[0])
		refuse(spank, wrong);
	if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS)
		refuse(spank, "Slurm does not say to which job the task belongs");
	if (!task_await_job(job, settings.rung, why, sizeof(why)))
		refuse(spank, why);
	if (step >= OWN_STEPS)
		return 0;
	if (settings.rung != RUNG_PARTITION && !task_stay_on_cpus(job))
		refuse(spank, "the task cannot have the job's CPUs: the control group of its step excludes them");
	if (settings.rung != RUNG_TUNE && !starts_itself(spank))
		host(spank, job);
	return 0;
}

int slurm_spank_job_epilog(spank_t spank, int count, char **words)
{
	uint32_t job = 0;

	(void)count, (void)words;
	if (spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS && job_is_to_end(job))
		job_end(job);
	return 0;
}
