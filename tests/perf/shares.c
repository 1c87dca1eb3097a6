// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A small program of two threads that computes on data from a disk, and what time its calls of the kernel took, by kind.
 *
 * usage: shares DEVICE ROUNDS [FIRST_CPU]
 * In each round a thread reads 64 KiB by O_DIRECT at 4 places, adds them up, touches fresh memory and gives it back, writes
 * the sum to a page of the device beyond what anyone reads, and waits for the other thread by a futex. The program takes
 * the times itself, so they mean the same on Linux and on a core. Prints the time of each kind in ns, and `elapsed_ns`,
 * all of the rounds; each is of both threads together. With FIRST_CPU, thread i pins itself to FIRST_CPU + i: on Linux. A call that fails ends it with
 * status 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "pin.h"

#define THREADS 2u
#define WARM 3
#define PLACES 4
#define BYTES (64ul << 10)
#define PAGE 4096ul
#define FRESH (256ul << 10)
#define MIB (1ul << 20)
#define WRITTEN (48 * MIB)

enum kind { PREAD, PWRITE, MMAP, FIRST_TOUCH, MUNMAP, FUTEX, KINDS };

static const char *const names[KINDS] = { "pread", "pwrite", "mmap", "first_touch", "munmap", "futex" };
static atomic_ulong took[KINDS], elapsed;
static atomic_uint waiting, turn;
static int file, first_cpu = -1;
static unsigned long rounds;

static void must(bool true_is_well, const char *what)
{
	if (!true_is_well) {
		perror(what);
		exit(1);
	}
}

/* Time of @expression counts as of @kind. */
#define TIMED(own, kind, expression)			\
	do {						\
		uint64_t start_ = ticks();		\
							\
		expression;				\
		(own)[kind] += ticks() - start_;	\
	} while (0)

/* Waits until all threads are here. */
static void meet(uint64_t *own)
{
	unsigned int now = atomic_load(&turn);

	if (atomic_fetch_add(&waiting, 1) + 1 == THREADS) {
		atomic_store(&waiting, 0);
		atomic_fetch_add(&turn, 1);
		TIMED(own, FUTEX, syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, THREADS, NULL, NULL, 0));
		return;
	}
	while (atomic_load(&turn) == now)
		TIMED(own, FUTEX, syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0));
}

/* Nearly all of it is page faults. */
static void touch(volatile char *fresh, char value)
{
	for (unsigned long at = 0; at < FRESH; at += PAGE)
		fresh[at] = value;
}

static void one_round(uint64_t *own, uint64_t *buffer, unsigned int index, unsigned long n)
{
	uint64_t sum = 0;
	char *fresh;
	long got;

	for (unsigned int place = 0; place < PLACES; place++) {
		off_t at = ((n * PLACES + place) * THREADS + index) * BYTES % (32 * MIB);

		TIMED(own, PREAD, got = pread(file, buffer, BYTES, at));
		must(got == (long)BYTES, "shares: pread");
		for (unsigned long i = 0; i < BYTES / sizeof(*buffer); i++)
			sum += buffer[i];
	}
	TIMED(own, MMAP, fresh = mmap(NULL, FRESH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	must(fresh != MAP_FAILED, "shares: mmap");
	TIMED(own, FIRST_TOUCH, touch(fresh, (char)sum));
	TIMED(own, MUNMAP, munmap(fresh, FRESH));
	buffer[0] = sum;
	TIMED(own, PWRITE, got = pwrite(file, buffer, PAGE, WRITTEN + index * PAGE));
	must(got == (long)PAGE, "shares: pwrite");
	meet(own);
}

static void *thread(void *number)
{
	unsigned int index = (uintptr_t)number;
	uint64_t own[KINDS] = {}, start;
	uint64_t *buffer = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(buffer != MAP_FAILED, "shares: mmap");
	memset(buffer, 1, BYTES);
	pin(first_cpu < 0 ? -1 : first_cpu + (int)index);
	for (unsigned long n = 0; n < WARM; n++) {
		one_round(own, buffer, index, n);
		usleep(200000);		/* a grant is not asked for all the time */
	}
	memset(own, 0, sizeof(own));
	start = ticks();
	for (unsigned long n = 0; n < rounds; n++)
		one_round(own, buffer, index, n);
	atomic_fetch_add(&elapsed, ticks() - start);
	for (unsigned int kind = 0; kind < KINDS; kind++)
		atomic_fetch_add(&took[kind], own[kind]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;
	struct clock clock;

	if (argc < 3) {
		fprintf(stderr, "usage: shares DEVICE ROUNDS [FIRST_CPU]\n");
		return 2;
	}
	file = open(argv[1], O_RDWR | O_DIRECT);
	must(file >= 0, argv[1]);
	rounds = strtoul(argv[2], NULL, 0);
	first_cpu = argc > 3 ? atoi(argv[3]) : -1;
	clock_start(&clock);
	errno = pthread_create(&other, NULL, thread, (void *)1);
	must(!errno, "shares: pthread_create");
	thread((void *)0);
	pthread_join(other, NULL);
	clock_stop(&clock);
	for (unsigned int kind = 0; kind < KINDS; kind++)
		printf("%s %.0f\n", names[kind], nanoseconds(&clock, took[kind]));
	printf("elapsed_ns %.0f\n", nanoseconds(&clock, elapsed));
	return 0;
}
