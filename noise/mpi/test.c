// SPDX-License-Identifier: Apache-2.0 OR MIT
/* `make check`: compares the functions that only decide with results worked out by hand. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "choose.h"
#include "format.h"
#include "samples.h"

static int failed;

#define CHECK(what)                                                              \
	do {                                                                     \
		if (!(what)) {                                                   \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
			failed = 1;                                              \
		}                                                                \
	} while (0)

static void worst_nodes(void)
{
	const uint64_t noise[] = { 5, 9, 7, 9, 0, 7, 7 };
	uint8_t chosen[7];

	CHECK(choose_worst(noise, 7, 0, chosen) == 0 && !memcmp(chosen, "\0\0\0\0\0\0\0", 7));
	CHECK(choose_worst(noise, 7, 1, chosen) == 1 && !memcmp(chosen, "\0\1\0\0\0\0\0", 7));
	CHECK(choose_worst(noise, 7, 2, chosen) == 2 && !memcmp(chosen, "\0\1\0\1\0\0\0", 7));
	CHECK(choose_worst(noise, 7, 4, chosen) == 4 && !memcmp(chosen, "\0\1\1\1\0\1\0", 7));
	CHECK(choose_worst(noise, 7, 6, chosen) == 6 && !memcmp(chosen, "\1\1\1\1\0\1\1", 7));
	CHECK(choose_worst(noise, 7, 100, chosen) == 7 && !memcmp(chosen, "\1\1\1\1\1\1\1", 7));
	CHECK(choose_worst(noise, 0, 3, chosen) == 0);
}

static cpu_set_t set_of(const char *digits)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (; *digits; digits++)
		CPU_SET(*digits - '0', &set);
	return set;
}

static int places(const char *const *allowed, int ranks, int oversubscribe, const int *expected)
{
	cpu_set_t sets[8];
	int cpus[8];

	for (int i = 0; i < ranks; i++)
		sets[i] = set_of(allowed[i]);
	choose_cpus(sets, ranks, oversubscribe, cpus);
	return !memcmp(cpus, expected, (size_t)ranks * sizeof(int));
}

static void cpus_of_ranks(void)
{
	/* Unbound; bound by the launcher; bound to cores with two hardware threads. */
	CHECK(places((const char *[]){ "0123", "0123", "0123" }, 3, 0, (int[]){ 0, 1, 2 }));
	CHECK(places((const char *[]){ "3", "1" }, 2, 0, (int[]){ 3, 1 }));
	CHECK(places((const char *[]){ "04", "15", "26" }, 3, 0, (int[]){ 0, 1, 2 }));
	/* Ranks with fewer choices choose first. */
	CHECK(places((const char *[]){ "012", "01", "01", "3" }, 4, 0, (int[]){ 2, 0, 1, 3 }));
	/* More ranks than CPUs, and two ranks that the launcher put on one CPU. */
	CHECK(places((const char *[]){ "01", "01", "01", "01" }, 4, 0, (int[]){ 0, 1, -1, -1 }));
	CHECK(places((const char *[]){ "01", "01", "01", "01" }, 4, 1, (int[]){ 0, 1, 0, 1 }));
	CHECK(places((const char *[]){ "2", "2" }, 2, 0, (int[]){ 2, -1 }));
	CHECK(places((const char *[]){ "2", "2" }, 2, 1, (int[]){ 2, 2 }));
	CHECK(places((const char *[]){ "" }, 1, 1, (int[]){ -1 }));
}

static void buckets(void)
{
	CHECK(bucket_of(0) == 0 && bucket_of(127) == 127 && bucket_of(128) == 128 && bucket_of(129) == 128);
	CHECK(bucket_of(130) == 129 && bucket_of(255) == 191 && bucket_of(256) == 192 && bucket_of(259) == 192);
	CHECK(bucket_of(UINT64_MAX) == FWQ_BUCKETS - 1);
	/* Each bucket begins one after the end of the bucket before. */
	for (unsigned int bucket = 1; bucket < FWQ_BUCKETS; bucket++) {
		unsigned int shift = bucket < 128 ? 0 : bucket / 64 - 1;
		uint64_t first = (uint64_t)(bucket - shift * 64) << shift;

		CHECK(bucket_of(first) == bucket && bucket_of(first - 1) == bucket - 1);
	}
}

static void bytes_of_samples(void)
{
	const struct sample samples[] = { { 0, 100 }, { 99, 100 }, { 200, 300 }, { 1000, UINT64_MAX } };
	uint8_t bytes[SAMPLE_BYTES];

	CHECK(write_sample(bytes, &samples[0], 0, 100) == 2 && !memcmp(bytes, "\0\0", 2));
	CHECK(write_sample(bytes, &samples[1], 100, 100) == 2 && !memcmp(bytes, "\1\0", 2));
	CHECK(write_sample(bytes, &samples[2], 199, 100) == 3 && !memcmp(bytes, "\2\310\1", 3));
	CHECK(write_sample(bytes, &samples[3], 500, 0) == 12 && !memcmp(bytes, "\350\7\377", 3) && bytes[11] == 1);
	CHECK(bytes_of(samples, 3, 100) == 7);
}

int main(void)
{
	worst_nodes();
	cpus_of_ranks();
	buckets();
	bytes_of_samples();
	return failed;
}
