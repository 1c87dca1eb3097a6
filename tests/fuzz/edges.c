/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * edges SEED COUNT: makes calls of the memory, futex and scheduling families with arguments at their
 * edges (0, huge, unaligned, overlapping, wrapping, with upper halves that mean nothing), COUNT
 * series of them, each in a process of its own and from a seed of its own, and prints what every
 * call answers. The same seeds print the same on Linux and on cores: the caller compares.
 *
 * Nothing here may depend on more than the program sees: no memory from the C library in a series,
 * no time, no address that the kernel chooses, and no mapping of whose size Linux alone knows (two
 * mappings that look alike may be one, or not).
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"

#define PAGE 4096ul
#define PAGES 24
#define CALLS 150
/* Far below what mmap() gives: the kernel chooses nothing there, and nothing is mapped around. */
#define BELOW (32ul << 30)
#define FIXED (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)
#define RW (PROT_READ | PROT_WRITE)

/* Edges that several families have. */
static const uint64_t beyond[] = { 0x7ffffffff000, 1ul << 47, 1ul << 57, 1ul << 63, -PAGE, -4ul, -1ul };

static struct source source;
static unsigned long arena;
static sigjmp_buf caught;
static uint32_t word = 7;
static char buffer[4096] __attribute__((aligned(16)));

#define one_of(list) ((list)[below(&source, sizeof(list) / sizeof(*(list)))])

/* A system call; Linux ignores the upper half of its number. */
static long call(unsigned long number, unsigned long a, unsigned long b, unsigned long c, unsigned long d,
		 unsigned long e, unsigned long f)
{
	register unsigned long r10 asm("r10") = d, r8 asm("r8") = e, r9 asm("r9") = f;
	long result;

	if (one_in(&source, 3))
		number |= (uint64_t)below(&source, 1u << 31) << 32;
	asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return result;
}

/* An address as every run has it. */
static void say_address(const char *name, unsigned long address)
{
	if (address - arena + (1 << 20) < 2 << 20)
		printf(" %s here%+ld", name, (long)(address - arena));
	else
		printf(" %s %#lx", name, address);
}

static void say_result(long result)
{
	if (result < 0 && result > -4096)
		printf(" = %s\n", strerrorname_np(-result));
	else if ((unsigned long)result - arena < 1 << 20)
		printf(" = here+%ld\n", result - (long)arena);
	else
		printf(" = %s%ld\n", result >> 32 ? "elsewhere " : "", result >> 32 ? 0 : result);
}

static unsigned long page(void)
{
	return arena + below(&source, PAGES) * PAGE;
}

/* Mostly the beginning of a page. */
static unsigned long place(void)
{
	static const unsigned long odd[] = { 1, 8, 2048, 4095 };

	return page() + (one_in(&source, 8) ? one_of(odd) : 0);
}

static unsigned long length(void)
{
	static const unsigned long edges[] = { 0, 1, 4095, 4097 };

	return one_in(&source, 5) ? one_of(edges) : (1 + below(&source, 8)) * PAGE;
}

/* One that is an error, in some cases: it wraps, or is beyond user space. */
static unsigned long length_or_huge(void)
{
	static const unsigned long huge[] = { 1ul << 63, -1ul, -PAGE, -4095ul, 1 - PAGE };

	return one_in(&source, 10) ? one_of(huge) : length();
}

static int protection(void)
{
	static const int all[] = { 0, PROT_READ, RW, RW, RW, RW, PROT_READ | PROT_EXEC };

	return one_of(all);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	siglongjmp(caught, info->si_code);
}

static void touch(int writes)
{
	volatile uint64_t *at = (void *)page();
	int code = sigsetjmp(caught, 0);

	uint64_t value = number(&source);

	if (!code && writes)
		*at = value;
	else if (!code)
		value = *at;
	printf("%s here+%ld = %s %lx\n", writes ? "store" : "load", (long)((unsigned long)at - arena), code ? "fault" : "",
	       code ? (uint64_t)code : value);
}

/* A mapping that the kernel has placed is taken away. */
static void forget(long result, unsigned long bytes)
{
	if (result > 0 && (unsigned long)result - arena >= PAGES * PAGE && bytes && bytes < 1ul << 40)
		munmap((void *)result, (bytes + PAGE - 1) & -PAGE);
}

