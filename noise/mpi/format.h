/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The file of a run, as rank 0 writes it and `tacet noise collect` reads it
 * (noise/src/collect/). Little-endian, without padding, in this order:
 *
 *   struct fwq_header
 *   text      header.text_bytes: strings, each ended by a zero byte: version, label,
 *             host, kernel release, kernel arguments, processor, time source of
 *             rank 0, then the command line, word by word
 *   histogram FWQ_BUCKETS counts of noise lengths, of all samples of all ranks
 *   nodes     for each of header.nodes, in the order of their lowest ranks:
 *             struct fwq_node, then its fwq_node.ranks times struct fwq_rank
 *   samples   for each rank with stored_bytes > 0, in the order of the table: that many
 *             bytes, in the encoding of samples.h
 *   checksum  FNV-1a, 64 bits, of all bytes before
 *
 * With R ranks on N nodes the file has 30,208 + 72 N + 72 R bytes and some text, plus
 * the samples of the worst nodes.
 */
#ifndef TACET_FWQ_FORMAT_H
#define TACET_FWQ_FORMAT_H

#include <stdint.h>

#define FWQ_VERSION "0.1.0"
#define FWQ_MAGIC "TACETFWQ"
#define FWQ_FORMAT 1
#define FWQ_HOST_BYTES 64

/*
 * Buckets of noise lengths in ns, log-linear: lengths below 128 have one each, longer ones
 * 64 in each power of two, so a bucket is at most 1/64 of its lengths wide. Counts are exact;
 * the sum of two histograms is the histogram of both sets of samples.
 */
#define FWQ_BUCKETS 3776

struct fwq_header {
	char magic[8];
	uint64_t format;
	uint64_t mode;		/* 0: one barrier; 1: a barrier before each quantum */
	uint64_t kernel;	/* 0: register; 1: daxpy */
	uint64_t ranks;
	uint64_t nodes;
	uint64_t stored_nodes;
	uint64_t samples;	/* of each rank */
	uint64_t units;		/* of a quantum */
	uint64_t quantum_ns;	/* as requested; 0 if the units were given instead */
	uint64_t began_unix_s;
	uint64_t memory_locked;	/* 1: on every rank */
	uint64_t huge_pages;
	uint64_t text_bytes;
};

struct fwq_node {
	char host[FWQ_HOST_BYTES];	/* ended by a zero byte */
	uint64_t ranks;
};

struct fwq_rank {
	uint32_t rank;
	uint32_t cpu;
	uint64_t shortest_ns;	/* T_min */
	uint64_t longest_ns;	/* T_max */
	uint64_t run_ns;	/* from the first quantum's beginning to the last one's end */
	double noise_rate;	/* the mean of (T_i - T_min) / T_min */
	double ticks_per_second;
	uint64_t stored_bytes;
	uint32_t voluntary_switches;
	uint32_t involuntary_switches;
	uint32_t minor_faults;
	uint32_t major_faults;
};

_Static_assert(sizeof(struct fwq_header) == 112 && sizeof(struct fwq_node) == 72 && sizeof(struct fwq_rank) == 72,
	       "the file has no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is little-endian");

#endif
