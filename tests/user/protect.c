/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Write access is removed while a thread stores in user mode: after the call
 * returns no further store may succeed, and the fault must report the truth.
 */
#include "check.h"

#include <pthread.h>

#define PAGE 4096L
#define ROUNDS 50

static volatile uint64_t *page;
static uint64_t stores;		/* by the worker, in its own memory */
static int faults;		/* by the worker's handler, on entry */
static int resume;		/* by main: the handler of this fault may return */
static int want_signal, want_code, wrong, stop;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	int mine = load(&faults) + 1;

	(void)context;
	if (sig != want_signal || info->si_code != want_code || info->si_addr != (void *)page)
		store(&wrong, 1);
	store(&faults, mine);
	wait_until(load(&resume) >= mine);
}

static void *worker(void *write)
{
	while (!load(&stop)) {
		if (write)
			(*page)++;
		else
			(void)*page;
		add(&stores, 1);
	}
	return NULL;
}

static pthread_t start(void *write, int sig, int code)
{
	pthread_t thread;

	stop = faults = resume = 0;
	want_signal = sig;
	want_code = code;
	CHECK(!pthread_create(&thread, NULL, worker, write));
	return thread;
}

static void let_it_work(void)
{
	uint64_t since = load(&stores);

	wait_until(load(&stores) >= since + 2);
}

static void finish(pthread_t thread, const char *what)
{
	store(&stop, 1);
	CHECK(!pthread_join(thread, NULL) && !wrong);
	say("%s\n", what);
}

static void written_while_protected(void)
{
	pthread_t thread = start((void *)1, SIGSEGV, SEGV_ACCERR);

	for (int i = 1; i <= ROUNDS; i++) {
		uint64_t frozen;

		let_it_work();
		CHECK(mprotect((void *)page, PAGE, PROT_READ) == 0);
		frozen = *page;
		wait_until(load(&faults) == i);
		CHECK(*page == frozen && !wrong);
		CHECK(mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE) == 0);
		store(&resume, i);
	}
	finish(thread, "no store after write protection");
}

static void read_while_unmapped(void)
{
	pthread_t thread = start(NULL, SIGSEGV, SEGV_MAPERR);

	for (int i = 1; i <= ROUNDS; i++) {
		let_it_work();
		CHECK(munmap((void *)page, PAGE) == 0);
		wait_until(load(&faults) == i);
		CHECK(!wrong);
		CHECK(mmap((void *)page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (void *)page);
		store(&resume, i);
	}
	finish(thread, "no load after unmapping");
}

static void read_while_truncated(void)
{
	int fd = memfd_create("shrinks", 0);
	pthread_t thread;

	CHECK(ftruncate(fd, PAGE) == 0);
	CHECK(mmap((void *)page, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == (void *)page);
	thread = start(NULL, SIGBUS, BUS_ADRERR);
	for (int i = 1; i <= ROUNDS; i++) {
		let_it_work();
		CHECK(ftruncate(fd, 0) == 0);
		wait_until(load(&faults) == i);
		CHECK(!wrong && ftruncate(fd, PAGE) == 0);
		store(&resume, i);
	}
	finish(thread, "no load after truncation");
}

/* After fork the parent's pages are shared with the child until written. */
static void written_while_forked(void)
{
	uint64_t *progress = shared_memory(PAGE);
	pthread_t thread;
	int status;

	CHECK(mmap((void *)page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (void *)page);
	thread = start((void *)1, 0, 0);
	for (int i = 0; i < 15; i++) {
		pid_t pid;

		let_it_work();
		pid = fork();
		if (pid == 0) {
			uint64_t mine = *page;

			wait_until(load(progress) > (uint64_t)i);
			CHECK(*page == mine);
			*page = mine + 1000000000;
			_exit(0);
		}
		let_it_work();
		store(progress, i + 1);
		CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 0));
		CHECK(*page < 1000000000);
	}
	finish(thread, "a child keeps the memory of the moment of fork");
}

int main(void)
{
	on_signal(SIGSEGV, on_fault, 0);
	on_signal(SIGBUS, on_fault, 0);
	page = (void *)private_pages(1);
	PART(written_while_protected);
	PART(read_while_unmapped);
	PART(read_while_truncated);
	PART(written_while_forked);
	return 0;
}
