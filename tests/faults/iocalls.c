/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * iocalls DEVICE: reads and writes a block device by O_DIRECT through every call that there is,
 * and prints each call's result, errno, the file's position, and a sum of what was read. The same
 * lines come out wherever it runs. Changes the device from 8 MiB on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <linux/fs.h>
#include <unistd.h>

#define KIB 1024l
#define MIB (1024 * KIB)
#define BASE (8 * MIB)
#define BIG (20 * MIB)		/* more than a core's commands move at a time */

static unsigned char *data;	/* BIG bytes and a page */
static int file;

/* FNV-1a */
static unsigned sum(const unsigned char *from, long bytes)
{
	unsigned value = 2166136261u;

	for (long i = 0; i < bytes; i++)
		value = (value ^ from[i]) * 16777619u;
	return value;
}

static void pattern(long bytes, unsigned seed)
{
	for (long i = 0; i < bytes; i++)
		data[i] = (i * 7 + i / 512 + seed) & 255;
}

static void said(const char *what, long result)
{
	int error = result < 0 ? errno : 0;
	long position = lseek(file, 0, SEEK_CUR);

	printf("%s: %ld errno %d at %ld data %08x\n", what, result, error, position, sum(data, 64 * KIB));
}

/* The same without a look at the position, which is Linux's. */
static void said_less(const char *what, long result)
{
	int error = result < 0 ? errno : 0;

	printf("%s: %ld errno %d data %08x\n", what, result, error, sum(data, 64 * KIB));
}

/* Three buffers: whole pages that follow each other, a sector within a page, pages elsewhere. */
static struct iovec *vector(void)
{
	static struct iovec entries[4];

	entries[0] = (struct iovec){ data, 8 * KIB };
	entries[1] = (struct iovec){ data + 8 * KIB, 512 };
	entries[2] = (struct iovec){ NULL, 0 };
	entries[3] = (struct iovec){ data + 20 * KIB + 4, 16 * KIB - 512 };
	return entries;
}

static void at_offsets(void)
{
	struct iovec *entries = vector();
	static struct iovec many[1025], *volatile nowhere = (void *)8;
	volatile int fewer = -1;

	pattern(64 * KIB, 1);
	said_less("pwrite", pwrite(file, data, 64 * KIB, BASE));
	memset(data, 0, 64 * KIB);
	said_less("pread", pread(file, data, 64 * KIB, BASE));
	pattern(64 * KIB, 2);
	said_less("pwritev", pwritev(file, entries, 4, BASE + 4 * KIB));
	memset(data, 0, 64 * KIB);
	said_less("preadv", preadv(file, entries, 4, BASE + 4 * KIB));
	said_less("pread all", pread(file, data, 64 * KIB, BASE));
	for (int flags = 0; flags < 256; flags = flags ? flags * 2 : 1) {
		char name[32];

		if (flags == RWF_NOWAIT || flags > RWF_APPEND)
			continue;	/* their results depend on the kernel, or on the moment */
		pattern(64 * KIB, 3 + flags);
		snprintf(name, sizeof(name), "pwritev2 %d", flags);
		if (flags != RWF_APPEND)
			said_less(name, pwritev2(file, entries, 4, BASE + 12 * KIB, flags));
		snprintf(name, sizeof(name), "preadv2 %d", flags);
		said_less(name, preadv2(file, entries, 4, BASE + 4 * KIB, flags));
	}
	for (int i = 0; i < 1025; i++)
		many[i] = (struct iovec){ data + i * 4 * KIB, 512 };
	said_less("pwritev of 1024", pwritev(file, many, 1024, BASE));
	said_less("preadv of 1024", preadv(file, many, 1024, BASE + 512));
	said_less("preadv of 1025", preadv(file, many, 1025, BASE));
	said_less("preadv of none", preadv(file, many, 0, BASE));
	said_less("preadv of less", preadv(file, many, fewer, BASE));
	many[5].iov_len = 511;
	said_less("preadv of 511", preadv(file, many, 8, BASE));
	many[5].iov_len = -1;
	said_less("preadv of a negative length", preadv(file, many, 8, BASE));
	said_less("preadv without a vector", preadv(file, nowhere, 2, BASE));
	many[5] = (struct iovec){ (void *)4096, 512 };
	said_less("preadv to nowhere", preadv(file, many, 8, BASE));
	said_less("preadv before the beginning", preadv(file, many, 2, -512));
	said_less("pread in between", pread(file, data, 4 * KIB, BASE + 7));
	said_less("pread to an odd address", pread(file, data + 1, 4 * KIB, BASE));
}

