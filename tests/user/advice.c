/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * All that a program can advise about its anonymous memory, and sealing: accepted advice is followed. Everything is done
 * twice, each time in a new process: without and after a call (mincore) for which other memory becomes Linux's.
 */
#include "check.h"

#include <fcntl.h>
#include <sys/resource.h>

#define PAGE 4096
#define PAGES 600	/* more than a large page has */

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define NR_MSEAL 462

static char *p;

static void fill(void)
{
	for (int i = 0; i < PAGES; i++)
		p[i * PAGE] = 'a';
}

static int all_are(char wanted)
{
	for (int i = 0; i < PAGES; i++)
		if (p[i * PAGE] != wanted)
			return 0;
	return 1;
}

static void fresh(int linux_has_it)
{
	unsigned char there[PAGES];

	p = private_pages(PAGES);
	fill();
	if (linux_has_it)
		CHECK(mincore(p, PAGES * PAGE, there) == 0);
}

static void touch(void)
{
	(void)*(volatile char *)p;
}

static void see_zeros(void)
{
	CHECK(all_are(0));
}

static void see_content(void)
{
	CHECK(all_are('a'));
}

/* Advice that changes no content, and may not be known. */
static void hints(void)
{
	static const int known[] = {
		MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_NORMAL, MADV_DOFORK, MADV_KEEPONFORK,
		MADV_DONTDUMP, MADV_DODUMP, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_READ, MADV_POPULATE_WRITE,
	};
	static const int perhaps[] = {
		MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_MERGEABLE, MADV_UNMERGEABLE, MADV_COLLAPSE,
	};

	for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
		CHECK(madvise(p, PAGES * PAGE, known[i]) == 0 && all_are('a'));
	for (size_t i = 0; i < ARRAY_LENGTH(perhaps); i++) {
		CHECK(madvise(p, PAGES * PAGE, perhaps[i]) == 0 || errno == EINVAL || errno == EAGAIN || errno == ENOMEM);
		CHECK(all_are('a'));
	}
}

static void content(void)
{
	CHECK(madvise(p, PAGES * PAGE, MADV_DONTNEED) == 0 && all_are(0));
	fill();
	CHECK(madvise(p, PAGES * PAGE, MADV_DONTNEED_LOCKED) == 0 && all_are(0));
	fill();
	CHECK(madvise(p, PAGES * PAGE, MADV_FREE) == 0);
	fill();		/* what is written afterwards stays */
	CHECK(all_are('a'));
}

static void errors(void)
{
	CHECK_ERRNO(madvise(p, PAGE, MADV_REMOVE), EINVAL);	/* for files only */
	CHECK_ERRNO(madvise(p, PAGE, 9999), EINVAL);
	CHECK_ERRNO(madvise(p + 1, PAGE, MADV_NORMAL), EINVAL);
	CHECK(all_are('a'));
}

static void children(void)
{
	CHECK(madvise(p, PAGES * PAGE, MADV_DONTFORK) == 0);
	CHECK(killed_by(child_status(touch), SIGSEGV));
	CHECK(madvise(p, PAGES * PAGE, MADV_DOFORK) == 0);
	CHECK(exited_with(child_status(see_content), 0));
	CHECK(madvise(p, PAGES * PAGE, MADV_WIPEONFORK) == 0 && all_are('a'));
	CHECK(exited_with(child_status(see_zeros), 0) && all_are('a'));
	CHECK(madvise(p, PAGES * PAGE, MADV_KEEPONFORK) == 0);
	CHECK(exited_with(child_status(see_content), 0));
}

/* Guards: Linux 6.13. */
static void guards(void)
{
	if (madvise(p, PAGE, MADV_GUARD_INSTALL)) {
		CHECK(errno == EINVAL);
		return;
	}
	CHECK(killed_by(child_status(touch), SIGSEGV));
	CHECK(madvise(p, PAGE, MADV_GUARD_REMOVE) == 0 && p[0] == 0);
	p[0] = 'a';
}

