/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A log of records on a raw block device, as a database keeps one, by O_DIRECT.
 *
 * store append DISK THREADS: each thread finds the end of its log and appends records for ever, each by pwrite and
 *	fdatasync; then it says "THREAD SEQUENCE" on the output: the record is acknowledged.
 * store check DISK THREADS ACKNOWLEDGED: finds the end of each log. Each record is as it was written, none is missing
 *	before the last, and that is no earlier one than the last that the file ACKNOWLEDGED names. Prints how many
 *	records there are, and how many torn ones were left out.
 * store tear DISK THREADS: writes half of each thread's next record, as a death in the midst of it would.
 *
 * A thread's log has two halves. A full half is followed by the other, from its beginning; so whatever is lost of the
 * record that is being written, the records of the half before it are there.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "door.h"

#define BLOCK 512u
#define MOST_BYTES (640u << 10)		/* several commands of a device */
#define HALF (2u << 20)
#define THREADS 4
#define MAGIC 0x65726f7473746361ull

struct record {
	uint64_t magic, sequence, bytes;	/* with this header */
	uint64_t start;				/* of the half: the sequence of its first record */
	uint64_t thread, sum, rest[2];
};

struct log {
	long thread;
	int file;
	unsigned char *memory;
	uint64_t next, start, offset;	/* of the next record; offset in the thread's part of the disk */
	uint64_t records, torn, missing;
};

static const char *path;

/* FNV-1a, of words: enough to see that a block is of another record. */
static uint64_t sum_of(const struct record *record)
{
	const uint64_t *words = (const void *)(record + 1);
	uint64_t sum = 0xcbf29ce484222325ull ^ record->sequence ^ record->start << 32 ^ record->bytes << 8;

	for (uint64_t i = 0; i < (record->bytes - sizeof(*record)) / 8; i++)
		sum = (sum ^ words[i]) * 0x100000001b3ull;
	return sum;
}

/* The content of the thread's record @sequence: each run writes the same. */
static uint64_t word_of(const struct record *record, uint64_t i)
{
	return (record->sequence * THREADS + record->thread) * 0x9e3779b97f4a7c15ull ^ i * 0xff51afd7ed558ccdull;
}

static uint64_t bytes_of(long thread, uint64_t sequence)
{
	uint64_t state = sequence * THREADS + thread + 1;

	/* most are short; each sixteenth may have any length */
	next_random(&state);
	return BLOCK * (1 + next_random(&state) % (sequence % 16 ? 16 : MOST_BYTES / BLOCK));
}

static off_t place(const struct log *log, uint64_t offset)
{
	return log->thread * 2l * HALF + offset;
}

/* The record at @offset is whole: its header is in the log's memory, followed by the rest. */
static int whole(struct log *log, uint64_t offset, uint64_t sequence, uint64_t start)
{
	struct record *record = (void *)log->memory;
	uint64_t room = HALF - offset % HALF;

	if (pread(log->file, record, BLOCK, place(log, offset)) != BLOCK)
		fail("%s: %s", path, strerror(errno));
	if (record->magic != MAGIC || record->thread != (uint64_t)log->thread ||
	    (sequence && (record->sequence != sequence || record->start != start)))
		return 0;
	if (record->bytes % BLOCK || record->bytes < BLOCK || record->bytes > MOST_BYTES || record->bytes > room)
		return 0;
	if (pread(log->file, record, record->bytes, place(log, offset)) != (ssize_t)record->bytes)
		fail("%s: %s", path, strerror(errno));
	if (record->sum != sum_of(record)) {
		log->torn++;
		return 0;
	}
	return 1;
}

/* It has the right sum: were all of its bytes written for it? */
static void verify(const struct log *log)
{
	const struct record *record = (void *)log->memory;
	const uint64_t *words = (const void *)(record + 1);

	if (record->bytes != bytes_of(log->thread, record->sequence))
		fail("thread %ld: record %lu has %lu bytes", log->thread, record->sequence, record->bytes);
	for (uint64_t i = 0; i < (record->bytes - sizeof(*record)) / 8; i++)
		if (words[i] != word_of(record, i))
			fail("thread %ld: word %lu of record %lu is of another", log->thread, i, record->sequence);
}

/* Reads a half from its beginning: the records that follow each other. */
static void scan(struct log *log, unsigned int half)
{
	const struct record *record = (void *)log->memory;
	uint64_t offset = half * HALF, start, next;

	if (!whole(log, offset, 0, 0) || record->sequence != record->start)
		return;
	start = next = record->start;
	do {
		verify(log);
		offset += record->bytes;
		next++;
	} while (offset % HALF && whole(log, offset, next, start));
	log->records += next - start;
	if (start > 1)
		log->missing = start - log->next;
	log->next = next;
	log->start = start;
	log->offset = offset;
}

