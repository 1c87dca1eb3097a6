/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * roomless MOST: a program whose memory Linux has no room for, because it has more mappings than
 * Linux allows (vm.max_map_count, which this sets to MOST). Calls that would need that memory on
 * Linux fail with ENOMEM; a child, a tracer, and the way back to Linux change nothing of it.
 *
 * roomless group: the same for the control group in which it is, which allows less than 64 MiB.
 */
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "door.h"

#define PAGE 4096l
#define PAGES 4096l

static unsigned char *area;

static void allow(const char *most)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "w");

	if (!file || fputs(most, file) < 0 || fclose(file))
		fail("max_map_count: %s", strerror(errno));
}

/* Everything is as it was, and can be written. */
static void intact(const char *when)
{
	long i;

	for (i = 0; i < PAGES; i++) {
		if (area[i * PAGE] != (unsigned char)i || area[i * PAGE + 100] != 3)
			fail("%s: page %ld is lost", when, i);
		if (i % 2)
			area[i * PAGE + 100] = 3;
	}
}

static void refused(const char *what, long result)
{
	if (result != -1 || errno != ENOMEM)
		fail("%s: %ld, error %d", what, result, errno);
}

/* As mprotect(), but only Linux can perform it: in a range it needs a hand-over. */
static long key_protect(void *at, size_t bytes)
{
	return syscall(SYS_pkey_mprotect, at, bytes, PROT_READ | PROT_WRITE, -1);
}

static void child_has_it(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		intact("in a child");
		refused("in a child: pkey_mprotect", key_protect(area, PAGES * PAGE));
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		fail("a child: status %x", status);
}

/* Stops its parent and lets it go on, seen, until the pipe is closed. */
static void watch(pid_t parent, int ready, int end)
{
	int status;
	char byte;

	if (ptrace(PTRACE_SEIZE, parent, 0, 0) || ptrace(PTRACE_INTERRUPT, parent, 0, 0) ||
	    waitpid(parent, &status, __WALL) != parent || ptrace(PTRACE_CONT, parent, 0, 0) ||
	    write(ready, "", 1) != 1)
		_exit(1);
	while (read(end, &byte, 1) == 1)
		;
	if (ptrace(PTRACE_INTERRUPT, parent, 0, 0) || waitpid(parent, &status, __WALL) != parent)
		_exit(2);
	_exit(ptrace(PTRACE_DETACH, parent, 0, 0) ? 3 : 0);
}

static void seen_by_a_tracer(void)
{
	void *volatile at_first = sbrk(0), *volatile now;
	pid_t parent = getpid(), tracer;
	int ready[2], end[2], status;
	char byte;

	if (pipe(ready) || pipe(end))
		fail("pipe");
	tracer = fork();
	if (!tracer) {
		close(end[1]);
		watch(parent, ready[1], end[0]);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		fail("the tracer has not begun");
	intact("while it is traced");
	refused("while it is traced: munmap", munmap(area, PAGE));
	refused("while it is traced: mprotect", mprotect(area, PAGE, PROT_NONE));
	now = sbrk(0);
	if (now != at_first)
		fail("the break is %p, was %p", now, at_first);
	close(end[1]);
	if (waitpid(tracer, &status, 0) != tracer || status)
		fail("the tracer ended with %x", status);
	intact("after the tracer");
	if (mprotect(area + PAGE, PAGE, PROT_READ) || mprotect(area + PAGE, PAGE, PROT_READ | PROT_WRITE))
		fail("mprotect after the tracer: %s", strerror(errno));
}

static void back_on_linux(int door)
{
	if (recouple(door, getpid(), 0))
		fail("recouple: %s", strerror(errno));
	intact("on Linux");
	refused("on Linux: munmap", munmap(area, PAGE));
	allow("65530");
	while (munmap(area, PAGE))	/* Linux is asked again a second later */
		if (errno != ENOMEM)
			fail("with room: munmap: %s", strerror(errno));
	if (mmap(area, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != area)
		fail("with room: mmap: %s", strerror(errno));
	area[100] = 3;
	intact("with room");
}

static void in_a_group(void)
{
	const long bytes = 64l << 20;
	unsigned char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long i;

	if (at == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	for (i = 0; i < bytes; i += PAGE)
		at[i] = i / PAGE;
	refused("pkey_mprotect", key_protect(at, bytes));
	for (i = 0; i < bytes; i += PAGE)
		if (at[i] != (unsigned char)(i / PAGE))
			fail("page %ld is lost", i / PAGE);
	puts("done");
}

int main(int count, char **words)
{
	int door = open_door();
	long i;

	if (count == 2 && !strcmp(words[1], "group")) {
		in_a_group();
		return 0;
	}
	area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (count != 2 || door < 0 || area == MAP_FAILED)
		fail("usage, door or mmap");
	allow(words[1]);
	for (i = 0; i < PAGES; i++) {
		area[i * PAGE] = i;
		area[i * PAGE + 100] = 3;
		if (i % 2 == 0 && mprotect(area + i * PAGE, PAGE, PROT_READ))
			fail("mprotect: %s", strerror(errno));
	}
	refused("pkey_mprotect", key_protect(area, PAGES * PAGE));
	intact("after pkey_mprotect");
	child_has_it();
	seen_by_a_tracer();
	back_on_linux(door);
	puts("done");
	return 0;
}
