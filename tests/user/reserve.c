/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory that a program reserves and does not touch costs nothing, and no call answers as for memory that is populated or
 * locked: the program asked for neither.
 */
#include "check.h"

#include <fcntl.h>

#define PAGE 4096
#define MEBI (1ul << 20)
#define GIBI (1ul << 30)

static char zeros[64 * MEBI];	/* never touched */

/* Uses pieces of a reservation: makes them accessible, writes, gives them back. */
static void use_pieces(char *reservation, size_t size)
{
	size_t piece = 64 << 10;

	for (size_t at = 0; at + 2 * piece < size; at += size / 16 & ~(piece - 1)) {
		char *p = (char *)(((uintptr_t)reservation + piece - 1) & -piece) + at;

		CHECK(mprotect(p, piece, PROT_READ | PROT_WRITE) == 0);
		p[5] = p[piece - 1] = 1;
		CHECK(madvise(p, piece, MADV_DONTNEED) == 0 && p[5] == 0 && p[piece - 1] == 0);
		CHECK(mmap(p, piece, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == p);
		CHECK(madvise(p, piece, MADV_DONTNEED) == 0);
	}
}

/* As sanitizers and runtimes do: more addresses than any machine has memory. */
static void reservations(void)
{
	const struct { size_t size; int protection; } wanted[] = {
		{ 14 << 10, PROT_READ | PROT_WRITE }, { 1 << 10, PROT_NONE }, { 600, PROT_NONE }, { 256, PROT_NONE },
		{ 256, PROT_READ | PROT_WRITE },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++) {
		size_t size = wanted[i].size * GIBI;
		char *p = mmap(NULL, size, wanted[i].protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		CHECK(p != MAP_FAILED);
		use_pieces(p, size);
		CHECK(munmap(p, size) == 0);
	}
	say("reservations\n");
}

static void nothing_is_there(char *p, size_t size)
{
	static unsigned char there[64 * MEBI / PAGE];

	CHECK(mincore(p, size, there) == 0);
	for (size_t i = 0; i < size / PAGE; i++)
		CHECK(!(there[i] & 1));
}

static void nothing_is_locked(void)
{
	char text[8192] = { 0 }, *line;
	int fd = open("/proc/self/status", O_RDONLY);

	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && close(fd) == 0);
	line = strstr(text, "\nVmLck:");
	CHECK(line && strtol(line + 7, NULL, 10) == 0);
}

int main(void)
{
	char *p, *file;
	int fd;

	PART(reservations);
	PART(nothing_is_locked);
	p = private_pages(16 << 10);
	nothing_is_there(p, 64 * MEBI);
	/* whatever is next to it may be in a large page with its edges */
	nothing_is_there((char *)(((uintptr_t)zeros + 4 * MEBI) & -PAGE), sizeof(zeros) - 8 * MEBI);
	say("not populated\n");
	fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0600);
	CHECK(fd >= 0 && ftruncate(fd, 4 * PAGE) == 0);
	file = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(file != MAP_FAILED);
	file[0] = p[0] = 1;
	/* refused for locked memory */
	CHECK(msync(file, 4 * PAGE, MS_SYNC | MS_INVALIDATE) == 0);
	CHECK(msync(p, 4 * PAGE, MS_ASYNC | MS_INVALIDATE) == 0);
	CHECK(madvise(p, 4 * PAGE, MADV_FREE) == 0 && madvise(p, 4 * PAGE, MADV_PAGEOUT) == 0);
	CHECK(madvise(p, 4 * PAGE, MADV_COLD) == 0 && madvise(file, 4 * PAGE, MADV_REMOVE) == 0 && file[0] == 0);
	say("not locked\n");
	/* what it locks itself is locked, and nothing else */
	CHECK(mlock(p, 4 * PAGE) == 0);
	CHECK_ERRNO(msync(p, 4 * PAGE, MS_ASYNC | MS_INVALIDATE), EBUSY);
	CHECK_ERRNO(madvise(p, 4 * PAGE, MADV_DONTNEED), EINVAL);
	CHECK(msync(p + 4 * PAGE, 4 * PAGE, MS_ASYNC | MS_INVALIDATE) == 0 && munlock(p, 4 * PAGE) == 0);
	PART(nothing_is_locked);
	say("locked by itself\n");
	return 0;
}
