/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A thread runs over the end of its stack: the guard below it ends the process. */
#include <pthread.h>

#include "../../user/check.h"

static volatile int depth;

__attribute__((noinline)) static int deeper(int level)
{
	volatile char room[1024];

	room[level % 1024] = (char)level;
	depth = level;
	return level < (1 << 30) ? deeper(level + 1) + room[(level + 1) % 1024] : 0;
}

static void *run_over(void *argument)
{
	(void)argument;
	return (void *)(long)deeper(0);
}

int main(void)
{
	pthread_t thread;

	say("over the end\n");
	CHECK(pthread_create(&thread, NULL, run_over, NULL) == 0);
	pthread_join(thread, NULL);
	say("not reached\n");
	return 0;
}
