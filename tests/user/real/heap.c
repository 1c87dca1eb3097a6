/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * heap [THREADS]: 4 threads, or THREADS, allocate memory of all sizes, write it, pass it to each
 * other, and free what others allocated. Each thread checks that the memory has the written
 * contents, or is zero if that was promised.
 */
#define _GNU_SOURCE
#include <err.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, SLOTS = 64, ROUNDS = 2000 };

struct block {
	size_t bytes;
	uint32_t seed;
	unsigned char content[];
};

static struct block *slots[SLOTS];	/* exchanged atomically: the thread that takes a block owns it */
static unsigned long passed;

static uint32_t next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	return *state ^= *state << 5;
}

/* Mostly small sizes, sometimes up to 2 MiB. */
static size_t some_bytes(uint32_t *state)
{
	unsigned int order = next(state) % 64 ? next(state) % 12 : 12 + next(state) % 10;

	return (1ul << order) + next(state) % (1ul << order);
}

/* Some positions in a block, including both ends. */
static void write_block(struct block *block)
{
	uint32_t state = block->seed;

	for (size_t i = 0; i < block->bytes; i += 1 + i / 4)
		block->content[i] = next(&state);
	block->content[block->bytes - 1] = 0x5a;
}

static void check_block(const struct block *block, size_t bytes)
{
	uint32_t state = block->seed;

	for (size_t i = 0; i < bytes; i += 1 + i / 4) {
		unsigned char expected = next(&state);

		if (i != block->bytes - 1 && block->content[i] != expected)
			errx(1, "byte %zu of %zu is %#x, not %#x", i, block->bytes, block->content[i], expected);
	}
	if (bytes == block->bytes && block->content[bytes - 1] != 0x5a)
		errx(1, "the last byte of %zu is %#x", bytes, block->content[bytes - 1]);
}

static struct block *take(uint32_t *state)
{
	size_t bytes = some_bytes(state), all = sizeof(struct block) + bytes;
	struct block *block = NULL;

	switch (next(state) % 4) {
	case 0:
		block = calloc(1, all);
		for (size_t i = 0; block && i < all; i += 1 + i / 8)
			if (((unsigned char *)block)[i])
				errx(1, "byte %zu of %zu is not zero", i, all);
		break;
	case 1:
		if (posix_memalign((void **)&block, 4096, all) || (uintptr_t)block % 4096)
			errx(1, "posix_memalign");
		break;
	default:
		block = malloc(all);
	}
	if (!block)
		errx(1, "no memory");
	block->bytes = bytes;
	block->seed = next(state) | 1;
	write_block(block);
	return block;
}

static struct block *resize(struct block *block, uint32_t *state)
{
	size_t before = block->bytes, bytes = some_bytes(state);

	block = realloc(block, sizeof(*block) + bytes);
	if (!block)
		errx(1, "no memory");
	/* the old last byte has no special position in the new block */
	block->bytes = before;
	check_block(block, before < bytes ? before : bytes);
	block->bytes = bytes;
	write_block(block);
	return block;
}

static void *work(void *number)
{
	uint32_t state = 2463534242u + (uint32_t)(uintptr_t)number * 77;

	for (int round = 0; round < ROUNDS; round++) {
		struct block *mine = take(&state);

		if (next(&state) % 8 == 0)
			mine = resize(mine, &state);
		mine = __atomic_exchange_n(&slots[next(&state) % SLOTS], mine, __ATOMIC_ACQ_REL);
		if (!mine)
			continue;
		check_block(mine, mine->bytes);
		free(mine);
		__atomic_add_fetch(&passed, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(int count, char **words)
{
	uintptr_t used = count > 1 ? strtoul(words[1], NULL, 10) : THREADS;
	pthread_t threads[THREADS];

	if (!used || used > THREADS)
		errx(1, "%s threads, not 1 to %d", words[1], THREADS);

	/* Twice, the second time with memory that the first threads have left. */
	for (int time = 0; time < 2; time++) {
		for (uintptr_t i = 0; i < used; i++)
			if (pthread_create(&threads[i], NULL, work, (void *)i))
				errx(1, "pthread_create");
		for (uintptr_t i = 0; i < used; i++)
			pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < SLOTS; i++) {
		if (!slots[i])
			continue;
		check_block(slots[i], slots[i]->bytes);
		free(slots[i]);
		passed++;
	}
	printf("%lu blocks as they were written\n", passed);
	return 0;
}
