// SPDX-License-Identifier: Apache-2.0 OR MIT
/* The whole run; rank 0 prints its result. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "fwq.h"

#define LINE 512

/* All ranks end together: rank 0's output must be complete before the launcher sees the first rank exit. */
static void finalize(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
}

/* Ends the run on all ranks if some rank has an error line; rank 0 prints that of the first such rank. */
void agree(const char *wrong)
{
	char line[LINE] = "", host[FWQ_HOST_BYTES] = "";
	int rank, ranks, first;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	first = wrong ? rank : ranks;
	MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (first == ranks)
		return;
	gethostname(host, sizeof(host) - 1);
	if (first == rank)
		snprintf(line, sizeof(line), "%s (rank %d on %s)", wrong, rank, host);
	if (first == rank && rank)
		MPI_Send(line, LINE, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
	if (!rank && first)
		MPI_Recv(line, LINE, MPI_CHAR, first, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (!rank) {
		file_abandon();
		fprintf(stderr, "tacet-mpi-fwq: %s\n", line);
	}
	exit(2);
}

/* The strings that format.h lists, in memory that the caller frees. */
static char *describe(int argc, char **argv, const struct options *options, uint64_t *bytes)
{
	char host[FWQ_HOST_BYTES] = "", arguments[4096], processor[256], source[256];
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct utsname kernel;

	if (!out)
		return NULL;
	gethostname(host, sizeof(host) - 1);
	uname(&kernel);
	line_of("/proc/cmdline", NULL, arguments, sizeof(arguments));
	line_of("/proc/cpuinfo", "model name", processor, sizeof(processor));
	if (!processor[0])
		line_of("/proc/cpuinfo", "CPU part", processor, sizeof(processor));
	time_source(source, sizeof(source));
	const char *facts[] = { FWQ_VERSION, options->label ? options->label : host, host, kernel.release, arguments,
				processor, source };

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		fwrite(facts[i], 1, strlen(facts[i]) + 1, out);
	for (int i = 0; i < argc; i++)
		fwrite(argv[i], 1, strlen(argv[i]) + 1, out);
	fclose(out);
	*bytes = size;
	return text;
}

static void report(const struct options *options, const struct fwq_header *header, const struct totals *totals)
{
	printf("%s, %s: %llu ranks on %llu nodes, %llu samples of %llu units each\n",
	       header->mode ? "StepSync" : "StartSync", header->kernel ? "daxpy" : "register",
	       (unsigned long long)header->ranks, (unsigned long long)header->nodes,
	       (unsigned long long)header->samples, (unsigned long long)header->units);
	printf("run time: min %.9f s, max %.9f s, max - min %.9f s\n", (double)totals->shortest_run_ns / 1e9,
	       (double)totals->longest_run_ns / 1e9,
	       (double)(totals->longest_run_ns - totals->shortest_run_ns) / 1e9);
	printf("longest noise %.3f us: rank %u, %s, cpu %u; noise rate %.3e\n", (double)totals->noise_ns / 1e3,
	       totals->noisiest.rank, totals->host, totals->noisiest.cpu, totals->noise_rate);
	printf("run: %s, with the samples of the %llu worst nodes; `tacet noise collect` makes a record of it\n",
	       options->output, (unsigned long long)totals->stored_nodes);
}

int main(int argc, char **argv)
{
	struct fwq_header header = { .magic = FWQ_MAGIC, .format = FWQ_FORMAT };
	static struct found found;
	struct options options;
	struct place place;
	struct work work;
	char source[256];
	char *text = NULL;

	MPI_Init(&argc, &argv);
	atexit(finalize);
	MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
	read_options(argc, argv, &options, !place.rank);
	find_place(&place, options.split);
	agree(time_source(source, sizeof(source)));
	agree(bind_rank(&place, options.oversubscribe));
	if (!place.rank)
		text = describe(argc, argv, &options, &header.text_bytes);
	agree(place.rank || text ? NULL : "no memory for a description");
	agree(place.rank ? NULL : file_open(options.output));
	header.began_unix_s = (uint64_t)time(NULL);
	agree(place.rank ? NULL : plan_work(&options, &work));
	MPI_Bcast(&work, sizeof(work), MPI_BYTE, 0, MPI_COMM_WORLD);
	agree(prepare(&options, &work, &found));
	found.row.rank = (uint32_t)place.rank;
	found.row.cpu = (uint32_t)place.cpu;
	measure(&options, &work, &found);

	header.mode = options.step_sync;
	header.kernel = options.daxpy;
	header.ranks = (uint64_t)place.ranks;
	header.nodes = (uint64_t)place.nodes;
	header.samples = work.samples;
	header.units = work.units;
	header.quantum_ns = options.units ? 0 : (uint64_t)(options.quantum_ns + 0.5);
	struct totals totals = gather(options.worst, &place, &header, text, &found);

	agree(place.rank ? NULL : file_close());
	if (!place.rank)
		report(&options, &header, &totals);
	free(text);
	return 0;
}
