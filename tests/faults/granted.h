/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What programs on a granted block device share: steps that print their results, which must be the same on Linux and
 * on a core, and what cores counted meanwhile. Included by each of them. Only with `counting` are the counts looked at:
 * a program that is not hosted has none.
 */
#ifndef TACET_TESTS_FAULTS_GRANTED_H
#define TACET_TESTS_FAULTS_GRANTED_H

#include <sys/ioctl.h>
#include <sys/mman.h>

#include <tacet/pico.h>

#include "door.h"

#define BLOCK 512
#define PIECE 4096u

/* Who must have served a step: a cause of enum tacet_pico_fallback, or one of these. */
enum { CORE = -1, LINUX = -2, ANYBODY = -3 };

struct tally {
	uint64_t calls, forwarded[TACET_PICO_FALLBACKS];
};

static int counting;
static unsigned char *buffer;	/* 1 MiB, present */

static inline struct tally tally(void)
{
	struct tally sum = {};
	char line[512], *at;
	FILE *lines = counting ? fopen("/sys/kernel/tacet/pico", "r") : NULL;

	while (lines && fgets(line, sizeof(line), lines)) {
		if ((at = strstr(line, " calls ")))
			sum.calls += strtoull(at + 7, NULL, 10);
		at = strstr(line, " forwarded ");
		for (unsigned int i = 0; at && i < TACET_PICO_FALLBACKS; i++)
			sum.forwarded[i] += strtoull(i ? at : at + 11, &at, 10);
	}
	if (lines)
		fclose(lines);
	return sum;
}

/* The result of a step, with what the buffer now begins with if it was read. */
static inline void say(const char *step, long result, const void *read)
{
	if (result < 0)
		printf("%s: %s\n", step, strerrorname_np(errno));
	else if (result > 0 && read)
		printf("%s: %ld %#llx\n", step, result, *(const unsigned long long *)read);
	else
		printf("%s: %ld\n", step, result);
}

static inline void served(const char *step, int by, const struct tally *before)
{
	struct tally now = tally();
	uint64_t calls = now.calls - before->calls;

	if (!counting || by == ANYBODY)
		return;
	if ((by == CORE) != !!calls)
		fail("%s: cores served %llu calls", step, (unsigned long long)calls);
	if (by >= 0 && now.forwarded[by] == before->forwarded[by])
		fail("%s: not forwarded for cause %d: %s", step, by, "see /sys/kernel/tacet/pico");
}

/* One step: @number is that of pread or pwrite. */
static inline void step(const char *what, int by, long number, int file, void *at, long bytes, off_t offset)
{
	struct tally before = tally();
	long result = syscall(number, file, at, bytes, offset);

	say(what, result, number == SYS_pread64 ? at : NULL);
	served(what, by, &before);
}

#define READ(what, by, file, at, bytes, offset) step(what, by, SYS_pread64, file, at, bytes, offset)
#define WRITE(what, by, file, at, bytes, offset) step(what, by, SYS_pwrite64, file, at, bytes, offset)

/* Waits until a core serves the descriptor. */
static inline void await_grant(const char *what, int file)
{
	struct tally before = tally(), now = before;

	for (unsigned int tries = 0; counting && now.calls == before.calls; tries++) {
		if (tries > 10000)
			fail("%s: no grant", what);
		if (pread(file, buffer, PIECE, 0) != PIECE)
			fail("%s: %s", what, strerror(errno));
		now = tally();
		sleep_us(10000);
	}
}

static inline int open_disk(const char *path, int flags)
{
	int file = open(path, flags | O_CLOEXEC);

	if (file < 0)
		fail("%s: %s", path, strerror(errno));
	return file;
}

static inline int open_granted(const char *path)
{
	int file = open_disk(path, O_RDWR | O_DIRECT);

	await_grant(path, file);
	return file;
}

static inline void *pages(size_t bytes, int protection, int flags, int file)
{
	void *at = mmap(NULL, bytes, protection, flags, file, 0);

	if (at == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	return at;
}

static inline void *memory(size_t bytes)
{
	void *at = pages(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	memset(at, 0x5a, bytes);
	return at;
}

/* Each block says which it is, counted from `offset`, and `mark`. */
static inline void mark_blocks(void *at, size_t bytes, off_t offset, uint64_t mark)
{
	for (size_t i = 0; i < bytes; i += BLOCK)
		for (size_t word = 0; word < BLOCK / 8; word++)
			((uint64_t *)(at + i))[word] = mark << 48 | (offset + i) / BLOCK;
}

#endif
