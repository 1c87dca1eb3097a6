/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory that changes while others use it: the kernel writes to memory that a thread moves away, and processes fork
 * while their threads map. Whatever comes first, no bytes may get into another's memory.
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>

#define PAGE 4096ul
#define PAGES 16ul
#define BYTES (PAGES * PAGE)
#define ROUNDS rounds(40, 100)
#define FORKS rounds(6, 12)
#define MAPPERS 2
#define KEPT 'k'
#define WRITTEN 'w'

static char *at;		/* the kernel writes here; this memory is moved */
static volatile int over;

static char *map_at(char *p)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;

	CHECK(mmap(p, BYTES, PROT_READ | PROT_WRITE, flags, -1, 0) == p);
	return p;
}

static char *map(size_t bytes, int fill)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return memset(p, fill, bytes);
}

/* The memory may contain only these two values. */
static int consists_of(const char *p, size_t bytes, char one, char other)
{
	for (; bytes; p++, bytes--)
		if (*p != one && *p != other)
			return 0;
	return 1;
}

/* The kernel writes there repeatedly: the whole, a part, or nothing if the memory is not writable. */
static void *writes(void *argument)
{
	static char data[BYTES];
	int ends[2];

	(void)argument;
	memset(data, WRITTEN, sizeof(data));
	CHECK(pipe(ends) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
	while (!over) {
		ssize_t had;

		CHECK(write(ends[1], data, BYTES) == (ssize_t)BYTES);
		do
			had = read(ends[0], at, BYTES);
		while (had > 0);
		CHECK(had == -1 && (errno == EFAULT || errno == EAGAIN));
		/* the rest goes elsewhere */
		while (read(ends[0], data, BYTES) > 0)
			;
	}
	return NULL;
}

/* Moved memory keeps what was written; the memory that replaces it is not writable and must not change. */
static void moved(void)
{
	pthread_t writer;
	char *p = map(BYTES, 0), *q;
	int i;

	at = p;
	CHECK(!pthread_create(&writer, NULL, writes, NULL));
	for (i = 0; i < ROUNDS; i++) {
		q = mremap(p, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, map(BYTES, KEPT));
		CHECK(q != MAP_FAILED && q != p && consists_of(q, BYTES, 0, WRITTEN));
		map_at(p);
		CHECK(mprotect(p, BYTES, PROT_READ) == 0 && consists_of(p, BYTES, 0, WRITTEN));
		usleep(i % 4 * 100);
		CHECK(mprotect(p, BYTES, PROT_READ | PROT_WRITE) == 0);
		memset(p, KEPT, BYTES);
		CHECK(mprotect(p, BYTES, PROT_READ) == 0);
		CHECK(consists_of(p, BYTES, KEPT, WRITTEN) && consists_of(q, BYTES, 0, WRITTEN));
		usleep(i % 3 * 100);
		CHECK(munmap(p, BYTES) == 0);
		CHECK(mremap(q, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p && consists_of(p, BYTES, 0, WRITTEN));
	}
	over = 1;
	CHECK(!pthread_join(writer, NULL));
	CHECK(munmap(p, BYTES) == 0);
	say("moved\n");
}

/* A page is unmapped and mapped anew while the kernel writes: its earlier bytes must be gone. */
static void discarded(void)
{
	pthread_t writer;
	char *p = map(BYTES, 0), *q = map(BYTES, 0);
	int i;

	over = 0;
	at = p;
	CHECK(!pthread_create(&writer, NULL, writes, NULL));
	for (i = 0; i < ROUNDS; i++) {
		CHECK(munmap(q, BYTES) == 0 && munmap(p, BYTES) == 0);
		/* these may get its old frames */
		memset(map_at(q), KEPT, BYTES);
		usleep(i % 4 * 100);
		CHECK(consists_of(q, BYTES, KEPT, KEPT));
		CHECK(consists_of(map_at(p), BYTES, 0, WRITTEN));
	}
	over = 1;
	CHECK(!pthread_join(writer, NULL));
	CHECK(munmap(p, BYTES) == 0);
	say("discarded\n");
}

/* Maps memory, fills it with its own value, and unmaps it; a child learns the address. */
static char *volatile mine[MAPPERS];

static void *maps(void *argument)
{
	long i = (long)argument;

	while (!over) {
		char *p = map(BYTES, 0);

		CHECK(consists_of(p, BYTES, 0, 0));
		mine[i] = p;
		memset(p, 'a' + (int)i, BYTES);
		CHECK(consists_of(p, BYTES, 'a' + (int)i, 'a' + (int)i));
		mine[i] = NULL;
		CHECK(munmap(p, BYTES) == 0);
	}
	return NULL;
}

static void look(const char *kept)
{
	char *p;
	long i;

	CHECK(consists_of(kept, BYTES, KEPT, KEPT));
	for (i = 0; i < MAPPERS; i++) {
		/* the copy was taken at some time between the first byte and the last */
		CHECK(!mine[i] || consists_of(mine[i], BYTES, 0, 'a' + (int)i));
	}
	p = map(BYTES, 'c');
	CHECK(consists_of(p, BYTES, 'c', 'c') && munmap(p, BYTES) == 0);
}

static void copied(void)
{
	char *kept = map(BYTES, KEPT);
	pthread_t mappers[MAPPERS];
	int i, status;
	pid_t pid;

	over = 0;
	for (i = 0; i < MAPPERS; i++)
		CHECK(!pthread_create(&mappers[i], NULL, maps, (void *)(long)i));
	for (i = 0; i < FORKS; i++) {
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			look(kept);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		CHECK(consists_of(kept, BYTES, KEPT, KEPT));
	}
	over = 1;
	for (i = 0; i < MAPPERS; i++)
		CHECK(!pthread_join(mappers[i], NULL));
	say("copied\n");
}

int main(void)
{
	PART(moved);
	PART(discarded);
	PART(copied);
	return 0;
}
