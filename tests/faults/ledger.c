/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * ledger use DISK FILE THREADS [again]: for ever, each thread writes pieces of a disk and reads them back. FILE says of each
 * piece which writes have begun and which were acknowledged; its first eight bytes count rounds. With `again` a thread
 * that gets an error opens the disk again until that succeeds; else it ends the program with status 4. A piece that is
 * neither the last acknowledged nor a later one ends it with status 3.
 *
 * ledger check DISK FILE: the same for the whole disk, when nobody uses it.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "door.h"

#define SLOT (1l << 20)
#define SLOTS 8		/* of a thread */
#define THREADS 8
#define BLOCK 512

struct piece {
	_Atomic uint64_t begun, acknowledged;
};

static struct ledger {
	_Atomic uint64_t rounds, errors;
	struct piece pieces[SLOTS * THREADS];
} *ledger;
static const char *path;
static int again;

static ssize_t bytes_of(unsigned int slot)
{
	static const ssize_t bytes[] = { 4096, 64 << 10, SLOT, 512 };

	return bytes[slot % 4];
}

/* Each block names its slot and the write. */
static void stamp(uint64_t *at, unsigned int slot, uint64_t write)
{
	for (ssize_t word = 0; word < bytes_of(slot) / 8; word++)
		at[word] = (uint64_t)slot << 48 | write;
}

/* Each block is wholly of one write between the last acknowledged and the last that began. */
static int right(const uint64_t *at, unsigned int slot)
{
	const struct piece *piece = &ledger->pieces[slot];

	for (ssize_t word = 0; word < bytes_of(slot) / 8; word++) {
		uint64_t write = at[word] & ((1ull << 48) - 1);

		if (!piece->acknowledged && !at[word])
			continue;
		if (at[word] >> 48 == slot && write >= piece->acknowledged && write <= piece->begun &&
		    at[word] == at[word / (BLOCK / 8) * (BLOCK / 8)])
			continue;
		printf("fail: piece %u, word %zd is %#llx, and writes %llu to %llu can be there\n", slot, word,
		       (unsigned long long)at[word], (unsigned long long)piece->acknowledged,
		       (unsigned long long)piece->begun);
		return 0;
	}
	return 1;
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
		if (pwrite(file, memory, bytes_of(slot), slot * SLOT) == bytes_of(slot))
			piece->acknowledged = write;
		else
			file = open_again(file);
		memset(memory, 0xee, bytes_of(slot));
		if (pread(file, memory, bytes_of(slot), slot * SLOT) != bytes_of(slot))
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

	for (unsigned int slot = 0; slot < SLOTS * THREADS; slot++) {
		if (pread(file, memory, bytes_of(slot), slot * SLOT) != bytes_of(slot))
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
		fail("ledger use|check DISK FILE [THREADS [again]]");
	path = argv[2];
	again = argc > 5;
	ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (ledger == MAP_FAILED)
		fail("%s: %s", argv[3], strerror(errno));
	if (!strcmp(argv[1], "check"))
		return check();
	for (long i = 1; i < threads; i++)
		pthread_create(&thread, NULL, use, (void *)(i * SLOTS));
	use((void *)0);
	return 2;
}