static void map(void)
{
	static const int kinds[] = { MAP_FIXED, MAP_FIXED, MAP_FIXED_NOREPLACE, 0 };
	static const int others[] = { 0, 0, 0, MAP_POPULATE };
	static const unsigned long ignored[] = { 0, 0, 0, 8, 16, 1ul << 40 };
	int kind = one_of(kinds), flags = MAP_PRIVATE | MAP_ANONYMOUS | kind | one_of(others);
	unsigned long at = kind ? place() : page(), bytes = length_or_huge(), rights = protection() | one_of(ignored);
	long result = call(SYS_mmap, at, bytes, rights, flags, -1, 0);

	say_address("map", at);
	printf(" %#lx %#lx %#x", bytes, rights, flags);
	say_result(result);
	forget(result, bytes);
}

static void unmap(void)
{
	unsigned long at = place(), bytes = length_or_huge();

	say_address("unmap", at);
	printf(" %#lx", bytes);
	say_result(call(SYS_munmap, at, bytes, 0, 0, 0, 0));
}

static void protect(void)
{
	static const unsigned long bits[] = { 0, 0, 0, 8, 16, 1ul << 40, 0x1000000, 0x3000000 };
	unsigned long at = place(), bytes = length_or_huge(), rights = protection() | one_of(bits);

	say_address("protect", at);
	printf(" %#lx %#lx", bytes, rights);
	say_result(call(SYS_mprotect, at, bytes, rights, 0, 0, 0));
}

static void advise(void)
{
	static const unsigned long all[] = {
		MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_DONTNEED,
		MADV_DONTNEED | 1ul << 32, MADV_DOFORK, MADV_DONTDUMP, MADV_DODUMP, MADV_COLD, 5, 99, -1ul,
	};
	static const unsigned long wraps[] = { -1ul, -PAGE, 1 - PAGE };
	unsigned long at = place(), bytes = one_in(&source, 10) ? one_of(wraps) : length(), advice = one_of(all);

	say_address("advise", at);
	printf(" %#lx %#lx", bytes, advice);
	say_result(call(SYS_madvise, at, bytes, advice, 0, 0, 0));
}

/* Within one new mapping, of which one page may be another one or none; or it shrinks, whatever is there. */
static void remap(void)
{
	static const unsigned long kinds[] = { 0, MREMAP_MAYMOVE, MREMAP_MAYMOVE | MREMAP_FIXED, MREMAP_FIXED, 8 };
	unsigned long pages = 1 + below(&source, 6), at = page(), wanted = length_or_huge(), flags = one_of(kinds);
	unsigned long bytes = pages * PAGE, to = page(), odd = at + below(&source, pages) * PAGE;
	int shrinks = one_in(&source, 3), what = below(&source, 4);
	long result;

	if (shrinks) {
		flags &= MREMAP_MAYMOVE;
		wanted = (1 + below(&source, pages)) * PAGE;
	} else {
		mmap((void *)at, bytes, RW, FIXED, -1, 0);
		if (what == 1)
			mprotect((void *)odd, PAGE, PROT_READ);
		if (what == 2)
			munmap((void *)odd, PAGE);
	}
	result = call(SYS_mremap, at, bytes - below(&source, 2), wanted, flags, to, 0);
	say_address("remap", at);
	say_address("to", to);
	printf(" %#lx %#lx %#lx what %d at %ld", bytes, wanted, flags, shrinks ? -1 : what, (long)(odd - at));
	say_result(result);
	forget(result, wanted);
}

static void change_break(void)
{
	static unsigned long start;
	static const long steps[] = { 1, PAGE, 5 * PAGE, 3 * PAGE + 8, 0, -1 };
	unsigned long wanted;
	long result;

	start = start ? start : (unsigned long)call(SYS_brk, 0, 0, 0, 0, 0, 0);
	wanted = one_in(&source, 6) ? one_of(beyond) : start + one_of(steps);
	result = call(SYS_brk, wanted, 0, 0, 0, 0, 0);
	printf("break %+ld = %+ld\n", wanted - start < 1 << 20 ? (long)(wanted - start) : -2, result - (long)start);
}

static unsigned long futex_at(void)
{
	switch (below(&source, 6)) {
	case 0: return one_of(beyond);
	case 1: return place();
	case 2: return (unsigned long)&word + 1;
	case 3: return 0;
	default: return (unsigned long)&word;
	}
}

