/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * fuzz IMAGE CASES SEED [UID]: sends hostile requests to the module from four
 * threads at once, as root or as UID. Their subjects are programs that are
 * hosted, on Linux, ended, or another user's. The same seed makes the same cases
 * in each thread; the interleaving depends on the machine. Every answer must be
 * success or an errno; the caller checks the node's health afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

#define THREADS 4

pid_t targets[MAX_TARGETS];
int target_count;
char image[1 << 20];
size_t image_bytes;
static long cases_each;
static uint64_t seed;
static unsigned long answers[THREADS][4096];

/* A program as the subject of requests: it computes, makes calls, or has several threads. */
static void *on_and_on(void *calls)
{
	volatile unsigned long count = 0;

	for (;;) {
		count++;
		if (calls)
			getppid();
		else if (count % 1000 == 0)
			sched_yield();
	}
	return calls;
}

static pid_t target(int kind)
{
	pthread_t thread;
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It must leave Linux's CPUs to the fuzzer. */
	if (nice(19) == -1 && errno)
		_exit(1);
	if (kind == 2)
		pthread_create(&thread, NULL, on_and_on, NULL);
	if (kind == 3)
		for (;;)
			pause();
	on_and_on(kind == 1 ? &kind : NULL);
	return 0;
}

static void make_targets(pid_t stranger)
{
	for (int i = 0; i < 4; i++)
		targets[target_count++] = target(i);
	targets[target_count++] = stranger;
	targets[target_count++] = getppid();
	targets[target_count++] = 1;
	targets[target_count++] = 2;
	targets[target_count++] = getpid();
}

static void read_image(const char *path)
{
	int file = open(path, O_RDONLY);
	ssize_t bytes = read(file, image, sizeof(image));

	if (bytes <= 0) {
		printf("fail: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	image_bytes = bytes;
	close(file);
}

static void *work(void *argument)
{
	long me = (long)argument;
	struct source source = { .state = (seed + me * 0x9e3779b97f4a7c15ull) | 1 };
	int door = open("/dev/tacet", O_RDWR | O_CLOEXEC);

	for (long i = 0; i < cases_each; i++) {
		int answer = one_in(&source, 8) ? hostile_file(&source) : hostile_request(&source, door);

		if (answer < 0 || answer >= 4096) {
			printf("fail: case %ld of thread %ld: answer %d\n", i, me, answer);
			exit(1);
		}
		answers[me][answer]++;
	}
	return NULL;
}

static void report(void)
{
	unsigned long all = 0;

	printf("note: %ld cases, seed %lu:", cases_each * THREADS, seed);
	for (int answer = 0; answer < 4096; answer++) {
		unsigned long sum = 0;

		for (int i = 0; i < THREADS; i++)
			sum += answers[i][answer];
		all += sum;
		/* User space must not see errnos from 512 on. */
		if (sum && answer >= 512)
			printf("\nfail: %lu answers %d", sum, answer);
		else if (sum)
			printf(" %s %lu", answer ? strerrorname_np(answer) : "ok", sum);
	}
	printf("\n");
	if (all != (unsigned long)cases_each * THREADS)
		printf("fail: %lu answers\n", all);
}

int main(int count, char **words)
{
	pid_t stranger = target(0);
	pthread_t threads[THREADS];

	if (count < 4)
		return 2;
	read_image(words[1]);
	cases_each = atol(words[2]) / THREADS;
	seed = strtoull(words[3], NULL, 0);
	printf("seed %lu\n", seed);
	fflush(stdout);
	if (count > 4 && (setgid(atoi(words[4])) || setuid(atoi(words[4])))) {
		printf("fail: cannot become user %s\n", words[4]);
		return 1;
	}
	make_targets(stranger);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		kill(targets[i], SIGKILL);
	report();
	return 0;
}
