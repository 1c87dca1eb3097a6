/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The samples of one rank, their histogram, and their encoding. A sample is two numbers: the
 * time since the end of the sample before it (for the first one: since 0), and its length
 * less the rank's shortest. Rounding may make the first number -1 ns, so its sign is moved to
 * bit 0 (zigzag). A number has seven bits in each byte, the lowest first, with bit 7 set in
 * all bytes but the last (LEB128). A quiet sample takes three bytes.
 */
#ifndef TACET_FWQ_SAMPLES_H
#define TACET_FWQ_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

struct sample {
	uint64_t start_ns;	/* since the start of the rank's first sample */
	uint64_t length_ns;
};

/* The most bytes that one sample takes. */
#define SAMPLE_BYTES 20

/* The bucket of a noise length, below FWQ_BUCKETS. */
unsigned int bucket_of(uint64_t length_ns);

/* Writes one sample; `end_ns` is the end of the one before. Returns the number of bytes. */
size_t write_sample(uint8_t *to, const struct sample *sample, uint64_t end_ns, uint64_t shortest_ns);

/* The number of bytes of all samples. */
uint64_t bytes_of(const struct sample *samples, uint64_t count, uint64_t shortest_ns);

#endif
