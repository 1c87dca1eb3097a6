/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Memory below 2 GiB (MAP_32BIT), which code with addresses of 32 bits asks for: where it lies, what it holds, and what mremap(2)
 * makes of it. */
#include <fcntl.h>
#include <unistd.h>

#include "../../user/check.h"

#define PAGE 4096ul
#define MIB (1ul << 20)
#define GIB (1ul << 30)

static int is_low(const void *at, unsigned long bytes)
{
	return (unsigned long)at + bytes <= 2 * GIB;
}

static char *map(unsigned long bytes, int rights, int flags, int file)
{
	char *given = mmap(NULL, bytes, rights, MAP_32BIT | flags | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);

	CHECK(given != MAP_FAILED && is_low(given, bytes));
	return given;
}

static int all(const char *at, unsigned long bytes, char what)
{
	for (unsigned long byte = 0; byte < bytes; byte++)
		if (at[byte] != what)
			return 0;
	return 1;
}

/* A file's content and a shared page lie there too; the address is good for calls. */
static void kinds(void)
{
	char text[8] = "";
	int file = open("/proc/version", O_RDONLY), ends[2];
	char *shared = map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, -1), *none = map(64 * MIB, PROT_NONE, MAP_PRIVATE, -1);

	CHECK(file >= 0 && pipe(ends) == 0);
	CHECK(read(file, shared, 5) == 5 && write(ends[1], shared, 5) == 5 && read(ends[0], text, 5) == 5);
	CHECK_ERRNO(write(ends[1], none + MIB, 1), EFAULT);
	CHECK(mprotect(none + MIB, PAGE, PROT_READ | PROT_WRITE) == 0 && all(none + MIB, PAGE, 0));
	strcpy(none + MIB, "a part");
	say("%s, %s\n", text, none + MIB);
	file = open("/proc/self/exe", O_RDONLY);
	say("a file: %d\n", !memcmp(map(2 * PAGE, PROT_READ, MAP_PRIVATE, file), "\177ELF", 4));
	CHECK(munmap(none, 64 * MIB) == 0);
}

/* With room behind it memory grows where it is; else it moves, to wherever there is room. */
static void remap(void)
{
	char *at = map(8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, -1), *moved, *again;

	memset(at, 7, 8 * PAGE);
	CHECK(munmap(at + 2 * PAGE, 6 * PAGE) == 0);
	CHECK(mremap(at, 2 * PAGE, 4 * PAGE, 0) == at && all(at, 2 * PAGE, 7) && all(at + 2 * PAGE, 2 * PAGE, 0));
	CHECK(mmap(at + 4 * PAGE, PAGE, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == at + 4 * PAGE);
	CHECK_ERRNO((long)mremap(at, 4 * PAGE, 5 * PAGE, 0), ENOMEM);
	moved = mremap(at, 4 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
	CHECK(moved != MAP_FAILED && moved != at && all(moved, 2 * PAGE, 7) && all(moved + 2 * PAGE, 62 * PAGE, 0));
	CHECK_ERRNO(madvise(at, PAGE, MADV_DONTNEED), ENOMEM);
	memset(moved + 2 * PAGE, 9, PAGE);
	/* and back, over another mapping */
	again = mremap(moved, 64 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at + 3 * PAGE);
	CHECK(again == at + 3 * PAGE && is_low(again, 3 * PAGE));
	say("moved: %d %d\n", all(again, 2 * PAGE, 7), all(again + 2 * PAGE, PAGE, 9));
	CHECK(mremap(again, 3 * PAGE, PAGE, 0) == again && all(again, PAGE, 7));
	CHECK_ERRNO(madvise(again + PAGE, PAGE, MADV_DONTNEED), ENOMEM);
	CHECK(mremap(again, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, again + PAGE) == again + PAGE);
	say("beside: %d\n", all(again + PAGE, PAGE, 7));
	CHECK(munmap(at, 8 * PAGE) == 0);
}

/* All of it given back is there again. */
static void fill(void)
{
	static char *pieces[64];
	int count = 0;

	CHECK_ERRNO((long)mmap(NULL, GIB + PAGE, PROT_NONE, MAP_32BIT | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), ENOMEM);
	for (int round = 0; round < 2; round++) {
		for (count = 0; count < 64; count++) {
			pieces[count] = mmap(NULL, 32 * MIB, PROT_NONE, MAP_32BIT | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (pieces[count] == MAP_FAILED)
				break;
			CHECK(is_low(pieces[count], 32 * MIB));
			for (int other = 0; other < count; other++)
				CHECK(pieces[other] + 32 * MIB <= pieces[count] || pieces[count] + 32 * MIB <= pieces[other]);
		}
		CHECK(errno == ENOMEM && count >= 28 && count <= 32);
		while (count--)
			CHECK(munmap(pieces[count], 32 * MIB) == 0);
	}
	for (int round = 0; round < 200; round++) {
		char *piece = map(4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, -1);

		CHECK(piece[0] == 0 && piece[4 * MIB - 1] == 0);
		piece[0] = piece[4 * MIB - 1] = 1;
		CHECK(munmap(piece, 4 * MIB) == 0);
	}
	say("filled\n");
}

int main(void)
{
	char *high = mmap((void *)(3 * GIB), PAGE, PROT_READ, MAP_32BIT | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(is_low(high, PAGE));
	kinds();
	remap();
	fill();
	return 0;
}
