// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The tacet command, called by root in Slurm's daemons. Called by job.c.
 *
 * slurmstepd has threads and blocks signals, hence posix_spawn with its own signals. The command gets no word of a user's
 * environment.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

#ifndef TACET
#define TACET "/usr/bin/tacet"
#endif

const char *command_path = TACET;

static int start(const char *const *words, int out, pid_t *pid)
{
	static char *const environment[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int error;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, 2);
	error = posix_spawn(pid, command_path, &files, &attributes, (char *const *)words, environment);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return error;
}

/* The last line of what it says: the line of an error comes after those of notes. */
static void read_last_line(int from, char *line, size_t size)
{
	char text[1024], *last;
	size_t used = 0;
	ssize_t length;

	while (used + 1 < sizeof(text) && (length = read(from, text + used, sizeof(text) - 1 - used)) != 0) {
		if (length < 0 && errno != EINTR)
			break;
		used += length > 0 ? length : 0;
	}
	while (used && text[used - 1] == '\n')
		used--;
	text[used] = 0;
	last = strrchr(text, '\n');
	last = last ? last + 1 : text;
	if (!strncmp(last, "tacet: ", 7))
		last += 7;
	snprintf(line, size, "%s", last);
}

/*
 * The command's exit status, 0 if it was done; -1: it has none. If it is not 0, @complaint has one line. @words begins with
 * any text, and ends with NULL.
 */
int command_run(const char *const *words, char *complaint, size_t size)
{
	int pipes[2], status = 0, error;
	pid_t pid, ended;

	if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK)) {
		snprintf(complaint, size, "pipe: %s", strerror(errno));
		return -1;
	}
	error = start(words, pipes[1], &pid);
	close(pipes[1]);
	if (error) {
		close(pipes[0]);
		snprintf(complaint, size, "%s: %s", command_path, strerror(error));
		return -1;
	}
	while ((ended = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	/* A process that stays behind has the pipe open: what the command said is there, and no end of it. */
	read_last_line(pipes[0], complaint, size);
	close(pipes[0]);
	/* a thread of the daemon that waits for any child has taken its status: what it said decides */
	if (ended < 0)
		return complaint[0] ? -1 : 0;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (!complaint[0])
		snprintf(complaint, size, "%s %s: it failed and said nothing", command_path, words[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
