/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * bounds DISK PARTITION FIRST BYTES [count]: reads and writes a partition of a disk, which begins at byte FIRST, at and
 * beyond its ends, with every sort of buffer, and prints the results. The blocks beside the partition must stay.
 * With `count` cores must have served what they can, and have counted why they did not serve the rest.
 */
#include "granted.h"

static const char *disk_path, *path;
static off_t first, size;

static void fill_disk(void)
{
	int disk = open_disk(disk_path, O_RDWR | O_DIRECT);

	for (off_t at = 0; at < first + 2 * size; at += 1 << 20) {
		mark_blocks(buffer, 1 << 20, at, 1);
		if (pwrite(disk, buffer, 1 << 20, at) != 1 << 20)
			fail("%s: %s", disk_path, strerror(errno));
	}
	close(disk);
}

/* All blocks of the disk but those of the partition are as fill_disk() wrote them. */
static void neighbours(void)
{
	int disk = open_disk(disk_path, O_RDONLY | O_DIRECT);
	void *expected = memory(1 << 20);

	for (off_t at = 0; at < first + 2 * size; at += 1 << 20) {
		if (at >= first && at < first + size)
			continue;
		mark_blocks(expected, 1 << 20, at, 1);
		if (pread(disk, buffer, 1 << 20, at) != 1 << 20 || memcmp(buffer, expected, 1 << 20))
			fail("the disk has changed in the MiB at %lld", (long long)at);
	}
	close(disk);
	printf("neighbours: unharmed\n");
}

static void at_the_ends(int file)
{
	static const off_t far[] = { -BLOCK, 1ll << 62, INT64_MAX - 511, INT64_MAX, INT64_MIN };

	READ("first block", CORE, file, buffer, BLOCK, 0);
	READ("last block", CORE, file, buffer, BLOCK, size - BLOCK);
	READ("last page", CORE, file, buffer, PIECE, size - PIECE);
	READ("across the end", TACET_PICO_BY_BOUNDS, file, buffer, PIECE, size - BLOCK);
	READ("at the end", TACET_PICO_BY_BOUNDS, file, buffer, PIECE, size);
	READ("beyond the end", TACET_PICO_BY_BOUNDS, file, buffer, PIECE, size + PIECE);
	READ("nothing", TACET_PICO_BY_BOUNDS, file, buffer, 0, 0);
	READ("nothing beyond the end", TACET_PICO_BY_BOUNDS, file, buffer, 0, 2 * size);
	READ("too much", TACET_PICO_BY_BOUNDS, file, buffer, -(long)BLOCK, 0);
	mark_blocks(buffer, 1 << 20, 0, 2);
	WRITE("last block written", CORE, file, buffer, BLOCK, size - BLOCK);
	WRITE("written across the end", TACET_PICO_BY_BOUNDS, file, buffer, PIECE, size - BLOCK);
	WRITE("written at the end", TACET_PICO_BY_BOUNDS, file, buffer, PIECE, size);
	WRITE("written beyond the end", TACET_PICO_BY_BOUNDS, file, buffer, PIECE, size + PIECE);
	WRITE("nothing written", TACET_PICO_BY_BOUNDS, file, buffer, 0, 0);
	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		READ("read far away", LINUX, file, buffer, BLOCK, far[i]);
		WRITE("written far away", LINUX, file, buffer, BLOCK, far[i]);
	}
}

static void misaligned(int file)
{
	READ("a byte", TACET_PICO_BY_ALIGNMENT, file, buffer, 1, 0);
	READ("511 bytes", TACET_PICO_BY_ALIGNMENT, file, buffer, 511, 0);
	READ("at byte 1", TACET_PICO_BY_ALIGNMENT, file, buffer, BLOCK, 1);
	READ("at byte 256", TACET_PICO_BY_ALIGNMENT, file, buffer, BLOCK, 256);
	READ("to an odd address", TACET_PICO_BY_ALIGNMENT, file, buffer + 1, BLOCK, 0);
	READ("to an even address", TACET_PICO_BY_ALIGNMENT, file, buffer + 2, BLOCK, 0);
	READ("to a multiple of 4", CORE, file, buffer + 4, BLOCK, 0);
	READ("to a multiple of 4, pages", CORE, file, buffer + 4, 4 * PIECE, 0);
	READ("to a multiple of 512", CORE, file, buffer + BLOCK, 8 * PIECE, PIECE);
	READ("512 KiB across pages", CORE, file, buffer + PIECE - BLOCK, 512 << 10, BLOCK);
	WRITE("a byte written", TACET_PICO_BY_ALIGNMENT, file, buffer, 1, 0);
	WRITE("written at byte 1", TACET_PICO_BY_ALIGNMENT, file, buffer, BLOCK, 1);
	WRITE("written from an odd address", TACET_PICO_BY_ALIGNMENT, file, buffer + 1, BLOCK, 0);
}

