/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Mappings, with one thread: map, unmap, move, protect, advise, the break, bad pointers. */
#include "check.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sys/resource.h>
#include <sys/uio.h>

#define PAGE 4096L

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

static void map_and_unmap(void)
{
	char *p = private_pages(16);

	for (int i = 0; i < 16; i++) {
		CHECK(p[i * PAGE] == 0 && p[i * PAGE + 4095] == 0);
		p[i * PAGE] = i;
	}
	CHECK(munmap(p + 4 * PAGE, 2 * PAGE) == 0);
	CHECK(touch(p + 3 * PAGE, 1) == 0 && touch(p + 4 * PAGE, 0) == SEGV_MAPERR);
	CHECK(touch(p + 5 * PAGE + 4095, 1) == SEGV_MAPERR && touch(p + 6 * PAGE, 1) == 0);
	CHECK(mmap(p + 4 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == p + 4 * PAGE);
	CHECK(p[4 * PAGE] == 0 && touch(p + 5 * PAGE, 0) == SEGV_MAPERR);
	CHECK_ERRNO(mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), EEXIST);
	CHECK_ERRNO(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), EINVAL);
	CHECK_ERRNO(mmap(NULL, 1L << 47, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), ENOMEM);
	CHECK_ERRNO(munmap(p + 1, PAGE), EINVAL);
	CHECK(munmap(p, 16 * PAGE) == 0 && munmap(p, 16 * PAGE) == 0 && touch(p, 0) == SEGV_MAPERR);
	say("map and unmap\n");
}

