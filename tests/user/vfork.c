/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Children that have their parent's memory (vfork, clone with CLONE_VM) and change it: what
 * they do holds for the parent. Every shell and posix_spawn() has such children, which move the
 * break when they need room for arguments.
 */
#include <pthread.h>
#include <setjmp.h>

#include "check.h"

#define PAGE 4096l
#define MIB (1l << 20)

static sigjmp_buf after_fault;

static void faulted(int signal)
{
	(void)signal;
	siglongjmp(after_fault, 1);
}

static int faults(volatile char *at, int write)
{
	volatile int did = 1;

	if (!sigsetjmp(after_fault, 1)) {
		if (write)
			*at = 1;
		else
			(void)*at;
		did = 0;
	}
	return did;
}

static char *area(long bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	memset(at, 7, bytes);
	return at;
}

/* Runs what `body` does in a child with our memory, while we wait. */
#define IN_CHILD(body) \
	do { \
		pid_t in_child = vfork(); \
		int in_status; \
		if (!in_child) { body; _exit(0); } \
		CHECK(in_child > 0 && waitpid(in_child, &in_status, 0) == in_child && in_status == 0); \
	} while (0)

static void breaks(void)
{
	static void *volatile within, *volatile grown;
	char *before = sbrk(64 * 1024), *after;

	CHECK(before != (void *)-1);
	IN_CHILD(within = sbrk(0); grown = sbrk(64 * 1024));
	CHECK(within == before + 64 * 1024 && grown == within);
	after = sbrk(64 * 1024);
	CHECK(after == before + 128 * 1024);
	memset(before, 1, 192 * 1024);
	IN_CHILD(sbrk(-64 * 1024));
	CHECK(sbrk(0) == before + 128 * 1024);
	say("a child moves the break\n");
}

static void mappings(void)
{
	static char *volatile moved;
	char *at = area(MIB);

	IN_CHILD(if (munmap(at + PAGE, PAGE)) _exit(1));
	CHECK(faults(at + PAGE, 0) && !faults(at + 2 * PAGE, 1));
	IN_CHILD(if (mprotect(at + 2 * PAGE, PAGE, PROT_READ)) _exit(1));
	CHECK(faults(at + 2 * PAGE, 1) && at[2 * PAGE] == 1);
	IN_CHILD(if (mmap(at + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
		     at + 3 * PAGE) _exit(1));
	CHECK(at[3 * PAGE] == 0 && at[4 * PAGE] == 7);
	IN_CHILD(if (madvise(at + 4 * PAGE, PAGE, MADV_DONTNEED)) _exit(1));
	CHECK(at[4 * PAGE] == 0 && at[5 * PAGE] == 7);
	IN_CHILD(moved = mremap(at + 8 * PAGE, 8 * PAGE, 64 * PAGE, MREMAP_MAYMOVE));
	CHECK(moved != MAP_FAILED && moved[0] == 7 && moved[8 * PAGE] == 0 && faults(at + 8 * PAGE, 0));
	say("a child unmaps, protects, replaces, discards and moves\n");
}

static void programs(void)
{
	static char *const arguments[] = { "true", NULL };
	int status;
	pid_t child = vfork();

	if (!child) {
		sbrk(PAGE);
		execvp("/nonexistent", arguments);
		sbrk(PAGE);
		execvp(arguments[0], arguments);
		_exit(1);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	memset(sbrk(PAGE), 1, PAGE);
	say("a child moves the break and executes a program\n");
}

static volatile int stop;

static void *allocates(void *unused)
{
	(void)unused;
	while (!stop) {
		char *at = area(16 * PAGE);

		CHECK(at[PAGE] == 7);
		munmap(at, 16 * PAGE);
	}
	return NULL;
}

/* A child that does not stop us. */
static int beside(void *argument)
{
	char *at = argument;
	int i;

	for (i = 0; i < 64; i++)
		if (munmap(at + i * 2 * PAGE, PAGE))
			return 1;
	return 0;
}

static void together(void)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	char *at = area(128 * PAGE);
	pthread_t thread;
	int i, status;
	pid_t child;

	CHECK(!pthread_create(&thread, NULL, allocates, NULL));
	child = clone(beside, stack + sizeof(stack), CLONE_VM | SIGCHLD, at);
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	stop = 1;
	pthread_join(thread, NULL);
	for (i = 0; i < 128; i++)
		CHECK(faults(at + i * PAGE, 0) == !(i % 2));
	say("a child unmaps while its parent maps\n");
}

int main(void)
{
	CHECK(signal(SIGSEGV, faulted) != SIG_ERR);
	breaks();
	mappings();
	programs();
	together();
	return 0;
}
