/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * NUMA policies of anonymous memory: on which node it is allocated, where it moves, and what the kernel reports. On a
 * machine with several nodes every page is checked.
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/uio.h>

#define PAGE 4096ul
#define HUGE (2ul << 20)

/* linux/mempolicy.h */
enum { DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL, PREFERRED_MANY };
enum { STRICT = 1, MOVE = 2 };
enum { OF_NODE = 1, OF_ADDRESS = 2 };
#define STATIC_NODES (1 << 15)
#define MOST 1024ul

static unsigned long first, last, all;	/* nodes with memory, as bits */

/* "0", "0-1", "0,2-3" */
static void read_nodes(void)
{
	FILE *file = fopen("/sys/devices/system/node/has_memory", "r");
	unsigned int from, to;

	CHECK(file);
	while (fscanf(file, "%u", &from) == 1) {
		to = from;
		if (fscanf(file, "-%u", &to) < 0)
			to = from;
		for (; from <= to; from++)
			all |= 1ul << from;
		fgetc(file);
	}
	CHECK(all && fclose(file) == 0);
	first = all & -all;
	last = 1ul << (63 - __builtin_clzl(all));
}

static long bind_memory(void *at, size_t bytes, int mode, unsigned long nodes, unsigned int flags)
{
	unsigned long mask[MOST / 64] = { nodes };

	return syscall(SYS_mbind, at, bytes, mode, mask, MOST, flags);
}

static long bind_thread(int mode, unsigned long nodes)
{
	return syscall(SYS_set_mempolicy, mode, &nodes, 64ul);
}

static char *map(size_t bytes, int flags)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* The node as a bit. */
static unsigned long node_of(const void *at)
{
	int node = -1;

	CHECK(syscall(SYS_get_mempolicy, &node, NULL, 0ul, at, (unsigned long)(OF_NODE | OF_ADDRESS)) == 0);
	CHECK(node >= 0 && node < 64);
	return 1ul << node;
}

static int all_on(const char *p, size_t bytes, unsigned long nodes)
{
	size_t i;

	for (i = 0; i < bytes; i += PAGE)
		if (!(node_of(p + i) & nodes))
			return 0;
	return 1;
}

/* Checks that the address has this policy. */
static int is(const void *at, int mode, unsigned long nodes)
{
	unsigned long mask[MOST / 64 + 1];
	int shown = -1;

	memset(mask, 0x55, sizeof(mask));
	CHECK(syscall(SYS_get_mempolicy, &shown, mask, MOST + 1, at, (unsigned long)OF_ADDRESS) == 0);
	return shown == mode && mask[0] == nodes && mask[1] == 0 && mask[MOST / 64] == 0x5555555555555555;
}

static void fill(char *p, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i += 8)
		*(size_t *)(p + i) = (size_t)(p + i);
}

static int filled(const char *p, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i += 8)
		if (*(const size_t *)(p + i) != (size_t)(p + i))
			return 0;
	return 1;
}

static void before_it_is_touched(void)
{
	static const int modes[] = { BIND, PREFERRED, PREFERRED_MANY, BIND | STATIC_NODES };
	unsigned int i;

	for (i = 0; i < ARRAY_LENGTH(modes); i++) {
		char *p = map(2 * HUGE, 0), *lazy = map(HUGE, MAP_NORESERVE);

		CHECK(is(p, DEFAULT, 0));
		CHECK(bind_memory(p, 2 * HUGE, modes[i], last, 0) == 0);
		CHECK(bind_memory(lazy, HUGE, modes[i], last, 0) == 0);
		fill(p, 2 * HUGE);
		fill(lazy, HUGE);
		CHECK(all_on(p, 2 * HUGE, last) && all_on(lazy, HUGE, last));
		CHECK(is(p, modes[i], last) && is(lazy + HUGE - 1, modes[i], last));
		CHECK(munmap(p, 2 * HUGE) == 0 && munmap(lazy, HUGE) == 0);
	}
	say("before it is touched\n");
}

