// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * thief CPU: makes noise on purpose, for noise.sh. Goes to CPU with a real-time priority
 * and obeys each byte of its input:
 *   w  computes for a while
 *   l  computes for long (some 500 ms, which no host should keep a node waiting)
 *   m  goes to CPU 0 and back
 * Writes one byte for each obeyed byte. So a trace of CPU must find it there once for
 * each w and l, and see it arrive once for each m.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void go(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("thief: sched_setaffinity");
		exit(1);
	}
}

static void compute(long microseconds)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < microseconds);
}

int main(int argc, char **argv)
{
	struct sched_param parameters = { .sched_priority = 10 };
	int cpu = argc == 2 ? atoi(argv[1]) : -1;
	char what;

	if (cpu < 0)
		return 2;
	go(cpu);
	if (sched_setscheduler(0, SCHED_FIFO, &parameters)) {
		perror("thief: sched_setscheduler");
		return 1;
	}
	while (read(STDIN_FILENO, &what, 1) == 1) {
		if (what == 'm') {
			go(0);
			go(cpu);
		} else {
			compute(what == 'l' ? 500000 : 300);
		}
		if (write(STDOUT_FILENO, &what, 1) != 1)
			return 1;
	}
	return 0;
}
