/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Faults on a private mapping of a file: a first write may make its neighbours the program's own, but no page outside the
 * aligned 64 KiB around it, none of a file that somebody may write, and none with other content than the file's.
 */
#include "check.h"

#include <fcntl.h>

#define PAGE 4096ul
#define PAGES 64ul
#define CLUSTER 16ul

static char name[64];

/* The page has content of its own: it is there, and not the file's. */
static int is_own(const char *page)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry;

	CHECK(pagemap >= 0);
	CHECK(pread(pagemap, &entry, sizeof(entry), (uintptr_t)page / PAGE * sizeof(entry)) == sizeof(entry));
	close(pagemap);
	return entry >> 63 && !(entry >> 61 & 1);
}

/* Its first page is the first one of a cluster. */
static char *map(int file)
{
	char *place = mmap(NULL, (PAGES + CLUSTER) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *area;

	CHECK(place != MAP_FAILED);
	CHECK(munmap(place, (PAGES + CLUSTER) * PAGE) == 0);
	place += -(uintptr_t)place % (CLUSTER * PAGE);
	area = mmap(place, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, 0);
	CHECK(area == place);
	return area;
}

static void fill(int file)
{
	char page[PAGE];

	for (unsigned long i = 0; i < PAGES; i++) {
		memset(page, (int)i, PAGE);
		CHECK(write(file, page, PAGE) == (ssize_t)PAGE);
	}
}

static void stays_in_its_cluster(void)
{
	int file = open(name, O_RDONLY);
	char *area = map(file);

	CHECK(file >= 0);
	area[20 * PAGE] = 1;
	CHECK(is_own(area + 20 * PAGE));
	for (unsigned long i = 0; i < PAGES; i++)
		CHECK(i / CLUSTER == 20 / CLUSTER || !is_own(area + i * PAGE));
	for (unsigned long i = 0; i < PAGES; i++)
		CHECK(area[i * PAGE + 1] == (char)i && area[(i + 1) * PAGE - 1] == (char)i);
	CHECK(munmap(area, PAGES * PAGE) == 0 && close(file) == 0);
	say("a first write touches its cluster alone\n");
}

static void sees_what_others_write(void)
{
	int file = open(name, O_RDWR);
	char *area = map(file);
	char new = 99;

	CHECK(file >= 0);
	area[0] = 1;
	CHECK(pwrite(file, &new, 1, 5 * PAGE) == 1);
	CHECK(area[5 * PAGE] == new);
	CHECK(munmap(area, PAGES * PAGE) == 0 && close(file) == 0);
	say("what is written to the file is seen\n");
}

int main(void)
{
	int file;

	snprintf(name, sizeof(name), "/tmp/clusters-%d", getpid());
	file = open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
	CHECK(file >= 0);
	fill(file);
	CHECK(close(file) == 0);
	stays_in_its_cluster();
	sees_what_others_write();
	CHECK(unlink(name) == 0);
	return 0;
}
