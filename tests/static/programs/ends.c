/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Ends as its argument says: exit NUMBER, signal NUMBER, abort, thread (of a fault there), return NUMBER. */
#include <pthread.h>

#include "../../user/check.h"

static void *fault(void *argument)
{
	*(volatile int *)argument = 1;
	return NULL;
}

static void *leave(void *argument)
{
	exit((int)(long)argument);
}

static void at_exit(void)
{
	say("at exit\n");
}

int main(int argc, char **argv)
{
	int number = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t thread;

	CHECK(argc > 1 && atexit(at_exit) == 0);
	say("%s %d\n", argv[1], number);
	if (!strcmp(argv[1], "exit"))
		exit(number);
	if (!strcmp(argv[1], "quick"))
		_exit(number);
	if (!strcmp(argv[1], "signal"))
		kill(getpid(), number);
	if (!strcmp(argv[1], "abort"))
		abort();
	if (!strcmp(argv[1], "thread"))
		CHECK(pthread_create(&thread, NULL, fault, NULL) == 0 && pthread_join(thread, NULL) == 0);
	if (!strcmp(argv[1], "leave"))
		CHECK(pthread_create(&thread, NULL, leave, (void *)(long)number) == 0 && pthread_join(thread, NULL) == 0);
	if (!strcmp(argv[1], "wait"))
		for (;;)
			pause();
	if (!strcmp(argv[1], "spin"))
		for (;;)
			;
	return number;
}
