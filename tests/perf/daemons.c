// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Daemons: normal processes that alternately sleep and do a fixed amount of work. Pauses are random, from 0.5 to 1.5
 * times PERIOD_MS; otherwise the daemons could keep step with jobs that begin in regular intervals. They are the load
 * of the bench `sched`. They may run on every CPU.
 *
 * usage: daemons COUNT PERIOD_MS ROUNDS
 * ROUNDS of a small loop are the work between two pauses. Runs until it is killed; then its children die too.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void serve(int number, long period_ms, long rounds)
{
	unsigned short state[3] = { number };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		usleep((useconds_t)(period_ms * 1000 * (0.5 + erand48(state))));
		for (volatile long i = 0; i < rounds; i++)
			;
	}
}

int main(int argc, char **argv)
{
	int count = argc == 4 ? atoi(argv[1]) : 0;
	long period_ms = count > 0 ? atol(argv[2]) : 0, rounds = count > 0 ? atol(argv[3]) : 0;

	if (period_ms <= 0 || rounds <= 0) {
		fprintf(stderr, "usage: daemons COUNT PERIOD_MS ROUNDS\n");
		return 2;
	}
	for (int number = 0; number < count; number++)
		if (!fork())
			serve(number, period_ms, rounds);
	printf("daemons started\n");
	fflush(stdout);
	pause();
	return 0;
}
