/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A mapped file has the file's content whatever is done to the mapping, or the call says no: a node copies files. And a process
 * has more mappings than threads of a large program need.
 */
#include <fcntl.h>

#include "../../user/check.h"

#define PAGE 4096l
#define PAGES 8l
#define SIZE (PAGES * PAGE)
#define MAPPINGS 1200l

static int both, to_read, to_write;

static int is_file(const char *at, long first, long pages)
{
	for (long i = 0; i < pages * PAGE; i++)
		if (at[i] != 'a' + first + i / PAGE)
			return 0;
	return 1;
}

static void make_files(void)
{
	char name[64], page[PAGE];

	snprintf(name, sizeof(name), "/tmp/tacet-static-copied-%d", getpid());
	both = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	to_read = open(name, O_RDONLY);
	to_write = open(name, O_WRONLY);
	CHECK(both >= 0 && to_read >= 0 && to_write >= 0 && unlink(name) == 0);
	for (int i = 0; i < PAGES; i++) {
		memset(page, 'a' + i, PAGE);
		CHECK(write(both, page, PAGE) == PAGE);
	}
}

/* Given back, the pages come again from the file, also those that were written. */
static void given_back(void)
{
	int rights[] = { PROT_READ, PROT_READ | PROT_WRITE }, kinds[] = { MAP_PRIVATE, MAP_SHARED };

	for (int i = 0; i < 4; i++) {
		char *at = mmap(NULL, SIZE, rights[i % 2], kinds[i / 2], i == 2 ? to_read : both, 0);

		if (at == MAP_FAILED)
			continue;
		CHECK(is_file(at, 0, PAGES));
		if (madvise(at, SIZE, MADV_DONTNEED) == 0)
			CHECK(is_file(at, 0, PAGES));
		if (i == 1) {
			memset(at, 1, SIZE);
			if (madvise(at, SIZE, MADV_DONTNEED) == 0)
				CHECK(is_file(at, 0, PAGES));
			else
				CHECK(errno == EINVAL && at[0] == 1 && at[SIZE - 1] == 1);
			CHECK_ERRNO(madvise(at, SIZE, MADV_FREE), EINVAL);
		}
		CHECK(munmap(at, SIZE) == 0);
	}
	say("given back\n");
}

static void longer(void)
{
	char *at = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, both, PAGE), *moved;

	CHECK(at != MAP_FAILED && is_file(at, 1, 2));
	moved = mremap(at, 2 * PAGE, 5 * PAGE, MREMAP_MAYMOVE);
	if (moved != MAP_FAILED)
		CHECK(is_file(moved, 1, 5) && munmap(moved, 5 * PAGE) == 0);
	else
		CHECK(errno == ENOMEM && is_file(at, 1, 2));
	say("longer\n");
}

/* What is written to a shared mapping reaches the file. */
static void shared(void)
{
	int rights[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE };

	for (int i = 0; i < 3; i++) {
		char *at = mmap(NULL, PAGE, rights[i], MAP_SHARED, both, 0), found = 0;

		if (at == MAP_FAILED || mprotect(at, PAGE, PROT_READ | PROT_WRITE)) {
			CHECK(errno == ENODEV);
			continue;
		}
		*at = 'A' + i;
		CHECK(msync(at, PAGE, MS_SYNC) == 0 && pread(both, &found, 1, 0) == 1 && found == 'A' + i);
		CHECK(munmap(at, PAGE) == 0 && pwrite(both, "a", 1, 0) == 1);
	}
	say("shared\n");
}

static void refused(void)
{
	char *at = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, to_read, 0);

	CHECK(at != MAP_FAILED && is_file(at, 0, PAGES));
	CHECK_ERRNO(mprotect(at, SIZE, PROT_READ | PROT_WRITE), EACCES);
	CHECK_ERRNO(mprotect(at + PAGE, PAGE, PROT_WRITE), EACCES);
	CHECK(is_file(at, 0, PAGES) && mprotect(at, PAGE, PROT_NONE) == 0 && mprotect(at, PAGE, PROT_READ) == 0);
	CHECK(munmap(at, SIZE) == 0);
	CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, to_read, 0), EACCES);
	CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, to_write, 0), EACCES);
	CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, to_write, 0), EACCES);
	CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, 99, 0), EBADF);
	say("refused\n");
}

static void many(void)
{
	char *at = mmap(NULL, 2 * MAPPINGS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	for (long i = 0; i < MAPPINGS; i++) {
		at[(2 * i + 1) * PAGE] = (char)i;
		CHECK(mprotect(at + 2 * i * PAGE, PAGE, PROT_NONE) == 0);
	}
	for (long i = 0; i < MAPPINGS; i++)
		CHECK(at[(2 * i + 1) * PAGE] == (char)i);
	CHECK(mprotect(at, 2 * MAPPINGS * PAGE, PROT_READ) == 0 && munmap(at, 2 * MAPPINGS * PAGE) == 0);
	say("many\n");
}

int main(void)
{
	make_files();
	given_back();
	longer();
	shared();
	refused();
	many();
	return 0;
}
