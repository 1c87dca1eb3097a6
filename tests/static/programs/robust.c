/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Robust mutexes in the memory that the processes of a node share: the second process dies with some, by exit_group(2)
 * or of a signal, and threads of the first one that wait for them get them. The argument says how it dies.
 */
#include <pthread.h>

#include "../../user/check.h"

#define MUTEXES 3
#define WAITERS 0x80000000u

struct shared {
	pthread_mutex_t mutexes[MUTEXES];
	/* The ids of all threads: first those of the first process. */
	int ids[2][2];
	int ready, locked;
};

static struct shared *shared;

/* The static map has a line for it: the address, and the name at the end. */
static struct shared *find_shared(void)
{
	FILE *map = fopen("/proc/self/map", "r");
	char line[200];

	CHECK(map != NULL);
	while (fgets(line, sizeof(line), map) != NULL)
		if (strstr(line, " shared") != NULL)
			return (struct shared *)strtoul(line, NULL, 0);
	return NULL;
}

static void introduce(int process, int thread)
{
	store(&shared->ids[process][thread], (int)syscall(SYS_gettid));
}

static void lock(int number, int expected)
{
	pthread_mutex_t *mutex = &shared->mutexes[number];

	CHECK(pthread_mutex_lock(mutex) == expected);
	if (expected == EOWNERDEAD) {
		CHECK(pthread_mutex_consistent(mutex) == 0);
		CHECK(pthread_mutex_unlock(mutex) == 0);
	}
}

static void *wait_for_second(void *unused)
{
	introduce(0, 1);
	lock(1, EOWNERDEAD);
	return unused;
}

static void survive(void)
{
	pthread_mutexattr_t attributes;
	pthread_t thread;

	CHECK(pthread_mutexattr_init(&attributes) == 0);
	CHECK(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
	CHECK(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
	for (int number = 0; number < MUTEXES; number++)
		CHECK(pthread_mutex_init(&shared->mutexes[number], &attributes) == 0);
	introduce(0, 0);
	store(&shared->ready, 1);
	wait_until(load(&shared->locked) == MUTEXES);
	CHECK(pthread_create(&thread, NULL, wait_for_second, NULL) == 0);
	lock(0, EOWNERDEAD);
	CHECK(pthread_join(thread, NULL) == 0);
	/* Nobody waited for this one. */
	lock(2, EOWNERDEAD);
	for (int one = 0; one < 4; one++)
		for (int other = 0; other < one; other++)
			CHECK(shared->ids[one / 2][one % 2] != shared->ids[other / 2][other % 2]);
	say("dead owners\n");
}

static void *hold_two(void *unused)
{
	introduce(1, 1);
	lock(2, 0);
	lock(1, 0);
	add(&shared->locked, 2);
	for (;;)
		pause();
	return unused;
}

static int is_waited_for(int number)
{
	return (load(&shared->mutexes[number].__data.__lock) & WAITERS) != 0;
}

static void die(const char *way)
{
	pthread_t thread;

	wait_until(load(&shared->ready));
	introduce(1, 0);
	CHECK(pthread_create(&thread, NULL, hold_two, NULL) == 0);
	lock(0, 0);
	add(&shared->locked, 1);
	wait_until(is_waited_for(0) && is_waited_for(1));
	if (strcmp(way, "exit") == 0)
		_exit(0);
	kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
	const char *rank = getenv("TACET_RANK");

	CHECK(argc > 1 && rank != NULL);
	shared = find_shared();
	CHECK(shared != NULL);
	if (atoi(rank) == 0)
		survive();
	else
		die(argv[1]);
	return 0;
}