static void afterwards(void)
{
	char *p = map(4 * HUGE, 0);

	fill(p, 4 * HUGE);
	CHECK(bind_memory(p, 4 * HUGE, BIND, last, MOVE | STRICT) == 0);
	CHECK(all_on(p, 4 * HUGE, last) && filled(p, 4 * HUGE));
	CHECK(bind_memory(p + 3 * PAGE, HUGE + PAGE, BIND, first, MOVE | STRICT) == 0);
	/* The rest of a large page may move with it. */
	CHECK(all_on(p + 3 * PAGE, HUGE + PAGE, first) && all_on(p + 3 * HUGE, HUGE, last) && filled(p, 4 * HUGE));
	CHECK(is(p, BIND, last) && is(p + 3 * PAGE, BIND, first) && is(p + HUGE + 4 * PAGE, BIND, last));
	CHECK(bind_memory(p, 4 * HUGE, DEFAULT, 0, 0) == 0 && is(p + 3 * PAGE, DEFAULT, 0) && filled(p, 4 * HUGE));
	CHECK(bind_memory(p, HUGE, LOCAL, 0, 0) == 0 && is(p, LOCAL, 0));
	CHECK(bind_memory(p, HUGE, PREFERRED, 0, 0) == 0 && is(p, LOCAL, 0));
	CHECK(munmap(p, 4 * HUGE) == 0);
	say("afterwards\n");
}

static void in_turn(void)
{
	char *p = map(16 * HUGE, 0);
	size_t i, there = 0, pages = 16 * HUGE / PAGE;

	CHECK(bind_memory(p, 16 * HUGE, INTERLEAVE, all, 0) == 0);
	fill(p, 16 * HUGE);
	for (i = 0; i < pages; i++)
		there += node_of(p + i * PAGE) == last;
	/* Linux interleaves by large pages, with some offset. */
	there *= (unsigned int)__builtin_popcountl(all);
	CHECK(first == last ? there == pages : there >= pages / 2 && there <= 2 * pages);
	CHECK(is(p, INTERLEAVE, all) && filled(p, 16 * HUGE) && munmap(p, 16 * HUGE) == 0);
	say("in turn\n");
}

/* A page that is in a pipe stays where it is, and the pipe has what the page has when it is read. */
static void in_a_pipe(void)
{
	char *p = map(4 * PAGE, 0), got[8] = "";
	struct iovec part = { p + PAGE, 8 };
	int fds[2];

	CHECK(pipe(fds) == 0 && bind_memory(p, 4 * PAGE, BIND, first, MOVE | STRICT) == 0);
	fill(p, 4 * PAGE);
	CHECK(vmsplice(fds[1], &part, 1, 0) == 8);
	if (first != last)
		CHECK_ERRNO(bind_memory(p, 4 * PAGE, BIND, last, MOVE | STRICT), EIO);
	CHECK(bind_memory(p, 4 * PAGE, BIND, last, MOVE) == 0 && filled(p, 4 * PAGE));
	CHECK(all_on(p + PAGE, PAGE, first) && all_on(p, PAGE, last) && all_on(p + 2 * PAGE, 2 * PAGE, last));
	CHECK(is(p, BIND, last) && is(p + PAGE, BIND, last));
	memcpy(p + PAGE, "changed", 8);
	CHECK(read(fds[0], got, 8) == 8 && memcmp(got, "changed", 8) == 0);
	/* The kernel may notice a little later that the pipe is empty. */
	while (bind_memory(p, 4 * PAGE, BIND, last, MOVE | STRICT) != 0)
		CHECK(errno == EIO && usleep(1000) == 0);
	CHECK(all_on(p, 4 * PAGE, last) && memcmp(p + PAGE, "changed", 8) == 0);
	CHECK(munmap(p, 4 * PAGE) == 0 && close(fds[0]) == 0 && close(fds[1]) == 0);
	say("in a pipe\n");
}

static void *wants_another(void *other)
{
	char *p;

	CHECK(bind_thread(BIND, *(unsigned long *)other) == 0);
	p = map(HUGE, 0);
	fill(p, HUGE);
	CHECK(all_on(p, HUGE, *(unsigned long *)other) && munmap(p, HUGE) == 0);
	return NULL;
}

