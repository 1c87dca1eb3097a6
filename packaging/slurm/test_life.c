// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Tests of a job's life on one node, with made-up control groups and a command that notes how it is called: `make check`.
 * That Slurm calls the parts in this order is what the test on a cluster shows (node/tests/slurm.rs).
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "file.h"
#include "job.h"
#include "log.h"
#include "record.h"
#include "task.h"
#include "test.h"

#define SCOPE "/sys/fs/cgroup/system.slice/n1_slurmstepd.scope"
#define JOB 7
#define BEGIN "job begin 7 --user 1000 --cpus "
#define GROUP " --cgroup /system.slice/n1_slurmstepd.scope/job_7"

static int complaints;

void slurm_error(const char *format, ...)
{
	(void)format;
	complaints++;
}

/* Notes its words, and obeys the file of the name `behave`: a script for it. */
static const char COMMAND[] =
	"#!/bin/sh\n"
	"root=${0%/*}\n"
	"echo \"$@\" >>$root/calls\n"
	"[ ! -e $root/behave ] || . $root/behave\n";

/* A file below the root of the tests, with the folders above it. */
static void put(const char *path, const char *text)
{
	char folder[512];
	const char *slash;

	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		file_make_folder(folder);
	}
	EXPECT(file_write_line(path, text));
}

static void behave(const char *script)
{
	put("/behave", script);
}

/* Were the calls since the last question these, one a line? */
static bool called(const char *expected)
{
	char calls[4096] = "";
	FILE *file = fopen(FILE_ROOT "/calls", "r");

	if (file) {
		calls[fread(calls, 1, sizeof(calls) - 1, file)] = 0;
		fclose(file);
	}
	file_remove("/calls");
	if (strcmp(calls, expected))
		fprintf(stderr, "called:\n%sinstead of:\n%s", calls, expected);
	return !strcmp(calls, expected);
}

static void forget_calls(void)
{
	file_remove("/calls");
}

static void be_in(const char *step)
{
	char line[256];

	snprintf(line, sizeof(line), "0::/system.slice/n1_slurmstepd.scope/job_7/%s", step);
	put("/proc/self/cgroup", line);
}

static void begin_with(const char *cpus, const char *settings)
{
	put(SCOPE "/job_7/cpuset.cpus", cpus);
	be_in("step_extern/slurm");
	EXPECT(job_want(JOB, RUNG_PARTITION, settings));
	job_begin(JOB, 1000, 0);
}

static const char *refusal(void)
{
	static char why[512];

	return task_await_job(JOB, RUNG_PARTITION, why, sizeof(why)) ? "" : why;
}

static void all_cpus_but_the_first_join(void)
{
	EXPECT(!job_is_wanted(JOB) && strstr(refusal(), "job 7 began without --tacet"));
	begin_with("0-2", NULL);
	EXPECT(called(BEGIN "1-2" GROUP "\n") && !*refusal());
	job_end(JOB);
	EXPECT(called("job end 7 --keep-cpus\n") && !job_is_wanted(JOB));
	job_end(JOB);
	EXPECT(called("job end 7 --keep-cpus\n") && !complaints);
	begin_with("1,3-5", "memory=2G,linux-cpus=2");
	EXPECT(called(BEGIN "4-5" GROUP " --memory 2G\n") && !*refusal());
	job_end(JOB);
	forget_calls();
}

