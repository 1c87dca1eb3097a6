/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * pattern FILE MIB [SECONDS]: writes a stamp into every page of private, shared,
 * file and mergeable memory and reads it back, round after round, while Linux
 * moves, drops, swaps, merges and splits those pages underneath. A second thread
 * requests this with madvise. A stale translation shows an old stamp: "fail:".
 * Ends on SIGTERM with status 0; FILE counts rounds.
 */
#include "door.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#define PAGE 4096ul

struct area {
	const char *name;
	unsigned char *memory;
	uint64_t round;
};

static struct area areas[4];
static size_t bytes;
static volatile uint64_t *rounds;
static volatile sig_atomic_t done;

static void on_end(int signal)
{
	done = signal;
}

static uint64_t *stamp(struct area *area, size_t page)
{
	return (uint64_t *)(area->memory + page * PAGE + page * 8 % PAGE);
}

/* All pages of mergeable memory have the same content, so that KSM can merge them. */
static uint64_t expected(struct area *area, size_t page, uint64_t round)
{
	return area == &areas[3] ? round | 1 : round << 24 | page;
}

static void one_round(struct area *area)
{
	for (size_t page = 0; page < bytes / PAGE; page++) {
		uint64_t *here = stamp(area, page), found = *(volatile uint64_t *)here;

		if (area->round && found != expected(area, page, area->round))
			fail("%s page %zu round %lu: found %#lx, not %#lx", area->name, page,
			     area->round, found, expected(area, page, area->round));
		*(volatile uint64_t *)here = expected(area, page, area->round + 1);
	}
	area->round++;
}

static void *mapped(int flags, int file)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);

	if (memory == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	return memory;
}

/* Makes requests that let Linux change the page tables. Linux may refuse them. */
static void *disturb(void *argument)
{
	static const int advice[] = { MADV_PAGEOUT, MADV_COLD, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
				      25 /* MADV_COLLAPSE */, MADV_MERGEABLE, MADV_UNMERGEABLE };
	uint64_t state = 12345;

	while (!done) {
		struct area *area = &areas[next_random(&state) % 4];
		size_t from = next_random(&state) % (bytes / PAGE) * PAGE;
		size_t size = (next_random(&state) % 512 + 1) * PAGE;

		if (from + size > bytes)
			size = bytes - from;
		madvise(area->memory + from, size, advice[next_random(&state) % 7]);
		if (next_random(&state) % 8 == 0) {
			mprotect(area->memory + from, size, PROT_READ);
			mprotect(area->memory + from, size, PROT_READ | PROT_WRITE);
		}
		sleep_us(500);
	}
	return argument;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	/* Read-only for a moment, by our own request. */
	(void)signal, (void)info, (void)context;
}

int main(int count, char **words)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	pthread_t thread;
	int file;

	bytes = (count > 2 ? strtoul(words[2], NULL, 0) : 8) << 20;
	file = open(count > 1 ? words[1] : "pattern", O_RDWR | O_CREAT, 0644);
	if (file < 0 || ftruncate(file, PAGE))
		fail("%s", strerror(errno));
	rounds = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	signal(SIGTERM, on_end);
	sigaction(SIGSEGV, &action, NULL);
	areas[0] = (struct area){ "private", mapped(MAP_PRIVATE | MAP_ANONYMOUS, -1), 0 };
	areas[1] = (struct area){ "shared", mapped(MAP_SHARED | MAP_ANONYMOUS, -1), 0 };
	file = open("pattern.data", O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (file < 0 || ftruncate(file, bytes))
		fail("pattern.data: %s", strerror(errno));
	areas[2] = (struct area){ "file", mapped(MAP_SHARED, file), 0 };
	areas[3] = (struct area){ "mergeable", mapped(MAP_PRIVATE | MAP_ANONYMOUS, -1), 0 };
	madvise(areas[3].memory, bytes, MADV_MERGEABLE);
	if (pthread_create(&thread, NULL, disturb, NULL))
		fail("no thread");
	while (!done)
		for (int i = 0; i < 4 && !done; i++) {
			one_round(&areas[i]);
			__atomic_add_fetch(rounds, 1, __ATOMIC_RELAXED);
			sched_yield();
		}
	pthread_join(thread, NULL);
	return 0;
}
