/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * MPI-FWQ (paper: Decoupled, section 4): the same fixed work on every rank at once, with one
 * barrier before all of it (StartSync) or one before each quantum (StepSync). The program uses
 * only what MPI and glibc promise, so it runs under every MPI and launcher.
 */
#ifndef TACET_FWQ_H
#define TACET_FWQ_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "format.h"
#include "loop.h"
#include "samples.h"

/* The most samples of one rank, as in `tacet noise measure`: 18 hours of 1 ms quanta, 1 GiB. */
#define SAMPLES_LIMIT (1ull << 26)

/*
 * main.c: if some rank passes an error line, ends the run on all ranks with the line of the first
 * such rank. Collective. The functions below that return an error line return NULL on success.
 */
void agree(const char *wrong);

/* options.c: the command line, which is the same on every rank. */
struct options {
	bool step_sync, daxpy, oversubscribe;
	double quantum_ns, duration_ns;
	uint64_t units, samples;	/* 0: chosen by quantum_ns and duration_ns */
	uint64_t worst, split;
	const char *label, *output;
};

void read_options(int argc, char **argv, struct options *options, bool speak);

/* place.c: this rank's numbers and CPU. A node is the set of ranks that share memory, or `split` of them. */
struct place {
	MPI_Comm machine;	/* the ranks that share memory */
	MPI_Comm node;
	MPI_Comm leaders;	/* the first ranks of all nodes; null on other ranks */
	int rank, ranks, on_node, node_ranks, nodes;
	int cpu;
};

void find_place(struct place *place, uint64_t split);
/* Binds the rank to one CPU. */
const char *bind_rank(struct place *place, bool oversubscribe);

/* machine.c: whether time can be trusted, and its rate. */
struct moment {
	uint64_t ticks;
	double raw_ns;
};

const char *time_source(char *name, size_t room);
struct moment now(void);
double rate_between(struct moment earlier, struct moment later);
/* The first line of a file, or of /proc/cpuinfo the value of `field`. */
void line_of(const char *path, const char *field, char *text, size_t room);

/* measure.c: the measurement. `work` is what all ranks do; `found` is what one rank measured. */
struct work {
	uint64_t units, samples;
};

struct found {
	struct sample *samples;
	struct fwq_rank row;
	bool locked, huge;
	uint64_t histogram[FWQ_BUCKETS];
};

const char *plan_work(const struct options *options, struct work *work);
const char *prepare(const struct options *options, const struct work *work, struct found *found);
void measure(const struct options *options, const struct work *work, struct found *found);

/* file.c: the run's file, on rank 0. Errors are kept until file_close. */
const char *file_open(const char *path);
void file_write(const void *bytes, size_t count);
const char *file_close(void);
void file_abandon(void);

/* gather.c: chooses the worst nodes and writes everything to the file. Collective. */
struct totals {
	uint64_t stored_nodes, shortest_run_ns, longest_run_ns, noise_ns;
	struct fwq_rank noisiest;
	char host[FWQ_HOST_BYTES];
	double noise_rate;
};

struct totals gather(uint64_t worst, const struct place *place, struct fwq_header *header, const char *text,
		     struct found *found);

#endif
