/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * named: memory of two programs, of which one gives its range's number away.
 *
 * named waits	a thread waits on its core while another one makes the range Linux's memory. When the program is told to
 *		(a line), the thread goes on and asks for memory.
 * named checks	has memory, until its input ends, in which nobody else may write
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MIB (1ul << 20)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int go;

static void check(int good, const char *what)
{
	if (good)
		return;
	printf("%s\n", what);
	exit(1);
}

static char *map(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED, "mmap");
	return p;
}

static int all(const char *p, size_t bytes, char value)
{
	return p[0] == value && !memcmp(p, p + 1, bytes - 1);
}

static void *ask_for_memory(void *unused)
{
	char *pages[8];

	pthread_mutex_lock(&mutex);
	while (!go)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 8; i++) {
		pages[i] = map(MIB);
		check(all(pages[i], MIB, 0), "new memory is not empty");
		memset(pages[i], i + 1, MIB);
	}
	for (int i = 0; i < 8; i++)
		check(all(pages[i], MIB, i + 1) && munmap(pages[i], MIB) == 0, "memory is another's");
	return unused;
}

/* All calls of this thread go to Linux from here on, and so does its process's memory. */
static void filter_own_calls(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog filter = { .len = 1, .filter = &allow };

	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0,
	      "no filter");
}

static void waits(void)
{
	char *before = memset(map(8 * MIB), 1, 8 * MIB);
	pthread_t thread;

	check(pthread_create(&thread, NULL, ask_for_memory, NULL) == 0, "no thread");
	usleep(300000);	/* until it waits; if it does not yet, that is right too */
	filter_own_calls();
	puts("filtered");
	getchar();
	pthread_mutex_lock(&mutex);
	go = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
	check(pthread_join(thread, NULL) == 0 && all(before, 8 * MIB, 1), "memory is not what it was");
}

static void checks(void)
{
	char *mine = memset(map(8 * MIB), 5, 8 * MIB);

	puts("mapped");
	while (getchar() != EOF) {
		char *more = map(MIB);

		check(all(mine, 8 * MIB, 5), "another wrote into my memory");
		check(all(more, MIB, 0), "new memory is not empty");
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	setlinebuf(stdout);
	if (!strcmp(argv[1], "waits"))
		waits();
	else
		checks();
	puts("done");
	return 0;
}
