/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Anonymous private memory, which may come from another kernel than Linux: the effect
 * of every call on it, as seen by the program, by the kernel and by other processes.
 */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/uio.h>

#define PAGE 4096L
#define HUGE (2L << 20)

static sigjmp_buf faulted;
static volatile siginfo_t fault;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	fault = *info;
	siglongjmp(faulted, 1);
}

/* Touches p; returns the signal's si_code, or 0 if the access is allowed. */
static int touch(volatile char *p, int write)
{
	if (sigsetjmp(faulted, 1)) {
		CHECK(fault.si_addr == (void *)p);
		return fault.si_code;
	}
	if (write)
		*p = 1;
	else
		(void)*p;
	return 0;
}

static char *map(size_t size, int flags)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* Checks only one page in sixteen of large memory, because each may cost a page fault. */
static int looked_at(size_t address, size_t size)
{
	return size <= 64 * PAGE || address / PAGE % 16 == 3;
}

/* Writes words that contain their own address; in large memory also in the first two pages. */
static void fill(char *p, size_t size)
{
	for (size_t i = 0; i < size; i += 512)
		if (i < 2 * PAGE || looked_at((size_t)p + i, size))
			*(size_t *)(p + i) = (size_t)p + i;
}

static int filled(const char *p, size_t size, const char *then)
{
	for (size_t i = 0; i < size; i += 512)
		if (looked_at((size_t)then + i, size) && *(size_t *)(p + i) != (size_t)then + i)
			return 0;
	return 1;
}

static int zero(const char *p, size_t size)
{
	for (size_t i = 0; i < size; i += 8)
		if (looked_at((size_t)p + i, size) && *(size_t *)(p + i))
			return 0;
	return 1;
}

static void sizes(void)
{
	static const size_t all[] = { PAGE, 3 * PAGE, HUGE - PAGE, HUGE, HUGE + PAGE, 3 * HUGE };

	for (unsigned i = 0; i < ARRAY_LENGTH(all); i++)
		for (int again = 0; again < 3; again++) {
			char *p = map(all[i], again == 1 ? MAP_POPULATE : again == 2 ? MAP_NORESERVE : 0);

			CHECK(zero(p, all[i]));
			fill(p, all[i]);
			CHECK(filled(p, all[i], p) && munmap(p, all[i]) == 0);
			CHECK(touch(p, 0) == SEGV_MAPERR && touch(p + all[i] - 1, 1) == SEGV_MAPERR);
		}
	say("sizes\n");
}

