/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * victim [compute|calls|faults|aligned|keeps|marks|many|forks|forkers|threads|signals|tables] [FILE]: a program that
 * runs for ever in one way, until something ends it. `compute` never yields its
 * core. With FILE, the first eight bytes of the file count its rounds, to show that
 * it lives. It checks every value that it reads: a wrong one ends it with status 3.
 */
#include "door.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

static uint64_t here;
static volatile uint64_t *rounds = &here;

#define check(right) ((right) ? (void)0 : failed(#right))

/* Without stdio: it may be the copy of a process that had threads. */
static void failed(const char *what)
{
	static const char end[] = ": not so\n";

	(void)!write(2, what, strlen(what));
	(void)!write(2, end, sizeof(end) - 1);
	_exit(3);
}

static void compute(void)
{
	uint64_t sum = 0;

	for (uint64_t i = 1; i <= 50000; i++)
		sum += i * i;
	check(sum == 50000ull * 50001 * 100001 / 6);
}

/* Yields, so that threads that share its core get turns. */
static void compute_and_yield(void)
{
	compute();
	check(!sched_yield());
}

static void calls(void)
{
	check(getppid() >= 0 && getpid() > 0 && getuid() < 70000);
}

static void faults(void)
{
	volatile char *memory = mmap(NULL, 16 << 12, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(memory != MAP_FAILED);
	for (int i = 0; i < 16; i++) {
		check(memory[i << 12] == 0);
		memory[i << 12] = i + 1;
	}
	for (int i = 0; i < 16; i++)
		check(memory[i << 12] == i + 1);
	check(!munmap((void *)memory, 16 << 12));
}

/* Touches new pages with the AC flag set; the compiler's own code would not bear it. */
static void aligned(void)
{
	char *memory = mmap(NULL, 256 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(memory != MAP_FAILED);
	for (int i = 0; i < 256; i++)
		asm volatile("sub $128, %%rsp\n pushfq\n orl $0x40000, (%%rsp)\n popfq\n"
			     "movb $1, (%0)\n"
			     "pushfq\n andl $~0x40000, (%%rsp)\n popfq\n add $128, %%rsp"
			     : : "r"(memory + (i << 12)) : "memory", "cc");
	check(!munmap(memory, 256 << 12));
}

/* Checks that its data stay, whichever kernel has the memory; with an odd size and a hole. */
static void keeps(void)
{
	static volatile uint64_t *memory;
	static uint64_t last;
	const unsigned int words = (5 << 20) / 8, step = 64;

	if (!memory) {
		memory = mmap(NULL, words * 8, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		check(memory != MAP_FAILED && !munmap((char *)memory + (3 << 20), 4096));
	}
	for (unsigned int i = 0; i < words; i += step) {
		if (i >= (3 << 20) / 8 && i < ((3 << 20) + 4096) / 8)
			continue;
		check(memory[i] == (last ? last + i : 0));
		memory[i] = last + 1 + i;
	}
	last++;
}

/* Has a mark in memory and in registers, for TACET_TEST_FIND. */
static void marks(void)
{
	static volatile uint64_t *memory;
	const unsigned int words = (4 << 20) / 8;
	uint64_t mark = TACET_TEST_MARK;

	if (!memory) {
		memory = mmap(NULL, words * 8, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		check(memory != MAP_FAILED);
		for (unsigned int i = 0; i < words; i++)
			memory[i] = mark;
	}
	for (int i = 0; i < 100000; i++)
		asm volatile("movq %0, %%xmm5; push %0; pop %0" : : "r"(mark) : "xmm5", "memory");
	check(memory[words - 1] == mark);
}

static void *barriers(void *argument)
{
	for (;;)
		check(!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
	return argument;
}

/*
 * Populates, protects and unmaps so many small pages that a core does it in portions, while a
 * second thread rings the core in the middle of that. Its other pages stay what they are.
 */
static void many(void)
{
	enum { PAGES = 5000, KEPT = 16, WORDS = 512 };
	static uint64_t *kept, last;
	uint64_t *memory;
	pthread_t thread;

	if (!kept) {
		kept = mmap(NULL, KEPT << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		check(kept != MAP_FAILED);
		check(!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
		check(!pthread_create(&thread, NULL, barriers, NULL));
	}
	memory = mmap(NULL, PAGES << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(memory != MAP_FAILED && !madvise(memory, PAGES << 12, MADV_NOHUGEPAGE));
	check(!madvise(memory, PAGES << 12, MADV_POPULATE_WRITE));
	for (int i = 0; i < PAGES; i++) {
		check(memory[i * WORDS] == 0);
		memory[i * WORDS] = last + i + 1;
	}
	check(!mprotect(memory, PAGES << 12, PROT_READ));
	for (int i = 0; i < PAGES; i++)
		check(memory[i * WORDS] == last + i + 1);
	check(!munmap(memory, PAGES << 12));
	for (int i = 0; i < KEPT; i++) {
		check(kept[i * WORDS] == (last ? last + i : 0));
		kept[i * WORDS] = last + i + 1;
	}
	last++;
}

static void *waits(void *argument)
{
	for (;;)
		pause();
	return argument;
}

/* Changes its page tables while a second thread waits in a call. */
static void tables(void)
{
	static volatile char *page;
	pthread_t thread;

	if (!page) {
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		check(page != MAP_FAILED && !pthread_create(&thread, NULL, waits, NULL));
	}
	check(page[0] == 0);
	page[0] = 1;
	check(!madvise((char *)page, 4096, MADV_DONTNEED));
}

static void forks(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(7);
	check(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	      WEXITSTATUS(status) == 7);
}

static void *nothing(void *argument)
{
	return argument;
}

static void births(void)
{
	pthread_t thread;
	void *result;

	check(!pthread_create(&thread, NULL, nothing, &result));
	check(!pthread_join(thread, &result) && result == &result);
}

static volatile sig_atomic_t caught;

static void on_signal(int signal)
{
	caught += signal == SIGUSR1;
}

static void signals(void)
{
	int before = caught;

	check(!raise(SIGUSR1) && caught == before + 1);
}

static void *for_ever(void *argument)
{
	void (*round)(void) = argument;

	for (;;) {
		round();
		__atomic_fetch_add(rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void one_of_each(void)
{
	void (*each[])(void) = { compute_and_yield, calls, faults, forks, births };
	pthread_t thread;

	for (int i = 0; i < 5; i++)
		check(!pthread_create(&thread, NULL, for_ever, each[i]));
	for_ever(compute_and_yield);
}

static void forkers(void)
{
	pthread_t thread;

	for (int i = 0; i < 5; i++)
		check(!pthread_create(&thread, NULL, for_ever, forks));
	for_ever(faults);
}

int main(int count, char **words)
{
	const char *how = count > 1 ? words[1] : "compute";

	signal(SIGUSR1, on_signal);
	if (count > 2) {
		int file = open(words[2], O_RDWR | O_CREAT, 0644);

		check(file >= 0 && !ftruncate(file, 4096));
		rounds = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		check(rounds != MAP_FAILED);
	}
	if (!strcmp(how, "threads"))
		one_of_each();
	if (!strcmp(how, "forkers"))
		forkers();
	for_ever(!strcmp(how, "calls") ? calls : !strcmp(how, "faults") ? faults :
		 !strcmp(how, "aligned") ? aligned : !strcmp(how, "keeps") ? keeps :
		 !strcmp(how, "marks") ? marks : !strcmp(how, "many") ? many :
		 !strcmp(how, "tables") ? tables :
		 !strcmp(how, "forks") ? forks : !strcmp(how, "signals") ? signals : compute);
	return 0;
}
