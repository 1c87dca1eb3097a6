/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Futexes that are not private, in private memory: Linux finds the waiters by the page.
 * Whatever happens to the page meanwhile, the waiters must be woken.
 */
#include "check.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>

#define PAGE 4096L

struct waitv {
	uint64_t value, address;
	uint32_t flags, reserved;
};

static uint32_t *words;		/* one for each way to wait */
static int tids[4];

static long futex(int which, int op, uint32_t value, void *timeout)
{
	return syscall(SYS_futex, &words[which], op, value, timeout, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void *plainly(void *unused)
{
	store(&tids[0], gettid());
	CHECK(futex(0, FUTEX_WAIT, 0, NULL) == 0);
	return unused;
}

static void *for_a_time(void *unused)
{
	struct timespec hour = { 3600, 0 };

	store(&tids[1], gettid());
	CHECK(futex(1, FUTEX_WAIT, 0, &hour) == 0);
	return unused;
}

static void *for_several(void *unused)
{
	struct waitv waits[2] = { { 0, (uintptr_t)&words[2], FUTEX_32, 0 }, { 0, (uintptr_t)&words[5], FUTEX_32, 0 } };

	store(&tids[2], gettid());
	CHECK(syscall(SYS_futex_waitv, waits, 2, 0, NULL, 0) == 0);
	return unused;
}

static void *for_the_owner(void *unused)
{
	store(&tids[3], gettid());
	CHECK(futex(3, FUTEX_LOCK_PI, 0, NULL) == 0);
	CHECK((load(&words[3]) & FUTEX_TID_MASK) == (uint32_t)gettid() && futex(3, FUTEX_UNLOCK_PI, 0, NULL) == 0);
	return unused;
}

/* The system call in which a thread waits, as the kernel shows it. */
static void until_waiting(const int *tid)
{
	char path[64], call[8];
	ssize_t length;

	wait_until(load(tid) != 0);
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", *tid);
	do {
		int fd = open(path, O_RDONLY);

		CHECK(fd >= 0 && (length = read(fd, call, sizeof(call))) > 0 && close(fd) == 0);
		sched_yield();
	} while (strncmp(call, "202 ", 4) && strncmp(call, "449 ", 4));
}

/* A request that only Linux can serve: a file in the middle of the memory. */
static void put_a_file(char *at)
{
	int fd = memfd_create("waits", 0);

	CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0);
	CHECK(mmap(at, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == at && close(fd) == 0);
}

int main(void)
{
	void *(*ways[])(void *) = { plainly, for_a_time, for_several, for_the_owner };
	pthread_t threads[ARRAY_LENGTH(ways)];
	char *memory = private_pages(8);

	words = (uint32_t *)memory;
	store(&words[3], (uint32_t)gettid());
	for (int i = 0; i < (int)ARRAY_LENGTH(ways); i++)
		CHECK(!pthread_create(&threads[i], NULL, ways[i], NULL));
	for (int i = 0; i < (int)ARRAY_LENGTH(ways); i++)
		until_waiting(&tids[i]);
	put_a_file(memory + 4 * PAGE);
	/* No word has changed, so threads that waited again are found. */
	for (int i = 0; i < 3; i++) {
		while (futex(i, FUTEX_WAKE, 1, NULL) == 0)
			sched_yield();
		CHECK(!pthread_join(threads[i], NULL));
		say("woken %d\n", i);
	}
	CHECK((load(&words[3]) & FUTEX_TID_MASK) == (uint32_t)gettid() && futex(3, FUTEX_UNLOCK_PI, 0, NULL) == 0);
	CHECK(!pthread_join(threads[3], NULL) && load(&words[3]) == 0);
	say("owned\n");
	return 0;
}
