/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The common part of the fuzzer's files: numbers from a seed, and the counts of
 * answers.
 */
#ifndef TACET_TESTS_FUZZ_HOSTILE_H
#define TACET_TESTS_FUZZ_HOSTILE_H

#include <stdint.h>
#include <sys/types.h>

struct source {
	uint64_t state;
};

static inline uint64_t number(struct source *source)
{
	source->state ^= source->state << 13;
	source->state ^= source->state >> 7;
	source->state ^= source->state << 17;
	return source->state * 0x2545f4914f6cdd1dull;
}

static inline uint64_t below(struct source *source, uint64_t limit)
{
	return number(source) % limit;
}

static inline int one_in(struct source *source, uint64_t n)
{
	return below(source, n) == 0;
}

/* A number that code may handle wrongly. */
static inline uint64_t nasty(struct source *source)
{
	static const uint64_t numbers[] = {
		0, 1, 2, 3, 4, 63, 64, 255, 256, 1023, 1024, 4095, 4096, 65535, 65536, 65537,
		0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0x100000000, 0x7fffffffffff,
		0x800000000000, 0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffff000,
		0xffffffffffffffff, 0xffff888000000000, 0xffffffff81000000, 0x200000,
	};
	uint64_t chosen = numbers[below(source, sizeof(numbers) / sizeof(*numbers))];

	switch (below(source, 4)) {
	case 0: return number(source);
	case 1: return 1ull << below(source, 64);
	case 2: return chosen + below(source, 3) - 1;
	default: return chosen;
	}
}

/* The possible subjects of requests; written before the threads start. */
#define MAX_TARGETS 16
extern pid_t targets[MAX_TARGETS];
extern int target_count;

/* The co-kernel's image, for requests that start a partition; written before the threads start. */
extern char image[1 << 20];
extern size_t image_bytes;

/* requests.c: one ioctl, 0 or an errno. */
int hostile_request(struct source *source, int door);
/* files.c: one access below /sys/kernel/tacet, 0 or an errno. */
int hostile_file(struct source *source);

#endif
