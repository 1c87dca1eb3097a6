/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* hog: one thread computes, another allocates memory and keeps it, until it is killed. */
#include "door.h"

#include <pthread.h>
#include <sys/mman.h>

static void *compute(void *argument)
{
	volatile uint64_t count = 0;

	for (;;)
		count++;
	return argument;
}

int main(void)
{
	size_t bytes = 4 << 20;
	pthread_t thread;

	if (pthread_create(&thread, NULL, compute, NULL))
		return 1;
	for (;;) {
		char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			return 2;
		for (size_t at = 0; at < bytes; at += 4096)
			memory[at] = 1;
	}
}
