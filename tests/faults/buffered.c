/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * buffered DISK ROUNDS: another process reads a block through the page cache, at any moment of a direct write of 4 MiB,
 * and again after the write has returned: it must then see what was written. Says in how many rounds the first look came
 * before the write's end. Overwrites 4 MiB at 1 MiB.
 */
#include "granted.h"

#define BIG (4l << 20)
#define FROM (1l << 20)
#define LAST (FROM + BIG - 4096)

static volatile int *now;	/* the round that is being written */
static int asks[2], answers[2];

static uint64_t last_block(int file)
{
	uint64_t words[512];

	return pread(file, words, sizeof(words), LAST) == sizeof(words) ? words[0] : ~0ul;
}

static void look(const char *path, int rounds)
{
	int file = open_disk(path, O_RDONLY);
	uint64_t seen[2];
	char go;

	for (int round = 1; round <= rounds; round++) {
		while (*now != round)
			;
		for (volatile int pause = round % 16 * 5000; pause--;)
			;
		seen[0] = last_block(file);
		if (read(asks[0], &go, 1) != 1)
			_exit(1);
		seen[1] = last_block(file);
		if (write(answers[1], seen, sizeof(seen)) != sizeof(seen))
			_exit(1);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 1, direct, early = 0;
	uint64_t *big, seen[2];

	now = pages(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
	if (pipe(asks) || pipe(answers))
		fail("pipe: %s", strerror(errno));
	if (fork() == 0)
		look(argv[1], rounds);
	big = memory(BIG);
	buffer = memory(PIECE);
	counting = 1;
	direct = open_disk(argv[1], O_RDWR | O_DIRECT);
	for (int round = 1; round <= rounds; round++) {
		for (long i = 0; i < BIG / 8; i++)
			big[i] = round;
		await_grant("before a round", direct);
		*now = round;
		if (pwrite(direct, big, BIG, FROM) != BIG)
			fail("round %d: pwrite: %s", round, strerror(errno));
		if (write(asks[1], "g", 1) != 1 || read(answers[0], seen, sizeof(seen)) != sizeof(seen))
			fail("the other process has gone");
		early += seen[0] != (uint64_t)round;
		if (seen[1] != (uint64_t)round)
			fail("round %d: the block is old after the write", round);
	}
	printf("%d of %d first looks came before the write's end\n", early, rounds);
	return 0;
}