/* Nobody waits, nor does this thread: no word has the value. */
static void futex(void)
{
	static const unsigned long operations[] = {
		FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAKE, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_BITSET, FUTEX_WAIT_BITSET, 77,
	};
	static const unsigned long counts[] = { 0, 1, 7, 8, 0x7fffffff, 0x80000000, 0xffffffff, 1ul << 32, -1ul };
	static const unsigned long clocks[] = { 0, 0, 0, FUTEX_CLOCK_REALTIME };
	unsigned long operation = one_of(operations), at = futex_at(), to = futex_at(), count = one_of(counts);
	int waits = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
	unsigned long second = waits ? (one_in(&source, 4) ? one_of(beyond) : 0) : one_of(counts);
	unsigned long value = waits ? 0xdeadbeef : count, third = one_of(counts);

	operation |= FUTEX_PRIVATE_FLAG | one_of(clocks);
	printf("futex %d %d %#lx %#lx %#lx %#lx %#lx", at == (unsigned long)&word, to == (unsigned long)&word, operation, value,
	       second, at - (unsigned long)&word < 8 ? 0 : at - arena < PAGES * PAGE ? at - arena : at, third);
	say_result(call(SYS_futex, at, operation, value, second, to, third));
}

static void affinity(void)
{
	static const unsigned long lengths[] = {
		0, 1, 7, 8, 12, 16, 64, 128, 1024, 4096, 0x20000000, 0x20000008, 0x40000000, 1ul << 32 | 8, -8ul,
	};
	static const unsigned long pids[] = { 0, 0, 1ul << 32, -1ul, 0x7fffffff };
	unsigned long bytes = one_of(lengths), pid = one_of(pids), to = one_in(&source, 4) ? one_of(beyond) : (unsigned long)buffer;
	long result;

	memset(buffer, 0, sizeof(buffer));
	result = call(SYS_sched_getaffinity, pid, bytes, to, 0, 0, 0);
	printf("affinity %#lx %#lx %d: %02x", pid, bytes, to == (unsigned long)buffer, buffer[0]);
	say_result(result);
}

static void scheduling(void)
{
	static const struct timespec times[] = { { 0, 0 }, { 0, 1 }, { 0, 1000000000 }, { -1, 0 }, { 0, -1 } };
	static const unsigned long clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, 1ul << 32 | CLOCK_MONOTONIC, 99, -1ul };
	static const unsigned long flags[] = { 0, 0, TIMER_ABSTIME, 1ul << 32, 2 };
	unsigned long time = one_in(&source, 4) ? one_of(beyond) : (unsigned long)&one_of(times);
	unsigned long clock = one_of(clocks), flag = one_of(flags), to = one_in(&source, 2) ? one_of(beyond) : 0;
	unsigned int kind = below(&source, 5);
	long result;

	switch (kind) {
	case 0: result = call(SYS_sched_yield, 0, 0, 0, 0, 0, 0); break;
	case 1: result = call(SYS_getcpu, to, one_in(&source, 2) ? to : (unsigned long)buffer, -1, 0, 0, 0); break;
	case 2: result = call(SYS_nanosleep, time, 0, 0, 0, 0, 0); break;
	case 3: result = call(SYS_clock_nanosleep, clock, flag, time, 0, 0, 0); break;
	default: result = call(SYS_getpid, 0, 0, 0, 0, 0, 0) == getpid(); break;
	}
	printf("scheduling %u %#lx %#lx", kind, clock, flag);
	say_result(result);
}

/* Of one seed. */
static void series(uint64_t seed)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };

	source.state = seed | 1;
	for (int i = 0; i < 4; i++)
		number(&source);
	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < CALLS; i++)
		switch (below(&source, 12)) {
		case 0: case 1: map(); break;
		case 2: unmap(); break;
		case 3: protect(); break;
		case 4: advise(); break;
		case 5: remap(); break;
		case 6: change_break(); break;
		case 7: futex(); break;
		case 8: affinity(); break;
		case 9: scheduling(); break;
		default: touch(one_in(&source, 2)); break;
		}
	fflush(stdout);
	_exit(0);
}

int main(int count, char **words)
{
	static char output[1 << 16];
	uint64_t seed;
	void *given;
	int status;

	if (count < 3)
		return 2;
	setvbuf(stdout, output, _IOFBF, sizeof(output));
	given = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	arena = ((unsigned long)given - BELOW) & -(2ul << 20);
	seed = strtoull(words[1], NULL, 0);
	for (int i = 0; i < atoi(words[2]); i++) {
		printf("seed %lu\n", seed + 2 * i);
		fflush(stdout);
		if (fork() == 0)
			series(seed + 2 * i);
		if (wait(&status) < 0 || status)
			printf("fail: seed %lu ended with %#x\n", seed + 2 * i, status);
	}
	return 0;
}
