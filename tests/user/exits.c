/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Ends of threads and processes while others compute, block or wait for them. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>

static int running, go;
static uint64_t *alive;	/* counts while a computing thread lives */

static void *compute(void *unused)
{
	add(&running, 1);
	for (;;)
		add(alive, 1);
	return unused;
}

static void *block(void *unused)
{
	add(&running, 1);
	for (;;)
		pause();
	return unused;
}

static void start(int computing, int blocking)
{
	pthread_t thread;

	store(&running, 0);
	for (int i = 0; i < computing; i++)
		CHECK(!pthread_create(&thread, NULL, compute, NULL));
	for (int i = 0; i < blocking; i++)
		CHECK(!pthread_create(&thread, NULL, block, NULL));
	wait_until(load(&running) == computing + blocking);
}

static void exit_from_main(void)
{
	start(spinners(3), 5);
	_exit(7);
}

static void *exit_all(void *unused)
{
	wait_until(load(&go));
	_exit(8);
	return unused;
}

static void exit_from_thread(void)
{
	pthread_t thread;

	start(spinners(2), 3);
	CHECK(!pthread_create(&thread, NULL, exit_all, NULL));
	store(&go, 1);
	for (;;)
		pause();
}

static void main_spins_while_thread_exits(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, exit_all, NULL));
	store(&go, 1);
	for (;;)
		;
}

static int main_is_gone(void)
{
	char text[256] = { 0 };
	int fd = open("/proc/self/stat", O_RDONLY);

	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && close(fd) == 0);
	return strrchr(text, ')')[2] == 'Z';
}

static void *last_one(void *unused)
{
	wait_until(main_is_gone());
	syscall(SYS_exit, 13);
	return unused;
}

/* The leader of the group ends first; the process lives on and ends with the last thread. */
static void main_ends_first(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, last_one, NULL));
	syscall(SYS_exit, 14);
}

static void main_leaves_pthreads(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, last_one, NULL));
	pthread_exit(NULL);
}

static void abort_beside_siblings(void)
{
	start(spinners(2), 2);
	abort();
}

static void *fault(void *unused)
{
	*(volatile int *)wild(8) = 1;
	return unused;
}

static void fault_in_thread(void)
{
	pthread_t thread;

	start(spinners(2), 2);
	CHECK(!pthread_create(&thread, NULL, fault, NULL));
	for (;;)
		pause();
}

static void exit_in_handler_fn(int sig)
{
	_exit(sig);
}

static void exit_in_handler(void)
{
	struct sigaction sa = { .sa_handler = exit_in_handler_fn };

	CHECK(sigaction(SIGALRM, &sa, NULL) == 0);
	start(spinners(2), 1);
	ualarm(2000, 0);
	for (;;)
		;
}

static void all_exit_at_once(void)
{
	pthread_t thread;

	for (int i = 0; i < 8; i++)
		CHECK(!pthread_create(&thread, NULL, exit_all, NULL));
	store(&go, 1);
	_exit(8);
}

/* After a process is reaped, none of its threads runs any more. */
static void gone(void)
{
	uint64_t last = load(alive);

	sleep_ms(2);
	CHECK(load(alive) == last);
}

static void atexit_line(void)
{
	say("handlers of exit run\n");
}

static void ordinary_exit(void)
{
	CHECK(atexit(atexit_line) == 0);
	exit(5);
}

int main(void)
{
	static const struct { void (*run)(void); int code, sig; const char *what; } cases[] = {
		{ exit_from_main, 7, 0, "main exits" },
		{ exit_from_thread, 8, 0, "a thread exits for all" },
		{ main_spins_while_thread_exits, 8, 0, "a thread exits for a spinning main" },
		{ main_ends_first, 13, 0, "main ends first" },
		{ main_leaves_pthreads, 13, 0, "main leaves its threads" },
		{ abort_beside_siblings, 0, SIGABRT, "abort" },
		{ fault_in_thread, 0, SIGSEGV, "a fault in a thread" },
		{ exit_in_handler, SIGALRM, 0, "exit in a handler" },
		{ all_exit_at_once, 8, 0, "all exit at once" },
		{ ordinary_exit, 5, 0, "exit" },
	};

	alive = shared_memory(4096);
	for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++)
		for (int again = 0; is_chosen(cases[i].what) && again < (cases[i].code == 5 ? 1 : 4); again++) {
			int status = child_status(cases[i].run);

			CHECK(cases[i].sig ? killed_by(status, cases[i].sig) : exited_with(status, cases[i].code));
			gone();
			if (!again)
				say("%s\n", cases[i].what);
		}
	return 0;
}