static void of_a_thread(void)
{
	pthread_t thread;
	char *p, *lazy;
	int fds[2];

	CHECK(bind_thread(BIND, last) == 0 && pipe(fds) == 0);
	p = map(2 * HUGE, 0);
	lazy = map(HUGE, MAP_NORESERVE);
	fill(p, 2 * HUGE);
	CHECK(all_on(p, 2 * HUGE, last) && is(p, DEFAULT, 0));
	/* A page that the kernel touches first must come from there, too. */
	CHECK(write(fds[1], "numa", 4) == 4 && read(fds[0], lazy + 5 * PAGE, 4) == 4);
	CHECK(all_on(lazy + 5 * PAGE, PAGE, last) && memcmp(lazy + 5 * PAGE, "numa", 4) == 0);
	CHECK(pthread_create(&thread, NULL, wants_another, &first) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(bind_memory(p, HUGE, BIND, first, MOVE) == 0 && all_on(p, HUGE, first) && filled(p, 2 * HUGE));
	CHECK(bind_thread(DEFAULT, 0) == 0 && munmap(p, 2 * HUGE) == 0 && munmap(lazy, HUGE) == 0);
	CHECK(close(fds[0]) == 0 && close(fds[1]) == 0);
	say("of a thread\n");
}

static char *inherited;

static void child(void)
{
	CHECK(is(inherited, BIND, last) && all_on(inherited, HUGE, last) && filled(inherited, 2 * HUGE));
	/* Pages shared by parent and child stay until the child writes. */
	CHECK(bind_memory(inherited, HUGE, BIND, first, MOVE) == 0);
	fill(inherited, 2 * HUGE);
	CHECK(all_on(inherited, HUGE, first) && is(inherited, BIND, first) && filled(inherited, 2 * HUGE) && is(inherited + HUGE, DEFAULT, 0));
}

static void of_a_child(void)
{
	inherited = map(2 * HUGE, 0);
	fill(inherited, 2 * HUGE);
	CHECK(bind_memory(inherited, HUGE, BIND, last, MOVE) == 0);
	CHECK(exited_with(child_status(child), 0));
	CHECK(all_on(inherited, HUGE, last) && is(inherited, BIND, last) && munmap(inherited, 2 * HUGE) == 0);
	say("of a child\n");
}

static void errors(void)
{
	char *p = map(4 * PAGE, 0);
	unsigned long nodes;
	int mode;

	CHECK_ERRNO(bind_memory(p, PAGE, BIND, 0, 0), EINVAL);
	CHECK_ERRNO(bind_memory(p, PAGE, BIND, 1ul << 63, 0), EINVAL);
	CHECK_ERRNO(bind_memory(p, PAGE, DEFAULT, first, 0), EINVAL);
	CHECK_ERRNO(bind_memory(p, PAGE, LOCAL, first, 0), EINVAL);
	CHECK_ERRNO(bind_memory(p, PAGE, 77, first, 0), EINVAL);
	CHECK_ERRNO(bind_memory(p, PAGE, BIND, first, 1u << 30), EINVAL);
	CHECK_ERRNO(bind_memory(p + 1, PAGE, BIND, first, 0), EINVAL);
	CHECK_ERRNO(syscall(SYS_get_mempolicy, &mode, &nodes, 0ul, p, (unsigned long)OF_ADDRESS), EINVAL);
	CHECK(bind_memory(p, 0, BIND, first, 0) == 0 && is(p, DEFAULT, 0));
	CHECK(bind_memory(p, 4 * PAGE, BIND, first, 0) == 0);
	CHECK_ERRNO(syscall(SYS_get_mempolicy, &mode, &nodes, 0ul, p, (unsigned long)OF_ADDRESS), EINVAL);
	CHECK(munmap(p + 2 * PAGE, PAGE) == 0);
	CHECK_ERRNO(bind_memory(p, 4 * PAGE, BIND, first, 0), EFAULT);
	CHECK(is(p, BIND, first) && munmap(p, 4 * PAGE) == 0);
	say("errors\n");
}

int main(void)
{
	PART(read_nodes);
	PART(before_it_is_touched);
	PART(afterwards);
	PART(in_turn);
	PART(in_a_pipe);
	PART(of_a_thread);
	PART(of_a_child);
	PART(errors);
	return 0;
}