static void protect(void)
{
	char *p = private_pages(3);

	p[PAGE] = 42;
	CHECK(mprotect(p + PAGE, PAGE, PROT_READ) == 0);
	CHECK(touch(p + PAGE, 1) == SEGV_ACCERR && touch(p + PAGE, 0) == 0 && p[PAGE] == 42);
	CHECK(mprotect(p + PAGE, PAGE, PROT_NONE) == 0 && touch(p + PAGE, 0) == SEGV_ACCERR);
	CHECK(touch(p, 1) == 0 && touch(p + 2 * PAGE, 1) == 0);
	CHECK(mprotect(p + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0 && touch(p + PAGE, 1) == 0);
	CHECK(munmap(p + PAGE, PAGE) == 0);
	CHECK_ERRNO(mprotect(p, 3 * PAGE, PROT_READ), ENOMEM);
	CHECK(touch(p, 1) == SEGV_ACCERR && munmap(p, 3 * PAGE) == 0);
	say("protect\n");
}

static void move(void)
{
	char *p = private_pages(8), *q, *hole = private_pages(8);

	for (int i = 0; i < 8; i++)
		p[i * PAGE] = 'a' + i;
	CHECK(mremap(p, 8 * PAGE, 4 * PAGE, 0) == p && touch(p + 4 * PAGE, 0) == SEGV_MAPERR);
	q = mremap(p, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, hole);
	CHECK(q == hole && q[0] == 'a' && q[3 * PAGE] == 'd' && q[4 * PAGE] == 0);
	CHECK(touch(p, 0) == SEGV_MAPERR);
	p = mremap(q, 8 * PAGE, 512 * PAGE, MREMAP_MAYMOVE);
	CHECK(p != MAP_FAILED && p[PAGE] == 'b' && p[511 * PAGE] == 0 && munmap(p, 512 * PAGE) == 0);
	CHECK_ERRNO(mremap(hole + 1, PAGE, PAGE, 0), EINVAL);
	say("move\n");
}

static void advise(void)
{
	int fd = memfd_create("advise", 0);
	char *p = private_pages(4), *shared, *private;
	unsigned char in[4];

	memset(p, 7, 4 * PAGE);
	CHECK(mincore(p, 4 * PAGE, in) == 0 && (in[0] & 1) && (in[3] & 1));
	CHECK(madvise(p + PAGE, PAGE, MADV_DONTNEED) == 0 && p[PAGE] == 0 && p[0] == 7 && p[2 * PAGE] == 7);
	CHECK(ftruncate(fd, PAGE) == 0 && pwrite(fd, "file", 4, 0) == 4);
	private = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	private[0] = 'X';
	CHECK(shared[0] == 'f' && madvise(private, PAGE, MADV_DONTNEED) == 0 && private[0] == 'f');
	shared[1] = 'I';
	CHECK(private[1] == 'I');
	CHECK(madvise(shared, PAGE, MADV_REMOVE) == 0 && shared[0] == 0);
	CHECK_ERRNO(madvise(p, PAGE, 9999), EINVAL);
	CHECK(mlock(p, PAGE) == 0 && munlock(p, PAGE) == 0 && msync(shared, PAGE, MS_SYNC) == 0);
	CHECK(munmap(p, 4 * PAGE) == 0 && munmap(shared, PAGE) == 0 && munmap(private, PAGE) == 0 && close(fd) == 0);
	say("advise\n");
}

static void big_and_huge(void)
{
	size_t size = 8 << 20;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	CHECK(p != MAP_FAILED);
	madvise(p, size, MADV_HUGEPAGE);
	for (size_t i = 0; i < size; i += PAGE)
		*(size_t *)(p + i) = i;
	/* holes in memory that may have large pages */
	for (size_t i = 0; i < size; i += 64 * PAGE)
		CHECK(munmap(p + i, PAGE) == 0);
	for (size_t i = 0; i < size; i += PAGE)
		if (i % (64 * PAGE))
			CHECK(*(size_t *)(p + i) == i);
		else
			CHECK(touch(p + i, 0) == SEGV_MAPERR);
	CHECK(munmap(p, size) == 0);
	say("big and huge\n");
}

static void the_break(void)
{
	char *start = (char *)syscall(SYS_brk, 0), *end;

	end = start + 100 * PAGE;
	CHECK((char *)syscall(SYS_brk, end) == end);
	CHECK(start[0] == 0);
	memset(start, 5, 100 * PAGE);
	CHECK((char *)syscall(SYS_brk, start + 50 * PAGE) == start + 50 * PAGE);
	CHECK(touch(start + 51 * PAGE, 0) == SEGV_MAPERR && touch(start + 49 * PAGE, 1) == 0);
	CHECK((char *)syscall(SYS_brk, end) == end && start[60 * PAGE] == 0 && start[48 * PAGE] == 5);
	CHECK((char *)syscall(SYS_brk, 1L << 46) == end);
	CHECK((char *)syscall(SYS_brk, start) == start);
	say("the break\n");
}

/* A bad pointer is an error of the call, never a signal; a half-bad one is a short count. */
static void bad_pointers(void)
{
	char *p = private_pages(2), *edge = p + PAGE - 10;
	char *const wild[] = { NULL, (char *)8, p + PAGE, (char *)0x7ffffffff000, (char *)0x800000000000, (char *)0xffff888000000000, (char *)-4096L };
	int fd = open("bad", O_RDWR | O_CREAT, 0600), ends[2];
	struct iovec vec = { edge, 10 };

	CHECK(munmap(p + PAGE, PAGE) == 0 && pipe(ends) == 0 && ftruncate(fd, 100) == 0);
	for (unsigned i = 0; i < ARRAY_LENGTH(wild); i++) {
		CHECK_ERRNO(syscall(SYS_write, ends[1], wild[i], 1), EFAULT);
		CHECK_ERRNO(syscall(SYS_pread64, fd, wild[i], 1, 0), EFAULT);
		CHECK_ERRNO(syscall(SYS_openat, AT_FDCWD, wild[i], O_RDONLY), EFAULT);
		CHECK_ERRNO(syscall(SYS_uname, wild[i]), EFAULT);
		CHECK_ERRNO(syscall(SYS_pipe2, wild[i], 0), EFAULT);
		CHECK_ERRNO(syscall(SYS_rt_sigaction, SIGUSR1, wild[i] ? wild[i] : (char *)8, NULL, 8), EFAULT);
		CHECK_ERRNO(syscall(SYS_writev, ends[1], wild[i], 1), EFAULT);
	}
	memcpy(edge, "0123456789", 10);
	CHECK(pwrite(fd, edge, 20, 0) == 10 && pread(fd, edge, 20, 0) == 10);
	CHECK(writev(fd, &vec, 1) == 10 && close(fd) == 0);
	say("bad pointers\n");
}

static void faults_are_counted(void)
{
	struct rusage before, after;
	int fd = memfd_create("faults", 0);
	char *p = mmap(NULL, 300 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	CHECK(fd >= 0 && ftruncate(fd, 300 * PAGE) == 0 && p != MAP_FAILED);
	CHECK(getrusage(RUSAGE_SELF, &before) == 0);
	for (int i = 0; i < 300; i++)
		p[i * PAGE] = 1;
	CHECK(getrusage(RUSAGE_SELF, &after) == 0 && after.ru_minflt - before.ru_minflt >= 1);
	say("faults are counted\n");
}

int main(void)
{
	on_signal(SIGSEGV, on_fault, 0);
	PART(map_and_unmap);
	PART(protect);
	PART(move);
	PART(advise);
	PART(big_and_huge);
	PART(the_break);
	PART(bad_pointers);
	PART(faults_are_counted);
	return 0;
}