static void linux_keeps_whole_cores(void)
{
	put("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2");
	begin_with("0-3", "");
	EXPECT(called(BEGIN "1,3" GROUP "\n"));
	begin_with("0,2", "");
	EXPECT(called("") && strstr(refusal(), "the job has 2 CPUs on this node and Linux keeps 1"));
	file_remove("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
	job_end(JOB);
	forget_calls();
}

static void cpus_of_an_earlier_job_are_taken_or_given_back(void)
{
	put("/sys/devices/system/cpu/present", "0-5");
	put("/sys/devices/system/cpu/online", "0,3-5");
	begin_with("0-2", NULL);
	EXPECT(called(BEGIN "1-2" GROUP "\n") && !*refusal());
	job_end(JOB);
	forget_calls();
	/* Linux keeps a CPU that it has, and gets back those that the job leaves */
	begin_with("1-3", NULL);
	EXPECT(called(BEGIN "1-2" GROUP "\n"));
	job_end(JOB);
	forget_calls();
	begin_with("1-2", NULL);
	EXPECT(called("job release --cpus 1-2\njob release --cpus 1\n" BEGIN "2" GROUP "\n"));
	job_end(JOB);
	forget_calls();
	put(SCOPE "/job_7/cpuset.cpus", "0-2");
	EXPECT(job_want(JOB, RUNG_TUNE, NULL));
	job_begin(JOB, 1000, 0);
	EXPECT(called("job release --cpus 1-2\ntune job begin 7 --cpus 1-2 --without partition\n"));
	job_end(JOB);
	forget_calls();
	/* a job without an option, in a step that starts before the job has its CPUs, and on CPUs that Linux has */
	be_in("step_0/slurm");
	job_reclaim();
	EXPECT(called("job release --cpus 1-2\n"));
	put(SCOPE "/job_7/cpuset.cpus", "3");
	job_reclaim();
	EXPECT(called(""));
	put("/sys/devices/system/cpu/online", "0-5");
	put(SCOPE "/job_7/cpuset.cpus", "");
	job_reclaim();
	EXPECT(called(""));
	file_remove("/sys/devices/system/cpu/online");
}

static void a_job_that_cannot_begin_is_refused(void)
{
	complaints = 0;
	begin_with("3", "");
	EXPECT(called("") && !strcmp(refusal(), "the job has 1 CPU on this node and Linux keeps 1: ask for more (-c)"));
	begin_with("", "");
	EXPECT(called("") && strstr(refusal(), "ConstrainCores=yes"));
	begin_with("0-2", "memory=$(id)");
	EXPECT(called("") && strstr(refusal(), "it is not a size"));
	behave("echo 'tacet: a note' >&2; echo 'tacet: partition: none is up; start one' >&2; exit 3");
	begin_with("0-2", "");
	EXPECT(called(BEGIN "1-2" GROUP "\n") && !strcmp(refusal(), "partition: none is up; start one"));
	behave("kill -9 $$");
	begin_with("0-2", "");
	EXPECT(strstr(refusal(), "job: it failed and said nothing"));
	command_path = FILE_ROOT "/nothing";
	begin_with("0-2", "");
	EXPECT(strstr(refusal(), "/nothing: No such file or directory") && complaints == 6);
	command_path = FILE_ROOT "/tacet";
	put("/proc/self/cgroup", "9:cpuset:/slurm/job_7/step_extern");
	EXPECT(job_want(JOB, RUNG_PARTITION, ""));
	job_begin(JOB, 1000, 0);
	EXPECT(strstr(refusal(), "no control group of version 2"));
	/* the epilog was faster */
	job_end(JOB);
	job_begin(JOB, 1000, 0);
	put("/run/tacet/slurm/7.wanted", "tacet linux-cpus=1");
	EXPECT(!strcmp(refusal(), "it could not read its own record"));
	/* Slurm gives it the same number when it is requeued */
	file_remove("/behave");
	forget_calls();
	begin_with("0-2", "");
	EXPECT(called(BEGIN "1-2" GROUP "\n") && !*refusal());
	job_end(JOB);
	forget_calls();
}

static void a_begin_waits_for_the_job_before(void)
{
	behave("[ $2 = sweep ] || [ -e $root/twice ] || { [ -e $root/once ] && : >$root/twice; : >$root/once;"
	       " echo 'tacet: CPU 1: job 6 has it; see `tacet job list`' >&2; exit 1; }");
	begin_with("0-1", "");
	EXPECT(called(BEGIN "1" GROUP "\njob sweep\n" BEGIN "1" GROUP "\n" BEGIN "1" GROUP "\n") && !*refusal());
	file_remove("/behave");
	job_end(JOB);
	forget_calls();
}

static void a_job_that_ended_meanwhile_is_ended_again(void)
{
	behave("[ $2 != begin ] || rm $root/run/tacet/slurm/7.wanted");
	begin_with("0-1", "");
	EXPECT(called(BEGIN "1" GROUP "\njob end 7 --keep-cpus\n"));
	file_remove("/behave");
}

/* The epilogue was killed, or is under way in another process. */
static void an_end_that_was_cut_off_is_finished_by_the_next_job(void)
{
	char line[512];
	int lock;

	begin_with("0-2", "");
	forget_calls();
	record_ends(JOB);
	EXPECT(!job_is_wanted(JOB) && job_is_to_end(JOB) && record_read(JOB, RECORD_BEGUN, line, sizeof(line)));
	lock = record_try_lock_ending(JOB);
	EXPECT(lock >= 0);
	job_finish_ends();
	EXPECT(called("") && job_is_to_end(JOB));
	close(lock);
	job_finish_ends();
	EXPECT(called("job end 7 --keep-cpus\n") && !job_is_to_end(JOB));
	EXPECT(!record_read(JOB, RECORD_BEGUN, line, sizeof(line)));
	job_finish_ends();
	EXPECT(called(""));
	/* by its rung; and slurmd itself calls an epilogue again */
	EXPECT(job_want(JOB, RUNG_TUNE, NULL));
	record_ends(JOB);
	job_finish_ends();
	EXPECT(called("tune job end 7\n"));
	EXPECT(job_want(JOB, RUNG_TUNE, NULL));
	record_ends(JOB);
	job_end(JOB);
	EXPECT(called("tune job end 7\n") && !job_is_to_end(JOB));
}

static void steps_have_their_own_part(void)
{
	struct settings settings = { .rung = RUNG_PARTITION };
	const char *words[TASK_WORDS];

	begin_with("0-4", "");
	be_in("step_0/user/task_0");
	put(SCOPE "/job_7/step_0/cpuset.cpus", "0-4");
	EXPECT(task_words(JOB, &settings, words) == 3 && !strcmp(words[1], "run") && !strcmp(words[2], "--") && !words[3]);
	put(SCOPE "/job_7/step_0/cpuset.cpus", "0-2");
	strcpy(settings.bind, "scatter");
	EXPECT(task_words(JOB, &settings, words) == 7 && !strcmp(words[2], "--cpus") && !strcmp(words[3], "1-2"));
	EXPECT(!strcmp(words[4], "--bind") && !strcmp(words[5], "scatter") && !strcmp(words[6], "--") && !words[7]);
	put(SCOPE "/job_7/step_0/cpuset.cpus", "0");
	settings.bind[0] = 0;
	EXPECT(task_words(JOB, &settings, words) == 3);
	/* Slurm 24.11 */
	put(SCOPE "/job_7/step_0/cpuset.cpus", "");
	put(SCOPE "/job_7/step_0/user/cpuset.cpus", "2-3");
	put(SCOPE "/job_7/step_0/user/task_0/cpuset.cpus", "");
	EXPECT(task_words(JOB, &settings, words) == 5 && !strcmp(words[3], "2-3"));
	job_end(JOB);
	forget_calls();
}

static void the_memory_that_slurm_gives_is_the_limit(void)
{
	put(SCOPE "/job_7/cpuset.cpus", "0-1");
	be_in("step_extern/slurm");
	EXPECT(job_want(JOB, RUNG_PARTITION, ""));
	job_begin(JOB, 1000, 300);
	EXPECT(called(BEGIN "1" GROUP " --memory 300M\n") && !*refusal());
	job_end(JOB);
	forget_calls();
	behave("[ \"${10}\" != --memory ] ||"
	       " { echo 'tacet: job 7: programs can have 128 MiB, of which other jobs have 0 MiB' >&2; exit 1; }");
	EXPECT(job_want(JOB, RUNG_PARTITION, ""));
	job_begin(JOB, 1000, 300);
	EXPECT(called(BEGIN "1" GROUP " --memory 300M\n" BEGIN "1" GROUP "\n") && !*refusal());
	job_end(JOB);
	forget_calls();
	/* what the user asks for is no wish */
	behave("[ $2 != begin ] || { echo 'tacet: job 7: programs can have 128 MiB' >&2; exit 1; }");
	EXPECT(job_want(JOB, RUNG_PARTITION, "memory=1G"));
	job_begin(JOB, 1000, 300);
	EXPECT(called(BEGIN "1" GROUP " --memory 1G\n") && strstr(refusal(), "programs can have"));
	file_remove("/behave");
	job_end(JOB);
	forget_calls();
}

static void a_quiet_job_is_undone_by_name(void)
{
	char why[512];

	put(SCOPE "/job_7/cpuset.cpus", "0-2");
	be_in("step_extern/slurm");
	behave("exit 1");
	EXPECT(job_want(JOB, RUNG_TUNE, NULL));
	job_begin(JOB, 1000, 300);
	EXPECT(called("tune job begin 7 --cpus 1-2 --without partition\n"));
	EXPECT(task_await_job(JOB, RUNG_TUNE, why, sizeof(why)));
	EXPECT(!task_await_job(JOB, RUNG_PARTITION, why, sizeof(why)) && strstr(why, "began with --tacet-tune"));
	file_remove("/behave");
	job_end(JOB);
	EXPECT(called("tune job end 7\n") && !job_is_wanted(JOB));
	behave("[ $3 != begin ] || { echo 'tacet tune: no' >&2; exit 2; }");
	EXPECT(job_want(JOB, RUNG_TUNE, NULL));
	job_begin(JOB, 1000, 0);
	EXPECT(!task_await_job(JOB, RUNG_TUNE, why, sizeof(why)) && !strcmp(why, "tacet tune: no"));
	file_remove("/behave");
	job_end(JOB);
	forget_calls();
}

static void the_last_job_unloads_the_class_that_the_first_has_loaded(void)
{
	char why[512];

	EXPECT(job_want(JOB, RUNG_SCHED, ""));
	EXPECT(called("sched start\n"));
	behave("[ $2 != start ] || { echo 'tacet sched: HPL is loaded already; stop it' >&2; exit 1; }");
	EXPECT(job_want(JOB + 1, RUNG_SCHED, "") && !record_read(JOB + 1, RECORD_REFUSED, why, sizeof(why)));
	forget_calls();
	job_end(JOB);
	EXPECT(called(""));
	job_end(JOB + 1);
	EXPECT(called("sched stop\n"));
	/* the site's own stays */
	EXPECT(job_want(JOB, RUNG_SCHED, ""));
	forget_calls();
	job_end(JOB);
	EXPECT(called(""));
	behave("echo 'tacet sched: no sched_ext' >&2; exit 3");
	EXPECT(job_want(JOB, RUNG_SCHED, "") && !task_await_job(JOB, RUNG_SCHED, why, sizeof(why)));
	EXPECT(!strcmp(why, "tacet sched: no sched_ext"));
	file_remove("/behave");
	job_end(JOB);
	forget_calls();
}

void test_life(void)
{
	EXPECT(file_make_folder("/run"));
	put("/tacet", COMMAND);
	EXPECT(!chmod(FILE_ROOT "/tacet", 0755));
	command_path = FILE_ROOT "/tacet";
	all_cpus_but_the_first_join();
	linux_keeps_whole_cores();
	cpus_of_an_earlier_job_are_taken_or_given_back();
	a_job_that_cannot_begin_is_refused();
	a_begin_waits_for_the_job_before();
	a_job_that_ended_meanwhile_is_ended_again();
	an_end_that_was_cut_off_is_finished_by_the_next_job();
	steps_have_their_own_part();
	the_memory_that_slurm_gives_is_the_limit();
	a_quiet_job_is_undone_by_name();
	the_last_job_unloads_the_class_that_the_first_has_loaded();
}
