// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Runs a command, and marks it as a region: what each CPU executes from its start to its end is counted, whoever causes it.
 *
 * usage: around COMMAND...
 * Ends with the command's status, with 125 if it could not be run.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "marker.h"

int main(int argc, char **argv)
{
	int status = 0;
	pid_t child;

	if (argc < 2) {
		fprintf(stderr, "usage: around COMMAND...\n");
		return 125;
	}
	MARK(MARK_REGION, 1);
	child = fork();
	if (!child) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(125);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0) {
		perror("around");
		return 125;
	}
	MARK(MARK_REGION_END, 1);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
