// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * What another program has left in the node's memory: `remains leave` fills all that it gets with a mark, on the heap, in
 * its data and on its stack, and ends without a clean-up; `remains look` says in how many words it finds the mark.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MARK 0x7261636b6d61726bull
#define LEAST 4096ul
#define STACK_WORDS 4096

static uint64_t data[1 << 16];

static uint64_t count(const volatile uint64_t *words, unsigned long number)
{
	uint64_t found = 0;

	for (unsigned long at = 0; at < number; at++)
		found += words[at] == MARK;
	return found;
}

static void fill(volatile uint64_t *words, unsigned long number)
{
	for (unsigned long at = 0; at < number; at++)
		words[at] = MARK;
}

/* Its frame is memory that this program has not written yet. */
static __attribute__((noinline)) uint64_t on_stack(int leaves)
{
	volatile uint64_t words[STACK_WORDS];

	if (leaves)
		fill(words, STACK_WORDS);
	return count(words, STACK_WORDS);
}

/* All memory that the node gives, in ever smaller parts. */
static uint64_t on_heap(int leaves, unsigned long *bytes)
{
	uint64_t found = 0;

	for (unsigned long part = 1ul << 30; part >= LEAST && *bytes < 1ul << 30;) {
		uint64_t *words = mmap(NULL, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (words == MAP_FAILED) {
			part /= 2;
			continue;
		}
		if (leaves)
			fill(words, part / sizeof(*words));
		found += count(words, part / sizeof(*words));
		*bytes += part;
	}
	return found;
}

int main(int argc, char **argv)
{
	int leaves = argc > 1 && !strcmp(argv[1], "leave");
	unsigned long bytes = 0;
	uint64_t found;

	if (leaves)
		fill(data, sizeof(data) / sizeof(*data));
	found = count(data, sizeof(data) / sizeof(*data)) + on_stack(leaves) + on_heap(leaves, &bytes);
	printf("%s in %s\n", found ? "marks" : "no mark", bytes > (16ul << 20) ? "more than 16 MiB" : "too little memory");
	return 0;
}
