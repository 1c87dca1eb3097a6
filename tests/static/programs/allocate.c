/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Threads allocate, fill, grow and free memory of many sizes; nothing is lost or overwritten. */
#include <pthread.h>

#include "../../user/check.h"

#define THREADS 4
#define SLOTS 256
#define ROUNDS 20000

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void *work(void *argument)
{
	uint64_t state = 88172645463325252ull + (uintptr_t)argument, sum = 0;
	unsigned char *blocks[SLOTS] = { 0 };
	size_t sizes[SLOTS] = { 0 };

	for (int round = 0; round < ROUNDS; round++) {
		int slot = next(&state) % SLOTS;
		size_t bytes = next(&state) % (round % 64 ? 2000 : 400000) + 1;

		for (size_t i = 0; i < sizes[slot]; i += 97)
			CHECK(blocks[slot][i] == (unsigned char)slot);
		if (next(&state) % 3 == 0) {
			blocks[slot] = realloc(blocks[slot], bytes);
		} else {
			free(blocks[slot]);
			blocks[slot] = malloc(bytes);
		}
		CHECK(blocks[slot]);
		memset(blocks[slot], slot, bytes);
		sizes[slot] = bytes;
		sum += bytes;
	}
	for (int slot = 0; slot < SLOTS; slot++)
		free(blocks[slot]);
	return (void *)sum;
}

int main(void)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;
	void *result;

	for (long i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++) {
		CHECK(pthread_join(threads[i], &result) == 0);
		sum += (uint64_t)result;
	}
	say("allocated %lu bytes\n", sum);
	return 0;
}