/* Finds the end of the log; the older half first, or that which has no first record. */
static void recover(struct log *log, long thread)
{
	struct record *record;
	uint64_t starts[2];

	log->thread = thread;
	log->next = log->start = 1;
	log->file = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	log->memory = mmap(NULL, MOST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (log->file < 0 || log->memory == MAP_FAILED)
		fail("%s: %s", path, strerror(errno));
	record = (void *)log->memory;
	for (unsigned int half = 0; half < 2; half++)
		starts[half] = whole(log, half * HALF, 0, 0) ? record->start : 0;
	log->torn = 0;
	scan(log, starts[0] > starts[1]);
	log->missing = 0;
	scan(log, starts[0] <= starts[1]);
}

/* Of the half in which the last record is. */
static uint64_t end_of_half(const struct log *log)
{
	return log->offset ? (log->offset - 1) / HALF * HALF + HALF : HALF;
}

/* The next record, in memory and with its place. */
static struct record *compose(struct log *log)
{
	struct record *record = (void *)log->memory;
	uint64_t *words = (void *)(record + 1), bytes = bytes_of(log->thread, log->next);

	if (log->offset + bytes > end_of_half(log)) {
		log->offset = end_of_half(log) % (2 * HALF);
		log->start = log->next;
	}
	*record = (struct record){ .magic = MAGIC, .sequence = log->next, .bytes = bytes, .start = log->start,
				   .thread = log->thread };
	for (uint64_t i = 0; i < (bytes - sizeof(*record)) / 8; i++)
		words[i] = word_of(record, i);
	record->sum = sum_of(record);
	return record;
}

static void *append(void *thread)
{
	struct log log = {};
	char said[64];

	recover(&log, (long)thread);
	for (;;) {
		struct record *record = compose(&log);
		ssize_t bytes = record->bytes;

		if (pwrite(log.file, record, bytes, place(&log, log.offset)) != bytes || fdatasync(log.file))
			fail("%s: %s", path, strerror(errno));
		bytes = snprintf(said, sizeof(said), "%ld %lu\n", log.thread, log.next);
		if (write(STDOUT_FILENO, said, bytes) != bytes)
			_exit(2);
		log.offset += record->bytes;
		log.next++;
	}
}

static void tear(long thread)
{
	struct log log = {};
	struct record *record;
	ssize_t bytes;

	recover(&log, thread);
	do {	/* one that has halves, and an older one to be found */
		record = compose(&log);
		bytes = record->bytes / 2 / BLOCK * BLOCK;
		if (!bytes && pwrite(log.file, record, BLOCK, place(&log, log.offset)) != BLOCK)
			fail("%s: %s", path, strerror(errno));
		if (!bytes) {
			log.offset += record->bytes;
			log.next++;
		}
	} while (!bytes);
	if (pwrite(log.file, record, bytes, place(&log, log.offset)) != bytes || fdatasync(log.file))
		fail("%s: %s", path, strerror(errno));
}

static void check(long thread, FILE *acknowledged, uint64_t *records, uint64_t *torn)
{
	uint64_t last = 0, sequence;
	struct log log = {};
	long of;

	rewind(acknowledged);
	while (fscanf(acknowledged, "%ld %lu\n", &of, &sequence) == 2)
		if (of == thread && sequence > last)
			last = sequence;
	recover(&log, thread);
	if (log.next <= last)
		fail("thread %ld: record %lu was acknowledged, and the last that is there is %lu", thread, last, log.next - 1);
	/* the next record may have been about to take the older half's place: that begins with the first record */
	if (log.missing && log.offset + bytes_of(thread, log.next) <= end_of_half(&log))
		fail("thread %ld: %lu records before the last ones are missing", thread, log.missing);
	*records += log.records;
	*torn += log.torn;
}

int main(int argc, char **argv)
{
	long threads = argc > 3 ? atol(argv[3]) : 0;
	uint64_t records = 0, torn = 0;
	FILE *acknowledged;
	pthread_t id;

	if (threads < 1 || threads > THREADS)
		fail("store append|check|tear DISK THREADS [ACKNOWLEDGED]");
	path = argv[2];
	if (!strcmp(argv[1], "append")) {
		for (long i = 1; i < threads; i++)
			pthread_create(&id, NULL, append, (void *)i);
		append((void *)0);
	}
	if (!strcmp(argv[1], "tear")) {
		for (long i = 0; i < threads; i++)
			tear(i);
		return 0;
	}
	acknowledged = argc > 4 ? fopen(argv[4], "r") : NULL;
	if (!acknowledged)
		fail("no file of acknowledged records");
	for (long i = 0; i < threads; i++)
		check(i, acknowledged, &records, &torn);
	printf("records %lu torn %lu\n", records, torn);
	return 0;
}