static void pointers(int file)
{
	unsigned char *hole = memory(4 * PIECE), *fixed = memory(PIECE), *none = memory(PIECE);

	munmap(hole + 2 * PIECE, PIECE);
	mprotect(fixed, PIECE, PROT_READ);
	mprotect(none, PIECE, PROT_NONE);
	READ("to read-only memory", TACET_PICO_BY_BUFFER, file, fixed, PIECE, 0);
	READ("to 0", LINUX, file, NULL, PIECE, 0);
	READ("to the kernel", LINUX, file, (void *)0xffff888000000000, PIECE, 0);
	READ("to a hole", TACET_PICO_BY_BUFFER, file, hole + 2 * PIECE, PIECE, 0);
	READ("across a hole", TACET_PICO_BY_BUFFER, file, hole, 4 * PIECE, 0);
	/* Linux read the rest through the page cache. */
	await_grant("after a hole", file);
	READ("to memory without rights", TACET_PICO_BY_BUFFER, file, none, PIECE, 0);
	WRITE("from 0", LINUX, file, NULL, PIECE, 0);
	WRITE("from read-only memory", CORE, file, fixed, PIECE, 0);
	WRITE("from memory without rights", TACET_PICO_BY_BUFFER, file, none, PIECE, 0);
}

static void buffers(int file)
{
	static unsigned char data[PIECE] __attribute__((aligned(4096)));
	unsigned char stack[PIECE] __attribute__((aligned(512)));
	int plain = open("bounds.file", O_RDWR | O_CREAT | O_TRUNC, 0600), shared = MAP_SHARED | MAP_ANONYMOUS;
	int all = PROT_READ | PROT_WRITE;
	unsigned char *at;

	if (plain < 0 || ftruncate(plain, PIECE))
		fail("bounds.file: %s", strerror(errno));
	READ("to data", ANYBODY, file, data, PIECE, PIECE);
	READ("to the stack", ANYBODY, file, stack, PIECE, PIECE);
	READ("to the heap", ANYBODY, file, (void *)(((uintptr_t)malloc(2 * PIECE) + 511) & ~511ul), PIECE, PIECE);
	READ("to shared memory", LINUX, file, pages(PIECE, all, shared, -1), PIECE, PIECE);
	READ("to a mapping of a file", LINUX, file, pages(PIECE, all, MAP_SHARED, plain), PIECE, PIECE);
	READ("to a private mapping", LINUX, file, pages(PIECE, all, MAP_PRIVATE, plain), PIECE, PIECE);
	at = pages(PIECE, all, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	READ("to untouched memory", TACET_PICO_BY_BUFFER, file, at, PIECE, PIECE);
	READ("to memory that Linux filled", CORE, file, at, PIECE, PIECE);
	READ("the file", ANYBODY, plain, buffer, PIECE, 0);
	unlink("bounds.file");
}

static void rights(void)
{
	int file = open_disk(path, O_RDONLY | O_DIRECT);

	await_grant("read-only", file);
	READ("read-only", CORE, file, buffer, PIECE, 0);
	WRITE("read-only, written", TACET_PICO_BY_RIGHTS, file, buffer, PIECE, 0);
	close(file);
	file = open_disk(path, O_WRONLY | O_DIRECT);
	READ("write-only, read", LINUX, file, buffer, PIECE, 0);
	for (int i = 0; i < 40; i++, sleep_us(10000))
		if (pwrite(file, buffer, PIECE, 0) != PIECE)
			fail("write-only: %s", strerror(errno));
	WRITE("write-only", CORE, file, buffer, PIECE, 0);
	READ("write-only, read again", TACET_PICO_BY_RIGHTS, file, buffer, PIECE, 0);
	close(file);
	file = open_disk(path, O_RDWR);
	READ("not direct", LINUX, file, buffer, 100, 1);
	close(file);
	file = open_disk(path, O_RDWR | O_DIRECT | O_DSYNC);
	WRITE("synchronous", ANYBODY, file, buffer, PIECE, 0);
	close(file);
	file = open_disk(path, O_RDWR | O_DIRECT | O_APPEND);
	WRITE("appended", LINUX, file, buffer, PIECE, 0);
	close(file);
	file = open_disk(path, O_PATH);
	READ("a path only", LINUX, file, buffer, PIECE, 0);
	close(file);
}

int main(int argc, char **argv)
{
	int file;

	if (argc < 5)
		fail("bounds: DISK PARTITION FIRST BYTES [count]");
	disk_path = argv[1];
	path = argv[2];
	first = atoll(argv[3]);
	size = atoll(argv[4]);
	counting = argc > 5;
	buffer = memory(1 << 20);
	fill_disk();
	file = open_granted(path);
	at_the_ends(file);
	misaligned(file);
	pointers(file);
	buffers(file);
	close(file);
	rights();
	neighbours();
	return 0;
}
