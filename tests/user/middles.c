/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A free address in the middle of one program's address space is free in others too. Libraries rely
 * on this to map memory of several programs at one address (hwloc, PMIx): one program finds a free
 * address in its own maps, and the others use it.
 *
 * usage: middles [look|take ADDRESS...]
 */
#include "check.h"

#define PROGRAMS 12
#define SEGMENTS 3
#define SEGMENT_BYTES (8ul << 20)
#define ALIGNMENT (64ul << 20)

/* Was the address free, and does mmap return it if it is only a hint? */
static int take(uintptr_t address)
{
	void *got = mmap((void *)address, SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(got != MAP_FAILED);
	if (got == (void *)address)
		return 1;
	CHECK(munmap(got, SEGMENT_BYTES) == 0);
	return 0;
}

/* The middle of the biggest hole below the stack. */
static uintptr_t middle(void)
{
	uintptr_t begin, end, before = 0, best = 0, biggest = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	CHECK(maps);
	while (fgets(line, sizeof(line), maps) && sscanf(line, "%lx-%lx", &begin, &end) == 2) {
		if (begin - before > biggest) {
			biggest = begin - before;
			best = before;
		}
		before = end;
		if (strstr(line, "[stack]"))
			break;
	}
	fclose(maps);
	return (best + biggest / 2 + ALIGNMENT) & ~(ALIGNMENT - 1);
}

/* Maps segment after segment, each in a hole that the earlier ones leave. */
static void look(void)
{
	for (int i = 0; i < SEGMENTS; i++) {
		uintptr_t address = middle();

		CHECK(take(address));
		say(" %lx", address);
	}
}

/* Counts the free addresses, each tested separately: two may be the same. */
static void take_each(char **addresses)
{
	int taken = 0;

	for (; *addresses; addresses++) {
		uintptr_t address = strtoul(*addresses, NULL, 16);

		if (!take(address))
			continue;
		taken++;
		CHECK(munmap((void *)address, SEGMENT_BYTES) == 0);
	}
	say("%d", taken);
}

/* Runs this program again and appends its output to @said. */
static void again(const char *self, const char *words, char *said, size_t size)
{
	size_t length = strlen(said);
	char command[1024];
	FILE *pipe;

	CHECK(snprintf(command, sizeof(command), "exec %s %s", self, words) < (int)sizeof(command));
	pipe = popen(command, "r");
	CHECK(pipe);
	length += fread(said + length, 1, size - length - 1, pipe);
	said[length] = 0;
	CHECK(pclose(pipe) == 0);
}

int main(int argc, char **argv)
{
	char found[768] = "take", said[32];
	int taken = 0;

	if (argc > 1) {
		if (!strcmp(argv[1], "look"))
			look();
		else
			take_each(argv + 2);
		return 0;
	}
	for (int i = 0; i < PROGRAMS; i++)
		again(argv[0], "look", found, sizeof(found));
	for (int i = 0; i < PROGRAMS; i++) {
		said[0] = 0;
		again(argv[0], found, said, sizeof(said));
		taken += atoi(said);
	}
	say("%d of %d were free\n", taken, PROGRAMS * PROGRAMS * SEGMENTS);
	return 0;
}
