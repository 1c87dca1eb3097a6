/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Read-only and executable memory: what the program may do with it, what the kernel
 * may do for the program, and the signals of code that the program has generated.
 */
#include "check.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>

#define PAGE 4096L
#define HUGE (2L << 20)
#define READ_EXEC (PROT_READ | PROT_EXEC)
#define READ_WRITE (PROT_READ | PROT_WRITE)

static sigjmp_buf faulted;
static volatile siginfo_t fault;
static volatile uintptr_t fault_at;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	fault = *info;
	fault_at = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
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
		*p = *p;
	else
		(void)*p;
	return 0;
}

static char *map(size_t size, int protection)
{
	char *p = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* The kernel reads the same as the program. */
static int kernel_reads(const char *p)
{
	char copy[64];
	int ends[2], same;

	CHECK(pipe(ends) == 0);
	CHECK(write(ends[1], p, sizeof(copy)) == sizeof(copy));
	CHECK(read(ends[0], copy, sizeof(copy)) == sizeof(copy));
	same = !memcmp(copy, p, sizeof(copy));
	close(ends[0]);
	close(ends[1]);
	return same;
}

/* The kernel writes it, in two ways that must agree. */
static int kernel_writes(char *p)
{
	char byte = p[5];
	struct iovec from = { &byte, 1 }, to = { p + 5, 1 };
	int zeros = open("/dev/zero", O_RDONLY);
	int direct = read(zeros, p, 1) == 1, pinned;

	CHECK(direct || errno == EFAULT);
	close(zeros);
	pinned = process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 1;
	CHECK(pinned || errno == EFAULT);
	CHECK(pinned == direct);
	return direct;
}

static void only_read(char *p)
{
	CHECK(touch(p, 0) == 0 && touch(p, 1) == SEGV_ACCERR);
	CHECK(kernel_reads(p) && !kernel_writes(p));
}

static void all_but_executed(char *p)
{
	CHECK(touch(p, 1) == 0 && kernel_reads(p) && kernel_writes(p));
}

/* The first access may come from the program or the kernel, as a read or a write. */
static void read_only(void)
{
	char *p = map(4 * PAGE, READ_WRITE), *zeros = map(2 * PAGE, PROT_READ);

	for (int round = 0; round < 16; round++) {
		char *page = p + PAGE * (round % 4);

		if (round & 4)
			CHECK(kernel_writes(page));
		if (round & 8)
			CHECK(kernel_reads(page));
		memset(page, 'a' + round, PAGE);
		CHECK(mprotect(page, PAGE, PROT_READ) == 0);
		only_read(page);
		CHECK(page[7] == 'a' + round && page[PAGE - 1] == 'a' + round);
		CHECK(mprotect(page, PAGE, READ_WRITE) == 0);
		all_but_executed(page);
	}
	only_read(zeros);
	for (long i = 0; i < 2 * PAGE; i++)
		CHECK(zeros[i] == 0);
	CHECK(munmap(zeros, 2 * PAGE) == 0 && munmap(p, 4 * PAGE) == 0);
	say("what may only be read is not written, by nobody\n");
}

/* One page of a large one; its neighbours stay as they are. */
static void in_a_large_page(void)
{
	char *p = map(4 * HUGE, READ_WRITE);
	char *page = (char *)(((uintptr_t)p + 2 * HUGE - 1) & ~(HUGE - 1)) + 77 * PAGE;

	memset(p, 1, 4 * HUGE);
	CHECK(mprotect(page, PAGE, PROT_READ) == 0);
	only_read(page);
	all_but_executed(page - PAGE);
	all_but_executed(page + PAGE);
	CHECK(mprotect(p, 4 * HUGE, PROT_READ) == 0);
	only_read(page + PAGE);
	CHECK(mremap(page, PAGE, PAGE, MREMAP_MAYMOVE) == page);
	CHECK(mprotect(p, 4 * HUGE, READ_WRITE) == 0);
	all_but_executed(page);
	CHECK(munmap(p, 4 * HUGE) == 0);
	say("a page of a large one\n");
}

typedef int code_fn(void *);

/* mov eax, VALUE; ret */
static void make_code(char *p, int value)
{
	p[0] = 0xb8;
	memcpy(p + 1, &value, 4);
	p[5] = 0xc3;
}

static int run(char *p, void *argument)
{
	code_fn *code;

	memcpy(&code, &p, sizeof(code));
	return code(argument);
}

static void made_code(void)
{
	char *p = map(PAGE, READ_WRITE), *all = map(PAGE, READ_WRITE | PROT_EXEC);

	for (int round = 0; round < 20; round++) {
		make_code(p, 1000 + round);
		CHECK(mprotect(p, PAGE, READ_EXEC) == 0);
		CHECK(run(p, NULL) == 1000 + round);
		only_read(p);
		CHECK(mprotect(p, PAGE, READ_WRITE) == 0);
		make_code(all, round);
		CHECK(run(all, NULL) == round);
		all_but_executed(all + 64);
	}
	CHECK(munmap(p, PAGE) == 0 && munmap(all, PAGE) == 0);
	say("code that the program made\n");
}

/* The signal of an instruction that fails, in code at p. */
static int failing(char *p, const char *code, size_t size, void *argument, void *where)
{
	memcpy(p, code, size);
	CHECK(mprotect(p, PAGE, READ_EXEC) == 0);
	if (!sigsetjmp(faulted, 1)) {
		run(p, argument);
		return 0;
	}
	CHECK(fault.si_addr == where && fault_at >= (uintptr_t)p && fault_at < (uintptr_t)p + size);
	CHECK(mprotect(p, PAGE, READ_WRITE) == 0);
	return fault.si_signo * 100 + fault.si_code;
}

static void failing_code(void)
{
	static const char load_it[] = { 0x8b, 0x07, 0xc3 };			/* mov eax, [rdi] */
	static const char store_it[] = { 0x89, 0x07, 0xc3 };			/* mov [rdi], eax */
	static const char undefined[] = { 0x0f, 0x0b };				/* ud2 */
	static const char divide[] = { 0x31, 0xc9, 0x99, 0xf7, 0xf9, 0xc3 };	/* idiv ecx, which is 0 */
	static const char privileged[] = { 0xf4 };				/* hlt */
	char *p = map(PAGE, READ_WRITE), *other = map(PAGE, PROT_READ);

	for (int round = 0; round < 3; round++) {
		CHECK(failing(p, load_it, 3, NULL, NULL) == SIGSEGV * 100 + SEGV_MAPERR);
		CHECK(failing(p, store_it, 3, (void *)16, (void *)16) == SIGSEGV * 100 + SEGV_MAPERR);
		CHECK(failing(p, store_it, 3, other, other) == SIGSEGV * 100 + SEGV_ACCERR);
		CHECK(failing(p, undefined, 2, NULL, p) == SIGILL * 100 + ILL_ILLOPN);
		CHECK(failing(p, divide, 6, NULL, p + 3) == SIGFPE * 100 + FPE_INTDIV);
		CHECK(failing(p, privileged, 1, NULL, NULL) == SIGSEGV * 100 + SI_KERNEL);
	}
	CHECK(munmap(p, PAGE) == 0 && munmap(other, PAGE) == 0);
	say("code that fails\n");
}

/* Executes the code at p; returns the si_code. */
static int executed(char *p)
{
	if (sigsetjmp(faulted, 1)) {
		CHECK(fault.si_signo == SIGSEGV && fault.si_addr == p && fault_at == (uintptr_t)p);
		return fault.si_code;
	}
	run(p, NULL);
	return 0;
}

static void not_executed(void)
{
	char *p = map(PAGE, READ_WRITE | PROT_EXEC);

	make_code(p, 1);
	CHECK(executed(p) == 0);
	CHECK(mprotect(p, PAGE, READ_WRITE) == 0 && executed(p) == SEGV_ACCERR);
	CHECK(mprotect(p, PAGE, PROT_READ) == 0 && executed(p) == SEGV_ACCERR);
	CHECK(mprotect(p, PAGE, PROT_NONE) == 0 && executed(p) == SEGV_ACCERR);
	CHECK(mprotect(p, PAGE, READ_EXEC) == 0 && executed(p) == 0);
	CHECK(munmap(p, PAGE) == 0 && executed(p) == SEGV_MAPERR);
	say("data is not executed\n");
}

static char *kept[3];	/* read-only, executable, without access */

static void as_kept(void)
{
	only_read(kept[0]);
	CHECK(kept[0][9] == 'k');
	CHECK(run(kept[1], NULL) == 4711 && touch(kept[1], 1) == SEGV_ACCERR);
	CHECK(touch(kept[2], 0) == SEGV_ACCERR);
}

/* A child has the same rights; so has memory that was handed over to Linux. */
static void elsewhere(void)
{
	for (int i = 0; i < 3; i++) {
		kept[i] = map(3 * PAGE, READ_WRITE) + PAGE;
		memset(kept[i], 'k', PAGE);
	}
	make_code(kept[1], 4711);
	CHECK(mprotect(kept[0], PAGE, PROT_READ) == 0 && mprotect(kept[1], PAGE, READ_EXEC) == 0);
	CHECK(mprotect(kept[2], PAGE, PROT_NONE) == 0);
	as_kept();
	CHECK(exited_with(child_status(as_kept), 0));
	say("a child's\n");
	CHECK(mlock(kept[0] - PAGE, PAGE) == 0);
	CHECK(syscall(SYS_pkey_mprotect, kept[0] - PAGE, PAGE, PROT_READ | PROT_WRITE, -1) == 0);
	CHECK_ERRNO(msync(kept[0] - PAGE, PAGE, MS_ASYNC | MS_INVALIDATE), EBUSY);
	CHECK(msync(kept[0], PAGE, MS_ASYNC | MS_INVALIDATE) == 0 && munlock(kept[0] - PAGE, PAGE) == 0);
	as_kept();
	CHECK(mprotect(kept[2], PAGE, PROT_READ) == 0 && kept[2][9] == 'k');
	say("and for good\n");
}

int main(void)
{
	static const int signals[] = { SIGSEGV, SIGILL, SIGFPE };

	for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
		on_signal(signals[i], on_fault, 0);
	PART(read_only);
	PART(in_a_large_page);
	PART(made_code);
	PART(failing_code);
	PART(not_executed);
	PART(elsewhere);
	return 0;
}
