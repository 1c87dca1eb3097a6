/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Addresses are given out and taken back; rights are honoured; a mapped file is in memory. */
#include <fcntl.h>
#include <setjmp.h>

#include "../../user/check.h"

#define PAGE 4096
#define MIB (1 << 20)

static sigjmp_buf back;

static void jump(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info, (void)context;
	siglongjmp(back, 1);
}

static int faults(volatile char *address, int writes)
{
	if (sigsetjmp(back, 1))
		return 1;
	if (writes)
		*address = 1;
	else
		(void)*address;
	return 0;
}

static char *map(size_t bytes)
{
	char *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(address != MAP_FAILED);
	return address;
}

static int is_zero(const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return 0;
	return 1;
}

static void again_and_again(void)
{
	/* together far more than a node has */
	for (int i = 0; i < 400; i++) {
		char *address = map(4 * MIB);

		CHECK(is_zero(address, PAGE) && is_zero(address + 4 * MIB - PAGE, PAGE));
		memset(address, 0xaa, PAGE);
		memset(address + 4 * MIB - PAGE, 0xaa, PAGE);
		CHECK(munmap(address, 4 * MIB) == 0);
	}
	for (int i = 0; i < 64; i++) {
		char *first = map(MIB), *second = map(3 * MIB);

		CHECK(munmap(first, MIB) == 0 && munmap(second + MIB, MIB) == 0);
		CHECK(munmap(second, MIB) == 0 && munmap(second + 2 * MIB, MIB) == 0);
	}
	say("again and again\n");
}

static void rights(void)
{
	char *address = map(8 * PAGE);

	on_signal(SIGSEGV, jump, 0);
	CHECK(mprotect(address + PAGE, PAGE, PROT_READ) == 0 && mprotect(address + 3 * PAGE, PAGE, PROT_NONE) == 0);
	CHECK(!faults(address + PAGE, 0) && faults(address + PAGE, 1));
	CHECK(faults(address + 3 * PAGE, 0) && !faults(address + 4 * PAGE, 1));
	CHECK(mprotect(address, 8 * PAGE, PROT_READ | PROT_WRITE) == 0 && !faults(address + 3 * PAGE, 1));
	CHECK(faults((char *)(uintptr_t)map, 1) && faults((char *)"constant", 1));
	CHECK(munmap(address, 8 * PAGE) == 0);
	signal(SIGSEGV, SIG_DFL);
	say("rights\n");
}

static void code(void)
{
	/* mov eax, 42; ret */
	static const unsigned char bytes[] = { 0xb8, 42, 0, 0, 0, 0xc3 };
	char *address = map(PAGE);
	int (*function)(void);

	memcpy(address, bytes, sizeof(bytes));
	on_signal(SIGSEGV, jump, 0);
	memcpy(&function, &address, sizeof(function));
	if (!sigsetjmp(back, 1)) {
		function();
		say("data was executed\n");
	}
	CHECK(mprotect(address, PAGE, PROT_READ | PROT_EXEC) == 0 && function() == 42);
	CHECK(munmap(address, PAGE) == 0);
	signal(SIGSEGV, SIG_DFL);
	say("code\n");
}

static void moves(void)
{
	char *address = map(2 * MIB), *other;

	memset(address, 0x11, 2 * MIB);
	other = mremap(address, 2 * MIB, 6 * MIB, MREMAP_MAYMOVE);
	CHECK(other != MAP_FAILED && other[0] == 0x11 && other[2 * MIB - 1] == 0x11 && is_zero(other + 2 * MIB, MIB));
	address = mremap(other, 6 * MIB, MIB, 0);
	CHECK(address == other && munmap(address, MIB) == 0);
	address = map(4 * PAGE);
	other = mmap(address + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(other == address + PAGE && munmap(address, 4 * PAGE) == 0);
	address = map(PAGE);
	*address = 1;
	CHECK(madvise(address, PAGE, MADV_DONTNEED) == 0 && *address == 0 && munmap(address, PAGE) == 0);
	say("moves\n");
}

static void files(void)
{
	char name[64], *address;
	int file;

	snprintf(name, sizeof(name), "/tmp/tacet-static-map-%d", getpid());
	file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	CHECK(file >= 0 && write(file, "first", 5) == 5 && lseek(file, PAGE, SEEK_SET) == PAGE && write(file, "second", 6) == 6);
	address = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	CHECK(address != MAP_FAILED && !memcmp(address, "first", 6) && !memcmp(address + PAGE, "second", 7));
	address[0] = 'F';
	CHECK(munmap(address, 2 * PAGE) == 0);
	address = mmap(NULL, 100, PROT_READ, MAP_PRIVATE, file, PAGE);
	CHECK(address != MAP_FAILED && !memcmp(address, "second", 7) && munmap(address, 100) == 0);
	CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0), EBADF);
	CHECK(close(file) == 0 && unlink(name) == 0);
	say("files\n");
}

/* musl's sbrk refuses, so the call itself is used. */
static char *set_break(char *wanted)
{
	return (char *)syscall(SYS_brk, wanted);
}

static void program_break(void)
{
	char *start = set_break(NULL);

	CHECK(set_break(start + MIB) == start + MIB && is_zero(start, MIB));
	memset(start, 0x22, MIB);
	CHECK(set_break(start) == start && set_break(NULL) == start);
	CHECK(set_break(start + PAGE) == start + PAGE && is_zero(start, PAGE) && set_break(start) == start);
	say("program break\n");
}

static void refusals(void)
{
	CHECK_ERRNO((long)mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), EINVAL);
	CHECK_ERRNO((long)mmap(NULL, 1L << 48, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), ENOMEM);
	CHECK_ERRNO(munmap((void *)1, PAGE), EINVAL);
	say("refusals\n");
}

int main(void)
{
	again_and_again();
	rights();
	code();
	moves();
	files();
	program_break();
	refusals();
	return 0;
}
