// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * source KIND ...: makes noise on purpose, for ablation.sh and settings.sh, which count the CPUs that it disturbs.
 *   busy THREADS ROUNDS   a busy daemon: threads that compute; prints `CPU ROUNDS` for each CPU where one found itself
 *   modules ROUNDS        asks ROUNDS times for a protocol that does not exist, so that the kernel looks for a module
 *   grace ROUNDS          waits for ROUNDS grace periods of RCU
 *   sample CPU SAMPLES    a sampler: programs the kernel's clock event on CPU and takes SAMPLES samples; prints how
 *                         many it took, or `refused`
 *   unmap THREADS ROUNDS  a neighbour: maps, touches and unmaps ROUNDS times while its other threads compute, so that
 *                         each CPU with one of them is told each time
 *   merge PAGES           offers equal pages for merging, says `ready`, and stays until it is killed
 *   join PAGES            offers small pages that may be joined to huge ones, says `ready`, and stays
 *   touch PAGES           says `ready` and touches its pages repeatedly, with a second thread beside it
 *   hold PAGES            says `touched` when it has touched all its pages: once, and for each line that it reads
 *   spin                  computes until it is killed, and enters no kernel
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CPUS 64
#define THREADS 64
#define PAGE 4096L

static atomic_long found[CPUS];

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static void compute(void)
{
	for (volatile int i = 0; i < 100000; i++)
		;
}

static void *rounds(void *argument)
{
	for (long left = (long)argument; left > 0; left--) {
		int cpu = sched_getcpu();

		if (cpu >= 0 && cpu < CPUS)
			atomic_fetch_add(&found[cpu], 1);
		compute();
	}
	return NULL;
}

static int start(pthread_t *threads, int count, void *(*work)(void *), void *argument)
{
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, argument))
			return fail("source: pthread_create");
	return 0;
}

static void join(pthread_t *threads, int count)
{
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static int busy(int count, long each)
{
	pthread_t threads[THREADS];

	if (count < 1 || count > THREADS)
		return 2;
	if (start(threads, count, rounds, (void *)each))
		return 1;
	join(threads, count);
	for (int cpu = 0; cpu < CPUS; cpu++)
		if (found[cpu])
			printf("%d %ld\n", cpu, found[cpu]);
	return 0;
}

static int modules(long count)
{
	for (; count > 0; count--)
		if (socket(12, SOCK_RAW, 0) >= 0)
			return 1;
	return 0;
}

static int grace(long count)
{
	for (; count > 0; count--)
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
			return fail("source: membarrier");
	return 0;
}

/* Each sample is a header and an address. */
static int sample(int cpu, unsigned long long wanted)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = 1000,
		.sample_type = PERF_SAMPLE_IP,
		.wakeup_events = 1,
	};
	const unsigned long long one = sizeof(struct perf_event_header) + sizeof(unsigned long long);
	int event = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, 0);
	struct perf_event_mmap_page *page;
	struct pollfd ready = { .fd = event, .events = POLLIN };

	if (event < 0 && errno == EINVAL)
		return puts("refused") == EOF;
	if (event < 0)
		return fail("source: perf_event_open");
	page = mmap(NULL, 65 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
	if (page == MAP_FAILED)
		return fail("source: mmap");
	while (page->data_head / one < wanted)
		if (poll(&ready, 1, 1000) < 0)
			return fail("source: poll");
	printf("%llu\n", (unsigned long long)page->data_head / one);
	return 0;
}

static void *compute_until_ended(void *unused)
{
	for (;;)
		compute();
	return unused;
}

static int unmap(int count, long each)
{
	pthread_t threads[THREADS];

	if (count < 2 || count > THREADS)
		return 2;
	if (start(threads, count - 1, compute_until_ended, NULL))
		return 1;
	for (; each > 0; each--) {
		char *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			return fail("source: mmap");
		*memory = 1;
		munmap(memory, PAGE);
		compute();
	}
	return 0;
}

static char *anonymous(long pages)
{
	char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static int merge(long pages)
{
	char *memory = anonymous(pages);

	if (!memory)
		return fail("source: mmap");
	memset(memory, 7, pages * PAGE);
	if (madvise(memory, pages * PAGE, MADV_MERGEABLE))
		return fail("source: madvise");
	ready();
	pause();
	return 0;
}

static int join_pages(long pages)
{
	char *memory = anonymous(pages);

	if (!memory)
		return fail("source: mmap");
	if (madvise(memory, pages * PAGE, MADV_NOHUGEPAGE))
		return fail("source: madvise");
	memset(memory, 7, pages * PAGE);
	if (madvise(memory, pages * PAGE, MADV_HUGEPAGE))
		return fail("source: madvise");
	ready();
	pause();
	return 0;
}

static void *stay(void *unused)
{
	pause();
	return unused;
}

/* With a second thread, because the kernel knows where the memory of a process with one thread belongs. */
static int touch(long pages)
{
	char *memory = anonymous(pages);
	pthread_t second;

	if (!memory)
		return fail("source: mmap");
	if (start(&second, 1, stay, NULL))
		return 1;
	memset(memory, 7, pages * PAGE);
	ready();
	for (;;)
		for (long page = 0; page < pages; page++)
			memory[page * PAGE]++;
}

/* An application with memory that it does not need all the time. */
static int hold(long pages)
{
	char *memory = anonymous(pages), *line = NULL;
	size_t size = 0;

	if (!memory)
		return fail("source: mmap");
	do {
		memset(memory, 7, pages * PAGE);
		puts("touched");
		fflush(stdout);
	} while (getline(&line, &size, stdin) > 0);
	free(line);
	return 0;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	long first = argc > 2 ? atol(argv[2]) : 0, second = argc > 3 ? atol(argv[3]) : 0;

	if (!strcmp(kind, "busy") && second > 0)
		return busy((int)first, second);
	if (!strcmp(kind, "unmap") && second > 0)
		return unmap((int)first, second);
	if (!strcmp(kind, "modules") && first > 0)
		return modules(first);
	if (!strcmp(kind, "grace") && first > 0)
		return grace(first);
	if (!strcmp(kind, "sample") && second > 0)
		return sample((int)first, (unsigned long long)second);
	if (!strcmp(kind, "merge") && first > 0)
		return merge(first);
	if (!strcmp(kind, "join") && first > 0)
		return join_pages(first);
	if (!strcmp(kind, "touch") && first > 0)
		return touch(first);
	if (!strcmp(kind, "hold") && first > 0)
		return hold(first);
	if (!strcmp(kind, "spin"))
		for (;;)
			compute();
	return 2;
}