static void holes(void)
{
	char *p = map(4 * HUGE, 0);

	fill(p, 4 * HUGE);
	CHECK(munmap(p + HUGE + 5 * PAGE, HUGE) == 0);
	CHECK(filled(p, HUGE + 5 * PAGE, p) && touch(p + HUGE + 5 * PAGE, 0) == SEGV_MAPERR);
	CHECK(filled(p + 2 * HUGE + 5 * PAGE, 2 * HUGE - 5 * PAGE, p + 2 * HUGE + 5 * PAGE));
	CHECK(mmap(p + HUGE + 6 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == p + HUGE + 6 * PAGE);
	CHECK(zero(p + HUGE + 6 * PAGE, PAGE) && touch(p + HUGE + 7 * PAGE, 1) == SEGV_MAPERR);
	CHECK_ERRNO(mmap(p, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), EEXIST);
	CHECK(mmap(p, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p && zero(p, PAGE));
	CHECK_ERRNO(munmap(p + 1, PAGE), EINVAL);
	CHECK_ERRNO(munmap(p, 0), EINVAL);
	CHECK_ERRNO(mprotect(p + HUGE, HUGE, PROT_NONE), ENOMEM);
	CHECK(touch(p + HUGE, 0) == SEGV_ACCERR && touch(p + 2 * HUGE + 5 * PAGE, 1) == 0);
	CHECK(munmap(p, 4 * HUGE) == 0 && munmap(p, 4 * HUGE) == 0);
	say("holes\n");
}

static void guard(void)
{
	char *p = mmap(NULL, 2 * HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(p != MAP_FAILED && touch(p, 0) == SEGV_ACCERR && touch(p + HUGE, 1) == SEGV_ACCERR);
	CHECK(mprotect(p + PAGE, 4 * PAGE, PROT_READ | PROT_WRITE) == 0);
	CHECK(touch(p, 0) == SEGV_ACCERR && zero(p + PAGE, 4 * PAGE) && touch(p + 5 * PAGE, 0) == SEGV_ACCERR);
	fill(p + PAGE, 4 * PAGE);
	CHECK(mprotect(p + PAGE, 4 * PAGE, PROT_NONE) == 0 && touch(p + 2 * PAGE, 0) == SEGV_ACCERR);
	CHECK(mprotect(p + 2 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE) == 0);
	CHECK(filled(p + 2 * PAGE, 2 * PAGE, p + 2 * PAGE) && touch(p + PAGE, 0) == SEGV_ACCERR);
	CHECK(munmap(p, 2 * HUGE) == 0);
	say("guard\n");
}

static void advice(void)
{
	char *p = map(2 * HUGE, 0);

	fill(p, 2 * HUGE);
	CHECK(madvise(p + PAGE, HUGE, MADV_DONTNEED) == 0);
	CHECK(filled(p, PAGE, p) && zero(p + PAGE, HUGE) && filled(p + HUGE + PAGE, HUGE - PAGE, p + HUGE + PAGE));
	CHECK(madvise(p, 2 * HUGE, MADV_NORMAL) == 0 && madvise(p, 2 * HUGE, MADV_WILLNEED) == 0);
	CHECK(munmap(p + HUGE, PAGE) == 0);
	CHECK_ERRNO(madvise(p, 2 * HUGE, MADV_DONTNEED), ENOMEM);
	CHECK(zero(p, HUGE) && zero(p + HUGE + PAGE, HUGE - PAGE));
	CHECK_ERRNO(madvise(p, PAGE, 9999), EINVAL);
	CHECK(mprotect(p, PAGE, PROT_READ) == 0 && mprotect(p + 2 * PAGE, PAGE, PROT_NONE) == 0);
	CHECK(madvise(p, PAGE, MADV_POPULATE_READ) == 0 && madvise(p + PAGE, PAGE, MADV_POPULATE_WRITE) == 0);
	CHECK_ERRNO(madvise(p, 2 * PAGE, MADV_POPULATE_WRITE), EINVAL);
	CHECK_ERRNO(madvise(p, 3 * PAGE, MADV_POPULATE_READ), EINVAL);
	CHECK_ERRNO(madvise(p + HUGE - PAGE, 2 * PAGE, MADV_POPULATE_READ), ENOMEM);
	CHECK(munmap(p, 2 * HUGE) == 0);
	say("advice\n");
}

static void moves(void)
{
	char *p = map(2 * HUGE, 0), *q, *wall;

	fill(p, 2 * HUGE);
	CHECK(mremap(p, 2 * HUGE, HUGE + 3 * PAGE, 0) == p && touch(p + HUGE + 3 * PAGE, 0) == SEGV_MAPERR);
	q = mremap(p, HUGE + 3 * PAGE, 6 * HUGE, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED && filled(q, HUGE + 3 * PAGE, p) && zero(q + HUGE + 3 * PAGE, 5 * HUGE - 3 * PAGE));
	CHECK(q == p || touch(p, 0) == SEGV_MAPERR);
	wall = map(2 * HUGE, 0);
	fill(wall, 2 * HUGE);
	CHECK(mremap(q, HUGE, HUGE, MREMAP_MAYMOVE | MREMAP_FIXED, wall + PAGE) == wall + PAGE);
	CHECK(filled(wall + PAGE, HUGE, p) && filled(wall, PAGE, wall) && touch(q, 0) == SEGV_MAPERR);
	CHECK_ERRNO(mremap(q, PAGE, 2 * PAGE, MREMAP_MAYMOVE), EFAULT);
	CHECK_ERRNO(mremap(wall + 1, PAGE, PAGE, 0), EINVAL);
	/* Two mappings cannot grow as one. */
	CHECK(mprotect(wall, PAGE, PROT_READ) == 0);
	CHECK_ERRNO(mremap(wall, 2 * PAGE, 3 * HUGE, MREMAP_MAYMOVE), EFAULT);
	CHECK_ERRNO(syscall(SYS_mmap, NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 1ul), EINVAL);
	CHECK(munmap(wall, 2 * HUGE) == 0 && munmap(q, 6 * HUGE) == 0);
	say("moves\n");
}

/* The kernel reads and writes it, touched before or not. */
static void kernel(void)
{
	int fd = memfd_create("kernel", 0), ends[2];
	char *p = map(HUGE + 2 * PAGE, MAP_NORESERVE), *q = map(4 * PAGE, 0);
	struct iovec here = { q, PAGE }, there = { p + HUGE, PAGE };

	fill(p, HUGE);
	CHECK(pwrite(fd, p, HUGE, 0) == HUGE && pread(fd, p + PAGE, HUGE, 0) == HUGE);
	CHECK(filled(p + PAGE, HUGE, p) && zero(p + HUGE + PAGE, PAGE));
	CHECK(pread(fd, q + 1, 2 * PAGE, 0) == 2 * PAGE && !memcmp(q + 1, p, PAGE) && !q[0]);
	CHECK(process_vm_readv(getpid(), &here, 1, &there, 1, 0) == PAGE && !memcmp(q, p + HUGE, PAGE));
	memset(q, 7, PAGE);
	CHECK(process_vm_writev(getpid(), &here, 1, &there, 1, 0) == PAGE && p[HUGE] == 7 && p[HUGE + PAGE - 1] == 7);
	CHECK(pipe(ends) == 0 && munmap(q + PAGE, PAGE) == 0);
	CHECK(pwrite(fd, q + PAGE - 10, 20, 0) == 10 && pread(fd, q + PAGE - 10, 20, 0) == 10);
	CHECK_ERRNO(write(ends[1], q + PAGE, 1), EFAULT);
	CHECK(mprotect(q, PAGE, PROT_NONE) == 0);
	CHECK_ERRNO(write(ends[1], q, 1), EFAULT);
	CHECK(munmap(p, HUGE + 2 * PAGE) == 0 && munmap(q, 4 * PAGE) == 0);
	CHECK(close(fd) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
	say("kernel\n");
}

/* When an address is mapped anew, the kernel must forget its old page: nobody may see the old
 * contents, or those of another process. */
static void stale(void)
{
	int ends[2];
	char byte;

	CHECK(pipe(ends) == 0);
	for (int i = 0; i < 50; i++) {
		char *p = map(4 * PAGE, 0), *q;

		CHECK(zero(p, 4 * PAGE));
		memset(p, 'a' + i % 20, 4 * PAGE);
		CHECK(write(ends[1], p + PAGE, 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'a' + i % 20);
		CHECK(munmap(p, 4 * PAGE) == 0);
		CHECK_ERRNO(write(ends[1], p + PAGE, 1), EFAULT);
		q = mmap(p, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CHECK(q == p && write(ends[1], q + PAGE, 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 0);
		q[PAGE] = 'z';
		CHECK(madvise(q, 4 * PAGE, MADV_DONTNEED) == 0);
		CHECK(write(ends[1], q + PAGE, 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 0);
		CHECK(munmap(q, 4 * PAGE) == 0);
	}
	CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
	say("stale\n");
}

/* A pipe holds pages while they are unmapped and their addresses are mapped anew. */
static void held(void)
{
	static char got[4 * PAGE];
	int ends[2];

	CHECK(pipe(ends) == 0);
	for (int i = 0; i < 10; i++) {
		char *p = map(4 * PAGE, 0), *q;
		struct iovec vec = { p, 4 * PAGE };

		memset(p, 'a' + i, 4 * PAGE);
		CHECK(vmsplice(ends[1], &vec, 1, 0) == 4 * PAGE && munmap(p, 4 * PAGE) == 0);
		q = map(64 * PAGE, 0);
		memset(q, 'Z', 64 * PAGE);
		CHECK(read(ends[0], got, sizeof(got)) == 4 * PAGE);
		for (unsigned k = 0; k < sizeof(got); k++)
			CHECK(got[k] == 'a' + i);
		CHECK(munmap(q, 64 * PAGE) == 0);
	}
	CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
	say("held\n");
}

static char *inherited;

static void child(void)
{
	CHECK(filled(inherited, HUGE + PAGE, inherited) && zero(inherited + 2 * HUGE, HUGE));
	memset(inherited, 1, 3 * HUGE);
	CHECK(munmap(inherited + HUGE, PAGE) == 0 && touch(inherited + HUGE, 0) == SEGV_MAPERR);
	inherited = map(HUGE, 0);
	CHECK(zero(inherited, HUGE) && munmap(inherited, HUGE) == 0);
}

static void forks(void)
{
	inherited = map(3 * HUGE, MAP_NORESERVE);
	fill(inherited, HUGE + PAGE);
	for (int i = 0; i < 3; i++)
		CHECK(exited_with(child_status(child), 0));
	CHECK(filled(inherited, HUGE + PAGE, inherited) && zero(inherited + 2 * HUGE, HUGE));
	CHECK(munmap(inherited, 3 * HUGE) == 0);
	say("forks\n");
}

/* Threads map, fill, check and unmap memory in parallel. */
static void *churn(void *seed)
{
	unsigned state = (unsigned)(size_t)seed * 2654435761u + 1;

	for (int i = 0; i < 12; i++) {
		size_t size;
		char *p;

		state = state * 1103515245 + 12345;
		size = (state >> 16) % 3 ? (1 + (state >> 18) % 9) * PAGE : HUGE + PAGE;
		p = map(size, 0);
		CHECK(zero(p, size));
		fill(p, size);
		CHECK(madvise(p, PAGE, MADV_DONTNEED) == 0 && zero(p, PAGE));
		CHECK(size == PAGE || filled(p + PAGE, size - PAGE, p + PAGE));
		CHECK(munmap(p, size) == 0);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t all[4];

	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		CHECK(pthread_create(&all[i], NULL, churn, (void *)(i + 1)) == 0);
	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		CHECK(pthread_join(all[i], NULL) == 0);
	say("threads\n");
}

/* The break grows and shrinks; memory that it gains again is zero. A child has its own break. */
static char *heap;

static void shrink(void)
{
	CHECK(filled(heap, 60 * PAGE, heap) && syscall(SYS_brk, heap + PAGE) == (long)heap + PAGE);
	CHECK(touch(heap + PAGE, 0) == SEGV_MAPERR && syscall(SYS_brk, 0) == (long)heap + PAGE);
}

static void the_break(void)
{
	char *was = (char *)syscall(SYS_brk, 0);

	heap = (char *)(((size_t)was + PAGE - 1) & -PAGE);
	CHECK(syscall(SYS_brk, heap + 100 * PAGE + 5) == (long)heap + 100 * PAGE + 5);
	CHECK(zero(heap, 64 * PAGE) && touch(heap + 100 * PAGE, 1) == 0 && touch(heap + 101 * PAGE, 1) == SEGV_MAPERR);
	fill(heap, 64 * PAGE);
	CHECK(exited_with(child_status(shrink), 0) && filled(heap, 60 * PAGE, heap));
	CHECK(syscall(SYS_brk, heap + 50 * PAGE) == (long)heap + 50 * PAGE && touch(heap + 50 * PAGE, 0) == SEGV_MAPERR);
	CHECK(syscall(SYS_brk, heap + 64 * PAGE) == (long)heap + 64 * PAGE && zero(heap + 50 * PAGE, 14 * PAGE));
	CHECK(filled(heap, 50 * PAGE, heap) && syscall(SYS_brk, 1L << 46) == (long)heap + 64 * PAGE);
	CHECK(syscall(SYS_brk, 8) == (long)heap + 64 * PAGE);
	say("the break\n");
}

/* A mapping larger than memory fails at the call, unless Linux is set to overcommit. */
static void too_much(void)
{
	const size_t bytes = 96ul << 30;
	long was = syscall(SYS_brk, 0);
	char mode = 0;
	int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY);

	if (fd < 0 || read(fd, &mode, 1) != 1 || mode == '1' || (size_t)sysconf(_SC_PHYS_PAGES) * PAGE >= bytes)
		errno = ENOMEM;
	else
		CHECK(syscall(SYS_brk, was + bytes) == was &&
		      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	CHECK(errno == ENOMEM && close(fd) == 0);
	say("too much\n");
}

/* NUMA policies: errors as on Linux, and the contents stay. See linux/mempolicy.h */
static long bind_memory(void *at, size_t bytes, int mode, const unsigned long *nodes, unsigned int flags)
{
	return syscall(SYS_mbind, at, bytes, mode, nodes, nodes ? 64ul : 0ul, flags);
}

static void policy(void)
{
	enum { DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL };
	unsigned long node0 = 1, none = 0;
	char *p = map(16 * PAGE, 0);

	fill(p, 8 * PAGE);
	CHECK(bind_memory(p, 16 * PAGE, PREFERRED, NULL, 0) == 0 && bind_memory(p, 16 * PAGE, LOCAL, NULL, 0) == 0);
	CHECK(bind_memory(p + PAGE, 3 * PAGE, BIND, &node0, 0) == 0 && bind_memory(p, PAGE, INTERLEAVE, &node0, 0) == 0);
	CHECK(bind_memory(p, 16 * PAGE, DEFAULT, NULL, 0) == 0 && bind_memory(p, 0, BIND, &node0, 0) == 0);
	CHECK_ERRNO(bind_memory(p + 1, PAGE, PREFERRED, NULL, 0), EINVAL);
	CHECK_ERRNO(bind_memory(p, PAGE, BIND, &none, 0), EINVAL);
	CHECK_ERRNO(bind_memory(p, PAGE, 77, &node0, 0), EINVAL);
	CHECK_ERRNO(bind_memory(p, PAGE, PREFERRED, NULL, 1u << 30), EINVAL);
	CHECK_ERRNO(bind_memory(p, PAGE, DEFAULT, &node0, 0), EINVAL);
	CHECK(filled(p, 8 * PAGE, p) && zero(p + 8 * PAGE, 8 * PAGE) && munmap(p, 16 * PAGE) == 0);
	say("policy\n");
}

/* Calls that only Linux can serve work too, and the contents stay. */
static void borders(void)
{
	int fd = memfd_create("borders", 0);
	char *p = map(4 * HUGE, 0);
	unsigned char in[3];

	fill(p, 4 * HUGE);
	CHECK(ftruncate(fd, PAGE) == 0 && pwrite(fd, "file", 4, 0) == 4);
	CHECK(mmap(p + HUGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == p + HUGE);
	CHECK(!memcmp(p + HUGE, "file", 4) && filled(p, HUGE, p));
	CHECK(filled(p + HUGE + PAGE, 3 * HUGE - PAGE, p + HUGE + PAGE));
	CHECK(mprotect(p, PAGE, PROT_READ) == 0 && touch(p, 1) == SEGV_ACCERR && touch(p, 0) == 0);
	CHECK(mincore(p, 3 * PAGE, in) == 0 && in[0] & 1);
	CHECK(mprotect(p, 2 * HUGE, PROT_READ | PROT_WRITE) == 0 && touch(p, 1) == 0);
	CHECK(munmap(p, 4 * HUGE) == 0 && touch(p + 3 * HUGE, 0) == SEGV_MAPERR && close(fd) == 0);
	p = map(HUGE, 0);
	CHECK(zero(p, HUGE) && munmap(p + PAGE, PAGE) == 0);
	CHECK_ERRNO(bind_memory(p, 3 * PAGE, 1, NULL, 0), EFAULT);
	CHECK(munmap(p, HUGE) == 0);
	/* the break still works */
	CHECK(filled(heap, 50 * PAGE, heap) && syscall(SYS_brk, heap + 70 * PAGE) == (long)heap + 70 * PAGE);
	CHECK(zero(heap + 64 * PAGE, 6 * PAGE) && syscall(SYS_brk, heap) == (long)heap && touch(heap, 0) == SEGV_MAPERR);
	say("borders\n");
}

int main(void)
{
	on_signal(SIGSEGV, on_fault, 0);
	PART(sizes);
	PART(holes);
	PART(guard);
	PART(advice);
	PART(moves);
	PART(kernel);
	PART(stale);
	PART(held);
	PART(forks);
	PART(threads);
	PART(the_break);
	PART(too_much);
	PART(policy);
	PART(borders);
	return 0;
}
