/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A reservation of more addresses than a node has memory, parts of which are used and given back, as language runtimes do. */
#include <pthread.h>
#include <setjmp.h>

#include "../../user/check.h"

#define GIB (1ul << 30)
#define PIECE (4ul << 20)
#define PAGE 4096ul

static sigjmp_buf back;
static char *shared_piece;
static pthread_barrier_t barrier;

static void fault(int signal)
{
	siglongjmp(back, signal);
}

/* The signal of a write there, or 0. */
static int written(char *at)
{
	int signal = sigsetjmp(back, 1);

	if (!signal)
		*(volatile char *)at = 1;
	return signal;
}

static int is_zero(const char *at, unsigned long bytes)
{
	for (unsigned long byte = 0; byte < bytes; byte += 64)
		if (at[byte])
			return 0;
	return 1;
}

static char *map(char *at, unsigned long bytes, int rights, int flags)
{
	char *given = mmap(at, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	CHECK(given != MAP_FAILED);
	return given;
}

/* On another CPU: memory that comes, goes, and comes again at one address. */
static void *look(void *unused)
{
	for (int round = 0; round < 20; round++) {
		pthread_barrier_wait(&barrier);
		CHECK(is_zero(shared_piece, PIECE));
		memset(shared_piece, 1 + round, PIECE);
		pthread_barrier_wait(&barrier);
	}
	return unused;
}

static void share(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	CHECK(pthread_create(&thread, NULL, look, NULL) == 0);
	for (int round = 0; round < 20; round++) {
		map(shared_piece, PIECE, PROT_READ | PROT_WRITE, MAP_FIXED);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		CHECK(shared_piece[PIECE - 1] == 1 + round);
		map(shared_piece, PIECE, PROT_NONE, MAP_FIXED);
	}
	pthread_join(thread, NULL);
}

int main(void)
{
	char *area = map(NULL, 16 * GIB, PROT_NONE, MAP_NORESERVE), *other = map(NULL, 2 * GIB, PROT_NONE, 0);
	char *middle = area + 7 * GIB + 3 * PAGE, *moved;
	int ends[2];

	signal(SIGSEGV, fault);
	CHECK(pipe(ends) == 0);
	say("reserved: %d, write %d\n", area + 16 * GIB <= other || other + 2 * GIB <= area, written(middle));
	CHECK_ERRNO(write(ends[1], middle, 1), EFAULT);

	CHECK(mprotect(middle, 3 * PAGE, PROT_READ | PROT_WRITE) == 0);
	CHECK(is_zero(middle, 3 * PAGE));
	strcpy(middle + PAGE - 4, "across two pages");
	CHECK(write(ends[1], middle + PAGE - 4, 17) == 17);
	CHECK(read(ends[0], middle + 2 * PAGE - 3, 17) == 17);
	say("part: %s, around it %d %d\n", middle + 2 * PAGE - 3, written(middle - 1), written(middle + 3 * PAGE));

	CHECK(mprotect(middle + PAGE, PAGE, PROT_READ) == 0);
	say("read only: %s, write %d\n", middle + PAGE - 4, written(middle + PAGE));
	CHECK(mprotect(middle + PAGE, PAGE, PROT_NONE) == 0);
	say("no rights: write %d\n", written(middle + PAGE));
	CHECK(mprotect(middle - PAGE, 6 * PAGE, PROT_READ | PROT_WRITE) == 0);
	say("larger: %s, write %d\n", middle + PAGE - 4, written(middle - PAGE));
	CHECK(madvise(middle - PAGE, 6 * PAGE, MADV_DONTNEED) == 0);
	say("zero: %d\n", is_zero(middle - PAGE, 6 * PAGE));
	strcpy(middle, "moved");
	moved = mremap(middle - PAGE, 6 * PAGE, 12 * PAGE, MREMAP_MAYMOVE);
	CHECK(moved != MAP_FAILED && is_zero(moved + 6 * PAGE, 6 * PAGE));
	say("%s, left: %d\n", moved + PAGE, written(middle));
	CHECK(munmap(moved, 12 * PAGE) == 0);

	/* more in sum than a node has */
	for (int piece = 0; piece < 200; piece++) {
		char *at = area + piece * PIECE;

		CHECK(map(at, PIECE, PROT_READ | PROT_WRITE, MAP_FIXED) == at);
		CHECK(is_zero(at, PIECE));
		memset(at, piece + 1, PIECE);
		map(at, PIECE, PROT_NONE, MAP_FIXED);
		CHECK(written(at) == SIGSEGV);
	}
	shared_piece = other + GIB;
	share();
	CHECK(munmap(area, 8 * GIB) == 0);
	say("half is left: %d %d\n", written(middle), map(area + 9 * GIB, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED)[0]);
	CHECK_ERRNO(mprotect(middle, PAGE, PROT_READ), ENOMEM);
	CHECK(munmap(area + 8 * GIB, 8 * GIB) == 0 && munmap(other, 2 * GIB) == 0);
	return 0;
}
