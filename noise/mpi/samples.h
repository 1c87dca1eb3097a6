/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Samples of one rank, their histogram, and how they are written: for each sample two
 * numbers, the time since the end of the sample before it (the first one: since 0), which
 * rounding may turn to -1 ns, so that its sign is moved to bit 0 (zigzag), and its length
 * less the rank's shortest. A number is seven bits to a byte, the lowest first, bit 7 set in
 * all but the last (LEB128): a quiet sample takes three bytes.
 */
#ifndef TACET_FWQ_SAMPLES_H
#define TACET_FWQ_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

struct sample {
	uint64_t start_ns;	/* since the rank's first one */
	uint64_t length_ns;
};

/* Bytes that one sample takes at most. */
#define SAMPLE_BYTES 20

/* The bucket of a noise length, below FWQ_BUCKETS. */
unsigned int bucket_of(uint64_t length_ns);

/* Writes one sample; `end_ns` is the end of the one before. Returns the bytes. */
size_t write_sample(uint8_t *to, const struct sample *sample, uint64_t end_ns, uint64_t shortest_ns);

/* The bytes of all. */
uint64_t bytes_of(const struct sample *samples, uint64_t count, uint64_t shortest_ns);

#endif
