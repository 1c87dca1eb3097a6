// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Encodes samples as bytes and finds their buckets; samples.h and format.h define both. */
#include "samples.h"

unsigned int bucket_of(uint64_t length_ns)
{
	unsigned int shift = length_ns < 128 ? 0 : 57 - __builtin_clzll(length_ns);

	return shift * 64 + (unsigned int)(length_ns >> shift);
}

static size_t write_number(uint8_t *to, uint64_t number)
{
	size_t bytes = 0;

	for (; number >= 128; number >>= 7)
		to[bytes++] = (uint8_t)(number | 128);
	to[bytes++] = (uint8_t)number;
	return bytes;
}

size_t write_sample(uint8_t *to, const struct sample *sample, uint64_t end_ns, uint64_t shortest_ns)
{
	int64_t gap = (int64_t)(sample->start_ns - end_ns);
	size_t bytes = write_number(to, (uint64_t)gap << 1 ^ (uint64_t)(gap >> 63));

	return bytes + write_number(to + bytes, sample->length_ns - shortest_ns);
}

uint64_t bytes_of(const struct sample *samples, uint64_t count, uint64_t shortest_ns)
{
	uint8_t scratch[SAMPLE_BYTES];
	uint64_t bytes = 0, end = 0;

	for (uint64_t i = 0; i < count; i++) {
		bytes += write_sample(scratch, &samples[i], end, shortest_ns);
		end = samples[i].start_ns + samples[i].length_ns;
	}
	return bytes;
}
