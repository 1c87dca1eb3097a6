// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * One round of each disturbance of load.c. Must never touch anything that outlives load_restore().
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

#define PIECE (64 << 10)
#define TRACING "/sys/kernel/tracing"

static bool put(const char *path, const char *text)
{
	int file = open(path, O_WRONLY);
	bool good = file >= 0 && write(file, text, strlen(text)) > 0;

	if (file >= 0)
		close(file);
	return good;
}

static bool run(char *const argv[])
{
	int status = 1;
	pid_t child = fork();

	if (!child) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

static void *map_and_unmap(void *unused)
{
	for (int round = 0; round < 4; round++) {
		char *piece = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (piece == MAP_FAILED)
			break;
		for (int at = 0; at < PIECE; at += 4096)
			piece[at] = 1;
		mprotect(piece, PIECE / 2, PROT_READ);
		munmap(piece, PIECE);
	}
	return unused;
}

bool mmap_threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, map_and_unmap, NULL))
			return false;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return true;
}

bool membarrier_all(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

bool fork_exec(void)
{
	char *const program[] = { "true", NULL };

	return run(program);
}

bool file_writes(void)
{
	char path[256], block[4096];
	int file;

	memset(block, 1, sizeof(block));
	snprintf(path, sizeof(path), "%s/load.%d", load_directory, getpid());
	file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	for (int i = 0; i < 256; i++)
		if (write(file, block, sizeof(block)) < 0)
			break;
	fdatasync(file);
	close(file);
	return !unlink(path);
}

bool timers(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	struct itimerspec when = { .it_value.tv_nsec = 100000 };
	struct timespec nap = { .tv_nsec = 200000 };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		return false;
	timer_settime(timer, 0, &when, NULL);
	nanosleep(&nap, NULL);
	return !timer_delete(timer);
}

bool module_cycle(void)
{
	char path[256];
	int file;
	bool good;

	snprintf(path, sizeof(path), "%s/%s.ko", load_directory, load_module);
	file = open(path, O_RDONLY);
	good = file >= 0 && !syscall(SYS_finit_module, file, "", 0);
	if (file >= 0)
		close(file);
	return good && !syscall(SYS_delete_module, load_module, O_NONBLOCK);
}

bool tracepoint(void)
{
	return put(TRACING "/events/sched/sched_switch/enable", "1") &&
	       put(TRACING "/events/sched/sched_switch/enable", "0");
}

bool all_cpus_work(void)
{
	int file = open("/proc/sys/vm/stat_refresh", O_RDWR);
	char byte;
	bool good = file >= 0 && read(file, &byte, 1) >= 0;

	if (file >= 0)
		close(file);
	return good;
}

bool drop_caches(void)
{
	return put("/proc/sys/vm/drop_caches", "3");
}

bool compaction(void)
{
	return put("/proc/sys/vm/compact_memory", "1");
}

void load_restore(void)
{
	put(TRACING "/events/sched/sched_switch/enable", "0");
	syscall(SYS_delete_module, load_module, O_NONBLOCK);
}
