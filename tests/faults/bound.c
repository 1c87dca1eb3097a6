/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * bound THREADS: prints the CPUs of the first thread and of THREADS further ones, created
 * one after the other; then the CPU of a thread created after the second has ended; and
 * the CPUs that all may use. Each looks after it has computed and waited beside the others.
 *
 *	may 2-3 on 3 2 3 again 2
 */
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16, TURNS = 3 };

static int cpus[MOST + 1], ended;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;

/* The caller's CPU, the same at several instants between which other threads had turns. */
static int where(void)
{
	int cpu = sched_getcpu();

	for (int turn = 0; turn < TURNS; turn++) {
		for (volatile int i = 0; i < 300000; i++)
			;
		sched_yield();
		if (sched_getcpu() != cpu)
			return -1;
	}
	return cpu;
}

static void *look(void *number)
{
	long mine = (long)number, until = mine == 1 ? 1 : 2;

	cpus[mine] = where();
	pthread_mutex_lock(&lock);
	while (ended < until)
		pthread_cond_wait(&news, &lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void end(int stage)
{
	pthread_mutex_lock(&lock);
	ended = stage;
	pthread_cond_broadcast(&news);
	pthread_mutex_unlock(&lock);
}

static pthread_t start(void *(*body)(void *), long number)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, body, (void *)number);

	if (error)
		errx(1, "thread %ld: error %d", number, error);
	return thread;
}

static void *only_look(void *number)
{
	cpus[(long)number] = where();
	return NULL;
}

static void print_mask(void)
{
	const char *before = "may ";
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		err(1, "sched_getaffinity");
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set)) {
			printf("%s%d", before, cpu);
			before = ",";
		}
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST];
	int number_of_threads = argc > 1 ? atoi(argv[1]) : 0;

	if (number_of_threads < 0 || number_of_threads >= MOST)
		errx(1, "at most %d threads", MOST - 1);
	print_mask();
	for (long i = 1; i <= number_of_threads; i++)
		threads[i] = start(look, i);
	cpus[0] = where();
	if (number_of_threads) {
		/* A new thread gets the place of one that has ended. */
		end(1);
		pthread_join(threads[1], NULL);
		pthread_join(start(only_look, MOST), NULL);
		end(2);
	}
	printf(" on");
	for (long i = 0; i <= number_of_threads; i++) {
		if (i > 1)
			pthread_join(threads[i], NULL);
		printf(" %d", cpus[i]);
	}
	if (number_of_threads)
		printf(" again %d", cpus[MOST]);
	printf("\n");
	return 0;
}
