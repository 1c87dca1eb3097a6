// SPDX-License-Identifier: Apache-2.0 OR MIT
/* The measurement: rank 0 calibrates the work, all ranks do the same work, each describes what it measured. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "fwq.h"

static struct noise_vectors vectors __attribute__((aligned(64)));

static void run(const struct options *options, uint64_t *times, uint64_t quanta, uint64_t units)
{
	if (options->daxpy)
		noise_fwq_daxpy(times, quanta, units, &vectors);
	else
		noise_fwq_register(times, quanta, units);
}

/* Ticks of one quantum: the shortest of a few. */
static double shortest_quantum(const struct options *options, uint64_t units)
{
	uint64_t times[9], shortest = UINT64_MAX;

	run(options, times, 8, units);
	for (int i = 0; i < 8; i++)
		if (times[i + 1] - times[i] < shortest)
			shortest = times[i + 1] - times[i];
	return shortest ? (double)shortest : 1;
}

const char *plan_work(const struct options *options, struct work *work)
{
	static char wrong[128];
	struct moment before = now();

	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	double ticks_per_ns = rate_between(before, now()) / 1e9;
	double quantum = options->quantum_ns * ticks_per_ns;

	for (int i = 0; i < NOISE_DAXPY_ELEMENTS; i++)
		vectors.x[i] = 1;
	work->units = options->units ? options->units : 16;
	if (!options->units) {
		while (shortest_quantum(options, work->units) < quantum / 16 && work->units < 1ull << 40)
			work->units *= 2;
		/* Twice: the first time brings the clock to the frequency at which the second one measures. */
		for (int i = 0; i < 2; i++) {
			double units = round((double)work->units * quantum / shortest_quantum(options, work->units));

			work->units = units < 1 ? 1 : (uint64_t)units;
		}
	} else {
		quantum = shortest_quantum(options, work->units);
	}
	double samples = options->samples ? (double)options->samples : round(options->duration_ns * ticks_per_ns / quantum);

	if (samples > (double)SAMPLES_LIMIT) {
		snprintf(wrong, sizeof(wrong), "%.0f samples on each rank are too many: at most %llu", samples, SAMPLES_LIMIT);
		return wrong;
	}
	work->samples = samples < 1 ? 1 : (uint64_t)samples;
	return NULL;
}

/* Allocates and touches the room for samples, and warms up the code, the operands and the clock frequency. */
const char *prepare(const struct options *options, const struct work *work, struct found *found)
{
	static char wrong[128];
	size_t bytes = (work->samples + 1) * sizeof(struct sample), huge = 2u << 20;
	size_t rounded = (bytes + huge - 1) / huge * huge;
	void *room = mmap(NULL, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);

	found->huge = room != MAP_FAILED;
	if (!found->huge)
		room = mmap(NULL, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED) {
		snprintf(wrong, sizeof(wrong), "memory for %llu samples: %s", (unsigned long long)work->samples, strerror(errno));
		return wrong;
	}
	if (!found->huge)
		madvise(room, rounded, MADV_HUGEPAGE);
	memset(room, 0, rounded);
	found->samples = room;
	found->locked = !mlockall(MCL_CURRENT);
	for (int i = 0; i < NOISE_DAXPY_ELEMENTS; i++)
		vectors.x[i] = 1;
	for (int i = 0; i < 4; i++)
		shortest_quantum(options, work->units);
	return NULL;
}

/* Converts ticks to nanoseconds in place: `times` holds n + 1 times of one loop, or n pairs of begin and end. */
static void convert(struct found *found, uint64_t samples, bool pairs, double ticks_per_second)
{
	uint64_t *times = (uint64_t *)found->samples, origin = times[0];

	/* From the end: sample i is stored at or behind the two times from which it is made. */
	for (uint64_t i = samples; !pairs && i-- > 0;) {
		uint64_t begin = times[i], end = times[i + 1];

		times[2 * i] = begin;
		times[2 * i + 1] = end;
	}
	for (uint64_t i = 0; i < samples; i++) {
		uint64_t begin = times[2 * i], end = times[2 * i + 1];

		found->samples[i].start_ns = (uint64_t)round((double)(begin - origin) * 1e9 / ticks_per_second);
		found->samples[i].length_ns = (uint64_t)round((double)(end - begin) * 1e9 / ticks_per_second);
	}
}

/* T_min, T_max, the rate (Eq. 2 of paper 000) and the histogram. */
static void describe(struct found *found, uint64_t samples)
{
	struct fwq_rank *row = &found->row;
	const struct sample *last = &found->samples[samples - 1];
	double noise = 0;

	row->shortest_ns = UINT64_MAX;
	row->longest_ns = 0;
	for (uint64_t i = 0; i < samples; i++) {
		uint64_t length = found->samples[i].length_ns;

		if (length < row->shortest_ns)
			row->shortest_ns = length;
		if (length > row->longest_ns)
			row->longest_ns = length;
	}
	for (uint64_t i = 0; i < samples; i++) {
		uint64_t length = found->samples[i].length_ns - row->shortest_ns;

		noise += (double)length;
		found->histogram[bucket_of(length)]++;
	}
	row->noise_rate = noise / (row->shortest_ns ? (double)row->shortest_ns : 1) / (double)samples;
	row->run_ns = last->start_ns + last->length_ns;
}

void measure(const struct options *options, const struct work *work, struct found *found)
{
	uint64_t *times = (uint64_t *)found->samples;
	struct rusage before, after;

	MPI_Barrier(MPI_COMM_WORLD);
	getrusage(RUSAGE_THREAD, &before);
	struct moment begin = now();

	MPI_Barrier(MPI_COMM_WORLD);
	if (options->step_sync) {
		for (uint64_t i = 0; i < work->samples; i++) {
			MPI_Barrier(MPI_COMM_WORLD);
			run(options, times + 2 * i, 1, work->units);
		}
	} else {
		run(options, times, work->samples, work->units);
	}
	struct moment end = now();

	getrusage(RUSAGE_THREAD, &after);
	found->row.ticks_per_second = rate_between(begin, end);
	found->row.voluntary_switches = (uint32_t)(after.ru_nvcsw - before.ru_nvcsw);
	found->row.involuntary_switches = (uint32_t)(after.ru_nivcsw - before.ru_nivcsw);
	found->row.minor_faults = (uint32_t)(after.ru_minflt - before.ru_minflt);
	found->row.major_faults = (uint32_t)(after.ru_majflt - before.ru_majflt);
	convert(found, work->samples, options->step_sync, found->row.ticks_per_second);
	describe(found, work->samples);
}
