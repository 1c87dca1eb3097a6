/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * spends [wait]: makes a known number of calls and faults of each kind, in two threads, so
 * that its profile can be checked exactly. With `wait` it then waits for a signal.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { FORWARDED = 1000, LOCAL = 500, BRIEF = 30, LONG = 5, PAGES = 64 };

static void sleep_ns(long ns)
{
	struct timespec time = { 0, ns };

	if (nanosleep(&time, NULL))
		abort();
}

static void *spend(void *unused)
{
	char *pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || madvise(pages, PAGES * 4096, MADV_NOHUGEPAGE))
		abort();
	for (int i = 0; i < PAGES; i++)
		pages[i * 4096] = 1;
	/* a call that no shell makes */
	for (int i = 0; i < FORWARDED; i++)
		getpriority(PRIO_PROCESS, 0);
	for (int i = 0; i < LOCAL; i++)
		gettid();
	for (int i = 0; i < BRIEF; i++)
		sleep_ns(50000);
	for (int i = 0; i < LONG; i++)
		sleep_ns(2000000);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	if (pthread_create(&thread, NULL, spend, NULL))
		abort();
	spend(NULL);
	pthread_join(thread, NULL);
	while (argc > 1)
		pause();
	return 7;
}
