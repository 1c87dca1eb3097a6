// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Reads a block device by O_DIRECT, N times on each of T threads at once: by pread, or through a ring of io_uring that
 * has one request at a time.
 *
 * usage: disk HOW DEVICE BYTES CALLS THREADS [FIRST_CPU]
 * HOW: pread, ring, polled (a ring that polls for completions; the kernel must have queues for that). With FIRST_CPU,
 * thread i pins itself to FIRST_CPU + i; this is for Linux, since the co-kernel places hosted threads. All threads start
 * together and wait for the last; region 1 covers this time. A short read is continued: a polled ring's long ones are
 * short. Prints `call_ns` (a caller's time for one read, the median of the threads) and `elapsed_ns`. A read that fails
 * ends it with status 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "marker.h"
#include "pin.h"
#include "ring.h"

#define MOST 64
#define WARM 20
#define MIB (1ul << 20)
#define SPAN (32 * MIB)		/* of the device */

static unsigned long bytes, calls;
static unsigned int threads;
static int file, first_cpu = -1;
static bool rings, polled;
static atomic_uint ready, go, done;
static uint64_t took[MOST];

struct reader {
	char *buffer;
	struct ring ring;
	off_t at;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void once(struct reader *reader)
{
	unsigned long have = 0;

	while (have < bytes) {
		long result = rings ? ring_read(&reader->ring, file, reader->buffer + have, bytes - have, reader->at + have) :
				      pread(file, reader->buffer + have, bytes - have, reader->at + have);

		if (result <= 0) {
			errno = rings ? -result : errno;
			fail("disk: read");
		}
		have += result;
	}
	reader->at = (reader->at + bytes) % SPAN;
}

static void prepare(struct reader *reader, unsigned int index)
{
	pin(first_cpu < 0 ? -1 : first_cpu + (int)index);
	reader->buffer = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (reader->buffer == MAP_FAILED)
		fail("disk: mmap");
	memset(reader->buffer, 1, MIB);
	reader->at = index * MIB % SPAN;
	if (rings)
		ring_open(&reader->ring, polled);
	for (unsigned int i = 0; i < WARM; i++) {
		once(reader);
		if (!i)
			usleep(200000);	/* a grant comes with a call on Linux, and is not asked for all the time */
	}
	atomic_fetch_add(&ready, 1);
}

static void measured(struct reader *reader, unsigned int index)
{
	uint64_t start = ticks();

	for (unsigned long i = 0; i < calls; i++)
		once(reader);
	took[index] = ticks() - start;
	atomic_fetch_add(&done, 1);
}

static void *caller(void *index)
{
	struct reader reader = {};

	prepare(&reader, (uintptr_t)index);
	while (!atomic_load(&go))
		;
	measured(&reader, (uintptr_t)index);
	return NULL;
}

static void parse(int argc, char **argv)
{
	if (argc < 6 || (threads = atoi(argv[5])) < 1 || threads > MOST) {
		fprintf(stderr, "usage: disk pread|ring|polled DEVICE BYTES CALLS THREADS [FIRST_CPU]\n");
		exit(2);
	}
	rings = strcmp(argv[1], "pread");
	polled = !strcmp(argv[1], "polled");
	file = open(argv[2], O_RDONLY | O_DIRECT);
	if (file < 0)
		fail(argv[2]);
	bytes = strtoul(argv[3], NULL, 0);
	calls = strtoul(argv[4], NULL, 0);
	if (argc > 6)
		first_cpu = atoi(argv[6]);
}

int main(int argc, char **argv)
{
	pthread_t others[MOST];
	struct reader reader = {};
	struct clock clock;
	uint64_t start, elapsed;

	parse(argc, argv);
	clock_start(&clock);
	for (uintptr_t i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, caller, (void *)i))
			return 1;
	prepare(&reader, 0);
	while (atomic_load(&ready) < threads)
		;
	MARK(MARK_REGION, 1);
	start = ticks();
	atomic_store(&go, 1);
	measured(&reader, 0);
	while (atomic_load(&done) < threads)
		;
	elapsed = ticks() - start;
	MARK(MARK_REGION_END, 1);
	for (unsigned int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	clock_stop(&clock);
	printf("call_ns %.1f\n", nanoseconds(&clock, middle(took, threads)) / calls);
	printf("elapsed_ns %.0f\n", nanoseconds(&clock, elapsed));
	return 0;
}
