// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Reads a block device by O_DIRECT, N times on each of T threads at once: by pread, or through a ring of io_uring that
 * has one request at a time.
 *
 * usage: disk HOW DEVICE BYTES CALLS THREADS [FIRST_CPU [shared]]
 * HOW: pread; ring; polled, a ring that polls for completions (the kernel must have queues for that); thread, a ring
 * whose entries a thread of the kernel takes; passed, a polled ring of the device's own commands (DEVICE is then
 * /dev/ngXnY, whose sectors must be of 512 bytes); scattered, by pread into a buffer whose pages became present in turns
 * with those of another one, and that has no huge page: on Linux neighbours are then apart. With FIRST_CPU, thread i pins
 * itself to FIRST_CPU + i, if that is not negative; this is for Linux, since the co-kernel places hosted threads. With
 * `shared` all threads have the CPU FIRST_CPU, or the core that they were started on. A short read is continued: a polled
 * ring's long ones are short.
 * Prints the figures of together.h, and `entered`: the calls of io_uring in the region. A read that fails ends it with
 * status 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring.h"
#include "together.h"

#define WARM 20
#define PAGE 4096ul
#define MIB (1ul << 20)
#define SPAN (32 * MIB)		/* of the device */

static const char *const hows[] = { "pread", "scattered", "ring", "polled", "thread", "passed" };
static unsigned long bytes, calls;
static enum { BY_PREAD, BY_SCATTERED, BY_RING, BY_POLLED, BY_THREAD, BY_PASSED, HOWS } how;
static int file;
static atomic_ulong entered;

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
		char *to = reader->buffer + have;
		long result = how <= BY_SCATTERED ? pread(file, to, bytes - have, reader->at + have) :
						ring_read(&reader->ring, file, to, bytes - have, reader->at + have);

		if (result <= 0) {
			errno = how <= BY_SCATTERED ? errno : -result;
			fail("disk: read");
		}
		have += result;
	}
	reader->at = (reader->at + bytes) % SPAN;
}

static char *memory(unsigned long room)
{
	char *all = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED)
		fail("disk: mmap");
	return all;
}

static char *buffer_of(unsigned long room)
{
	char *buffer = memory(room);

	if (how == BY_SCATTERED) {
		char *other = memory(room);

		if (madvise(buffer, room, MADV_NOHUGEPAGE) || madvise(other, room, MADV_NOHUGEPAGE))
			fail("disk: madvise");
		for (unsigned long at = 0; at < room; at += PAGE)
			buffer[at] = other[at] = 1;
	}
	memset(buffer, 1, room);
	return buffer;
}

static void *prepare(unsigned int index)
{
	static const enum ring_kind kinds[HOWS] = { [BY_POLLED] = RING_POLLED, [BY_THREAD] = RING_THREAD,
						    [BY_PASSED] = RING_PASSED };
	struct reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		fail("disk: calloc");
	reader->buffer = buffer_of(bytes < MIB ? MIB : bytes);
	reader->at = index * MIB % SPAN;
	if (how > BY_SCATTERED)
		ring_open(&reader->ring, kinds[how]);
	for (unsigned int i = 0; i < WARM; i++) {
		once(reader);
		if (!i)
			usleep(200000);	/* a grant comes with a call on Linux, and is not asked for all the time */
	}
	reader->ring.entered = 0;
	return reader;
}

static void work(void *own)
{
	struct reader *reader = own;

	for (unsigned long i = 0; i < calls; i++)
		once(reader);
	atomic_fetch_add(&entered, reader->ring.entered);
}

int main(int argc, char **argv)
{
	struct together wanted = { .first_cpu = argc > 6 ? atoi(argv[6]) : -1, .prepare = prepare, .work = work,
				   .shared = argc > 7 && !strcmp(argv[7], "shared") };

	while (argc > 1 && how < HOWS && strcmp(argv[1], hows[how]))
		how++;
	if (argc < 6 || how == HOWS || (wanted.threads = atoi(argv[5])) < 1 || wanted.threads > TOGETHER_MOST) {
		fprintf(stderr, "usage: disk pread|scattered|ring|polled|thread|passed DEVICE BYTES CALLS THREADS "
				"[FIRST_CPU [shared]]\n");
		return 2;
	}
	file = open(argv[2], how == BY_PASSED ? O_RDONLY : O_RDONLY | O_DIRECT);
	if (file < 0)
		fail(argv[2]);
	bytes = strtoul(argv[3], NULL, 0);
	calls = strtoul(argv[4], NULL, 0);
	together(wanted, calls);
	printf("entered %lu\n", entered);
	return 0;
}
