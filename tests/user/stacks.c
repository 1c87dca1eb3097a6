/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * More threads than the C library caches stacks for: it frees each further stack, after Linux has
 * written to it at the thread's end. The other memory must not change.
 */
#include "check.h"

#include <pthread.h>

#define THREADS 24

static void *write_down(void *number)
{
	volatile char deep[30000];

	for (size_t i = 0; i < sizeof(deep); i += 1000)
		deep[i] = (char)(long)number;
	for (size_t i = 0; i < sizeof(deep); i += 1000)
		CHECK(deep[i] == (char)(long)number);
	return number;
}

int main(void)
{
	char *kept = private_pages(512);
	pthread_t threads[THREADS];
	void *number;

	memset(kept, 7, 512 * 4096);
	for (int round = 0; round < 3; round++) {
		for (long i = 0; i < THREADS; i++)
			CHECK(!pthread_create(&threads[i], NULL, write_down, (void *)i));
		for (long i = 0; i < THREADS; i++)
			CHECK(!pthread_join(threads[i], &number) && number == (void *)i);
	}
	for (int i = 0; i < 512 * 4096; i++)
		CHECK(kept[i] == 7);
	say("given back\n");
	return 0;
}