static void long_ones(void)
{
	static struct iovec two[2];

	pattern(BIG, 9);
	said_less("long pwrite", pwrite(file, data, BIG, BASE));
	memset(data, 0, BIG);
	said_less("long pread", pread(file, data, BIG, BASE));
	printf("of it: %08x\n", sum(data, BIG));
	two[0] = (struct iovec){ data + BIG / 2, BIG / 2 };
	two[1] = (struct iovec){ data, BIG / 2 };
	said_less("long preadv", preadv(file, two, 2, BASE));
	printf("of it: %08x\n", sum(data, BIG));
}

static void at_the_position(long end)
{
	struct iovec *entries = vector();
	int other;

	said("lseek", lseek(file, BASE, SEEK_SET));
	said_less("read", read(file, data, 64 * KIB));
	said_less("read", read(file, data, 4 * KIB));
	said("readv", readv(file, entries, 4));
	pattern(64 * KIB, 5);
	said_less("write", write(file, data, 12 * KIB));
	said_less("writev", writev(file, entries, 4));
	said_less("preadv2 at the position", preadv2(file, entries, 4, -1, RWF_HIPRI));
	said("pwritev2 at the position", pwritev2(file, entries, 4, -1, RWF_DSYNC));
	said_less("read between sectors", read(file, data + 64 * KIB, 100));
	said_less("pread", pread(file, data, 4 * KIB, BASE));
	said("read", read(file, data, 4 * KIB));
	other = dup(file);
	said_less("read of the first", read(file, data, 8 * KIB));
	said_less("read of the second", read(other, data, 4 * KIB));
	said("read of the first", read(file, data, 4 * KIB));
	close(other);
	said_less("read after close", read(file, data, 4 * KIB));
	said_less("read after close", read(file, data, 4 * KIB));
	if (!fork()) {
		lseek(file, 4 * KIB, SEEK_CUR);
		_exit(read(file, data, 4 * KIB) != 4 * KIB);
	}
	said_less("read beside a child", wait(NULL) < 0);
	said_less("read after a child", read(file, data, 4 * KIB));
	said("read after a child", read(file, data, 4 * KIB));
	pattern(64 * KIB, 7);
	said_less("pwrite before the end", pwrite(file, data, 8 * KIB, end - 8 * KIB));
	said("lseek to the end", lseek(file, end - 8 * KIB, SEEK_SET));
	said_less("read before the end", read(file, data, 4 * KIB));
	said_less("read up to the end", read(file, data, 64 * KIB));
	said_less("read at the end", read(file, data, 4 * KIB));
	said_less("write at the end", write(file, data, 4 * KIB));
	said_less("pwritev over the end", pwritev(file, entries, 4, end - 8 * KIB));
	said("preadv at the end", preadv(file, entries, 4, end));
}

static void lasting(const char *device)
{
	said_less("fsync", fsync(file));
	said_less("fdatasync", fdatasync(file));
	close(file);
	file = open(device, O_RDWR | O_DIRECT | O_DSYNC);
	pattern(64 * KIB, 6);
	for (int i = 0; i < 4; i++)
		said_less("pwrite that lasts", pwrite(file, data, 16 * KIB, BASE + i * 16 * KIB));
	said_less("fsync", fsync(file));
	close(file);
	file = open(device, O_RDONLY | O_DIRECT);
	for (int i = 0; i < 3; i++)
		said_less("pread", pread(file, data, 64 * KIB, BASE));
	said_less("pwrite without the right", pwrite(file, data, 4 * KIB, BASE));
	said_less("fsync without the right", fsync(file));
}

int main(int argc, char **argv)
{
	uint64_t end;

	file = argc > 1 ? open(argv[1], O_RDWR | O_DIRECT) : -1;
	data = mmap(NULL, BIG + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (file < 0 || data == MAP_FAILED || ioctl(file, BLKGETSIZE64, &end)) {
		fprintf(stderr, "iocalls DEVICE: cannot be opened\n");
		return 2;
	}
	memset(data, 1, BIG + 4096);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	/* The first call on Linux asks for the grant. */
	said_less("pwrite", pwrite(file, data, 4 * KIB, BASE));
	at_offsets();
	long_ones();
	at_the_position(end);
	lasting(argv[1]);
	return 0;
}
