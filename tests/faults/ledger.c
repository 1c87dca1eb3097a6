/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * ledger use DISK FILE THREADS [again|parts]: for ever, each thread writes pieces of a disk and reads them back. FILE says
 * of each piece which writes have begun and which were acknowledged; its first eight bytes count rounds. With `again` a
 * thread that gets an error opens the disk again until that succeeds; else it ends the program with status 4. A piece that
 * is neither the last acknowledged nor a later one ends it with status 3. With `parts` each call is by a vector of 32
 * buffers of 8 KiB: of a disk that takes no longer commands these are as many as a queue may have at the same time.
 *
 * ledger check DISK FILE: the same for the whole disk, when nobody uses it.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "door.h"

#define SLOT (1l << 20)
#define SLOTS 8		/* of a thread */
#define THREADS 8
#define BLOCK 512
#define PARTS 32
#define PART_BYTES 8192
#define PART_STRIDE (PART_BYTES + BLOCK)	/* in memory */

struct piece {
	_Atomic uint64_t begun, acknowledged;
};

static struct ledger {
	_Atomic uint64_t rounds, errors, parts;
	struct piece pieces[SLOTS * THREADS];
} *ledger;
static const char *path;
static int again;

static ssize_t bytes_of(unsigned int slot)
{
	static const ssize_t bytes[] = { 4096, 64 << 10, SLOT, 512 };

	return ledger->parts ? PARTS * PART_BYTES : bytes[slot % 4];
}

static uint64_t *at(uint64_t *memory, ssize_t word)
{
	ssize_t part = ledger->parts ? word / (PART_BYTES / 8) : 0;

	return memory + part * (PART_STRIDE - PART_BYTES) / 8 + word;
}

/* Each block names its slot and the write. */
static void stamp(uint64_t *memory, unsigned int slot, uint64_t write)
{
	for (ssize_t word = 0; word < bytes_of(slot) / 8; word++)
		*at(memory, word) = (uint64_t)slot << 48 | write;
}

/* Each block is wholly of one write between the last acknowledged and the last that began. */
static int right(uint64_t *memory, unsigned int slot)
{
	const struct piece *piece = &ledger->pieces[slot];

	for (ssize_t word = 0; word < bytes_of(slot) / 8; word++) {
		uint64_t is = *at(memory, word), write = is & ((1ull << 48) - 1);

		if (!piece->acknowledged && !is)
			continue;
		if (is >> 48 == slot && write >= piece->acknowledged && write <= piece->begun &&
		    is == *at(memory, word / (BLOCK / 8) * (BLOCK / 8)))
			continue;
		printf("fail: piece %u, word %zd is %#llx, and writes %llu to %llu can be there\n", slot, word,
		       (unsigned long long)is, (unsigned long long)piece->acknowledged,
		       (unsigned long long)piece->begun);
		return 0;
	}
	return 1;
}

/* False: an error, or less than all. */
static int move(int file, int writes, uint64_t *memory, unsigned int slot)
{
	struct iovec entries[PARTS];
	off_t offset = slot * SLOT;

	for (int i = 0; i < PARTS; i++)
		entries[i] = (struct iovec){ (char *)memory + i * PART_STRIDE, PART_BYTES };
	if (ledger->parts)
		return (writes ? pwritev(file, entries, PARTS, offset) : preadv(file, entries, PARTS, offset)) ==
		       bytes_of(slot);
	return (writes ? pwrite(file, memory, bytes_of(slot), offset) : pread(file, memory, bytes_of(slot), offset)) ==
	       bytes_of(slot);
}

static int open_again(int file)
{
	if (!again) {
		perror("ledger");
		_exit(4);
	}
	ledger->errors++;
	close(file);
	while ((file = open(path, O_RDWR | O_DIRECT | O_CLOEXEC)) < 0)
		sleep_us(20000);
	return file;
}

static void *use(void *first)
{
	uint64_t *memory = mmap(NULL, SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);

	for (unsigned int slot = (long)first; memory != MAP_FAILED; slot = (long)first + (slot + 1) % SLOTS) {
		struct piece *piece = &ledger->pieces[slot];
		uint64_t write = ++piece->begun;

		stamp(memory, slot, write);
		if (move(file, 1, memory, slot))
			piece->acknowledged = write;
		else
			file = open_again(file);
		for (ssize_t word = 0; word < bytes_of(slot) / 8; word++)
			*at(memory, word) = ~0ull;
		if (!move(file, 0, memory, slot))
			file = open_again(file);
		else if (!right(memory, slot))
			_exit(3);
		ledger->rounds++;
	}
	return NULL;
}

static int check(void)
{
	uint64_t *memory = mmap(NULL, SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file = open(path, O_RDONLY | O_DIRECT);
	off_t end = lseek(file, 0, SEEK_END);

	if (end < SLOTS * SLOT)
		fail("%s: it has %ld bytes", path, end);
	for (unsigned int slot = 0; slot < SLOTS * THREADS && slot * SLOT < end; slot++) {
		if (!move(file, 0, memory, slot))
			fail("%s: piece %u: %s", path, slot, strerror(errno));
		if (!right(memory, slot))
			return 3;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int file = argc > 3 ? open(argv[3], O_RDWR | O_CREAT, 0600) : -1;
	unsigned int threads = argc > 4 ? atoi(argv[4]) : 1;
	pthread_t thread;

	if (file < 0 || ftruncate(file, sizeof(*ledger)) || threads > THREADS)
		fail("ledger use|check DISK FILE [THREADS [again|parts]]");
	path = argv[2];
	again = argc > 5 && !strcmp(argv[5], "again");
	ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (ledger == MAP_FAILED)
		fail("%s: %s", argv[3], strerror(errno));
	if (!strcmp(argv[1], "check"))
		return check();
	ledger->parts = argc > 5 && !strcmp(argv[5], "parts");
	for (long i = 1; i < threads; i++)
		pthread_create(&thread, NULL, use, (void *)(i * SLOTS));
	use((void *)0);
	return 2;
}
