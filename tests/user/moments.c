/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory calls whose callers are moved between kernels meanwhile: by a timer of CPU time, by performance events that
 * are switched on and off, and by a limit that another process sets. Each call must see the result of the one before
 * it.
 */
#include "check.h"

#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/time.h>

#define PAGE 4096ul
#define TICKS 20
#define ROUNDS rounds(45, 90)
#define GIB (1ul << 30)

static volatile int ticks;
static int channel[2];

static void on_tick(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	ticks++;
}

static int is_zero(const char *p, size_t bytes)
{
	while (bytes && !*p)
		p++, bytes--;
	return !bytes;
}

/* Tests whether a page is mapped: the kernel cannot read an unmapped one. */
static int is_readable(const char *p)
{
	char byte;

	if (write(channel[1], p, 1) == 1) {
		CHECK(read(channel[0], &byte, 1) == 1 && byte == *p);
		return 1;
	}
	CHECK(errno == EFAULT);
	return 0;
}

/* Calls that a core serves itself, so that a timer interrupts the program there or between two such calls. */
static void discards(void)
{
	char *p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED && is_zero(p, 8 * PAGE));
	memset(p, 7, 8 * PAGE);
	CHECK(madvise(p + 2 * PAGE, PAGE, MADV_DONTNEED) == 0);
	CHECK(is_zero(p + 2 * PAGE, PAGE) && p[2 * PAGE - 1] == 7 && p[3 * PAGE] == 7);
	CHECK(munmap(p + 4 * PAGE, PAGE) == 0);
	CHECK_ERRNO(madvise(p + 4 * PAGE, PAGE, MADV_NORMAL), ENOMEM);
	CHECK(munmap(p, 8 * PAGE) == 0);
}

static void mappings(void)
{
	char *p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *q;

	CHECK(p != MAP_FAILED && is_zero(p, 8 * PAGE));
	memset(p, 7, 8 * PAGE);
	CHECK(munmap(p + 4 * PAGE, PAGE) == 0 && !is_readable(p + 4 * PAGE) && is_readable(p + 5 * PAGE));
	CHECK(mprotect(p, PAGE, PROT_NONE) == 0 && !is_readable(p) && is_readable(p + PAGE));
	q = mmap(p + 4 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(q == p + 4 * PAGE && is_zero(q, PAGE));
	q = mremap(p + 5 * PAGE, 3 * PAGE, 20 * PAGE, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED && q[0] == 7 && q[3 * PAGE - 1] == 7 && is_zero(q + 3 * PAGE, 17 * PAGE));
	CHECK(munmap(q, 20 * PAGE) == 0 && munmap(p, 5 * PAGE) == 0 && !is_readable(p));
}

static void heap(void)
{
	char *end = sbrk(0), *p = sbrk(16 * PAGE);

	CHECK(p == end && is_zero(p, 16 * PAGE));
	memset(p, 9, 16 * PAGE);
	CHECK(sbrk(-8 * (long)PAGE) == end + 16 * PAGE && p[8 * PAGE - 1] == 9);
	CHECK(sbrk(8 * PAGE) == end + 8 * PAGE && is_zero(p + 8 * PAGE, 8 * PAGE));
	CHECK(sbrk(-16 * (long)PAGE) == end + 16 * PAGE && sbrk(0) == end);
}

static void timed(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };

	on_signal(SIGPROF, on_tick, SA_RESTART);
	CHECK(setitimer(ITIMER_PROF, &often, NULL) == 0);
	while (ticks < TICKS) {
		discards();
		heap();
	}
	CHECK(setitimer(ITIMER_PROF, &never, NULL) == 0);
	say("timed\n");
}

static void counted(void)
{
	struct perf_event_attr about = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(about), .config = PERF_COUNT_SW_PAGE_FAULTS,
	};
	int i, event = -1;

	for (i = 0; i < ROUNDS; i++) {
		if (i == ROUNDS / 3) {
			event = syscall(SYS_perf_event_open, &about, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
			CHECK(event >= 0);
		}
		if (i == 2 * ROUNDS / 3)
			CHECK(close(event) == 0);
		mappings();
		discards();
		heap();
	}
	say("counted\n");
}

static void *gib(void)
{
	return mmap(NULL, GIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void obeys(void)
{
	char byte;
	void *p;

	CHECK(read(channel[0], &byte, 1) == 1);
	CHECK_ERRNO(gib() == MAP_FAILED ? -1 : 0, ENOMEM);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED && is_zero(p, PAGE));
}

static void limited(void)
{
	struct rlimit limit = { GIB / 2, GIB / 2 };
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		obeys();
		_exit(0);
	}
	CHECK(prlimit(pid, RLIMIT_AS, &limit, NULL) == 0 && write(channel[1], "", 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(gib() != MAP_FAILED);
	say("limited\n");
}

int main(void)
{
	CHECK(pipe(channel) == 0);
	PART(timed);
	PART(counted);
	PART(limited);
	return 0;
}