/* Sealing: Linux 6.10. What is sealed stays as it is. */
static void seals(void)
{
	CHECK(mprotect(p, 2 * PAGE, PROT_READ) == 0);
	if (syscall(NR_MSEAL, p, 4 * PAGE, 0)) {
		CHECK(errno == ENOSYS);
		return;
	}
	CHECK_ERRNO(madvise(p, PAGE, MADV_DONTNEED), EPERM);
	CHECK_ERRNO(madvise(p, PAGE, MADV_FREE), EPERM);
	CHECK_ERRNO(madvise(p, PAGE, MADV_WIPEONFORK), EPERM);
	CHECK_ERRNO(mprotect(p, PAGE, PROT_READ | PROT_WRITE), EPERM);
	CHECK_ERRNO(munmap(p, PAGE), EPERM);
	CHECK_ERRNO(mmap(p, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), EPERM);
	CHECK(all_are('a') && madvise(p, PAGE, MADV_WILLNEED) == 0);
	CHECK(madvise(p + 2 * PAGE, PAGE, MADV_DONTNEED) == 0 && p[2 * PAGE] == 0);	/* it may be written */
}

static char mark[] = "-- in the core file if it is one of these pages --";

static void mark_page(int page, char which)
{
	memcpy(p + page * PAGE, mark, sizeof(mark));
	p[page * PAGE] = p[page * PAGE + 1] = which;
}

static void die_dumping(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	mark_page(0, '1');
	mark_page(1, '2');
	mark_page(PAGES - 1, '3');
	CHECK(setrlimit(RLIMIT_CORE, &all) == 0);
	CHECK(madvise(p, PAGES * PAGE, MADV_DONTDUMP) == 0 && madvise(p + PAGE, PAGE, MADV_DODUMP) == 0);
	abort();
}

static int has(char *text, size_t size, char which)
{
	char wanted[sizeof(mark)];

	memcpy(wanted, mark, sizeof(mark));
	wanted[0] = wanted[1] = which;
	return !!memmem(text, size, wanted, sizeof(mark) - 1);
}

/* The core file has what is not excluded, and nothing else: read only if core files are plain files in this directory. */
static void core_files(void)
{
	char pattern[128] = { 0 }, uses_pid = 0, *text;
	int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY), status;
	off_t size;

	CHECK(fd >= 0 && read(fd, pattern, 127) > 0 && close(fd) == 0);
	fd = open("/proc/sys/kernel/core_uses_pid", O_RDONLY);
	CHECK(fd < 0 || (read(fd, &uses_pid, 1) == 1 && close(fd) == 0));
	status = child_status(die_dumping);
	CHECK(killed_by(status, SIGABRT));
	if (strcmp(pattern, "core\n") || uses_pid == '1')
		return;
	CHECK(WCOREDUMP(status));
	fd = open("core", O_RDONLY);
	CHECK(fd >= 0);
	size = lseek(fd, 0, SEEK_END);
	text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(text != MAP_FAILED && has(text, size, '2'));
	CHECK(!has(text, size, '1') && !has(text, size, '3'));
	CHECK(munmap(text, size) == 0 && close(fd) == 0 && unlink("core") == 0);
}

static void (*part)(void);
static int linux_memory;

static void run(void)
{
	fresh(linux_memory);
	part();
}

int main(void)
{
	static void (*const parts[])(void) = { hints, content, errors, core_files, children, guards, seals };
	static const char *const names[] = { "hints", "content", "errors", "core files", "children", "guards", "seals" };

	for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
		part = parts[i];
		if (!is_chosen(names[i]))
			continue;
		for (linux_memory = 0; linux_memory < 2; linux_memory++)
			CHECK(exited_with(child_status(run), 0));
		say("%s\n", names[i]);
	}
	return 0;
}
