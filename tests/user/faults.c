/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Page faults: the right signal, code and address; stacks that grow; accesses that must not fault. */
#include "check.h"

#include <fcntl.h>
#include <setjmp.h>
#include <ucontext.h>

#define PAGE 4096L

static sigjmp_buf back;
static volatile siginfo_t seen;
static volatile uint64_t seen_ip, seen_cr2, seen_error;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	seen = *info;
	seen_ip = g[REG_RIP];
	seen_cr2 = g[REG_CR2];
	seen_error = g[REG_ERR];
	siglongjmp(back, 1);
}

enum how { READ, WRITE, RUN };

static void access_as(volatile char *p, enum how how)
{
	switch (how) {
	case READ:
		(void)*p;
		break;
	case WRITE:
		*p = 1;
		break;
	case RUN:
		((void (*)(void))p)();
		break;
	}
}

/* Does it, and expects the signal with this code at exactly this address, and the CPU's error code. */
static void expect(volatile char *p, enum how how, int sig, int code)
{
	seen.si_signo = 0;
	if (!sigsetjmp(back, 1))
		access_as(p, how);
	CHECK(seen.si_signo == sig);
	if (!sig)
		return;
	CHECK(seen.si_code == code && seen.si_addr == (void *)p && seen_cr2 == (uint64_t)p);
	CHECK((seen_error & 4) && !!(seen_error & 2) == (how == WRITE));
	CHECK((how == RUN) == (seen_ip == (uint64_t)p));
	CHECK(how != RUN || !(seen_error & 1) || (seen_error & 16));
}

static void rights(void)
{
	char *p = private_pages(3), *code = p + PAGE;
	static const char constant[PAGE] __attribute__((aligned(4096))) = "constant";

	expect(p + 5, WRITE, 0, 0);
	*(unsigned char *)code = 0xc3;
	expect(code, RUN, SIGSEGV, SEGV_ACCERR);
	CHECK(mprotect(code, PAGE, PROT_READ | PROT_EXEC) == 0);
	expect(code, RUN, 0, 0);
	expect(code + 1, WRITE, SIGSEGV, SEGV_ACCERR);
	CHECK(mprotect(code, PAGE, PROT_READ) == 0);
	expect(code, RUN, SIGSEGV, SEGV_ACCERR);
	CHECK(mprotect(code, PAGE, PROT_NONE) == 0);
	expect(code + 4095, READ, SIGSEGV, SEGV_ACCERR);
	CHECK(munmap(code, PAGE) == 0);
	expect(code + 77, READ, SIGSEGV, SEGV_MAPERR);
	expect(code + 77, WRITE, SIGSEGV, SEGV_MAPERR);
	expect(code, RUN, SIGSEGV, SEGV_MAPERR);
	expect((char *)constant + 100, WRITE, SIGSEGV, SEGV_ACCERR);
	expect((char *)(uintptr_t)&expect, WRITE, SIGSEGV, SEGV_ACCERR);
	say("rights\n");
}

static void nowhere(void)
{
	static const uint64_t places[] = { 0, 8, 0x1000, 0x7ffffffff000, 0xffff800000000000, 0xffff888000000000, 0xffffffff81000000, 0xfffffffffffff000 };

	for (unsigned i = 0; i < ARRAY_LENGTH(places); i++) {
		int code = SEGV_MAPERR;

		/* the kernel's half is always "not mapped", so that it does not reveal its mappings */
		expect(wild(places[i]), READ, SIGSEGV, code);
		expect(wild(places[i]), WRITE, SIGSEGV, code);
		expect(wild(places[i]), RUN, SIGSEGV, code);
	}
	say("nowhere\n");
}

/* A protection fault, not a page fault; it has no address. */
static void not_canonical(void)
{
	static enum how how;

	for (how = READ; how <= RUN; how++) {
		seen.si_signo = 0;
		if (!sigsetjmp(back, 1))
			access_as(wild(0x1234567812345678), how);
		CHECK(seen.si_signo == SIGSEGV && seen.si_code == SI_KERNEL && seen.si_addr == NULL);
	}
	say("not canonical\n");
}

static void beyond_the_end(void)
{
	int fd = open("short", O_RDWR | O_CREAT, 0600);
	char *p;

	CHECK(ftruncate(fd, PAGE + 10) == 0);
	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	expect(p + PAGE + 4000, WRITE, 0, 0);
	expect(p + 2 * PAGE + 3, READ, SIGBUS, BUS_ADRERR);
	expect(p + 2 * PAGE + 3, WRITE, SIGBUS, BUS_ADRERR);
	CHECK(ftruncate(fd, 3 * PAGE) == 0);
	expect(p + 2 * PAGE + 3, READ, 0, 0);
	CHECK(ftruncate(fd, 0) == 0);
	expect(p, READ, SIGBUS, BUS_ADRERR);
	say("beyond the end of a file\n");
}

static volatile int deep_enough = 1;

static int descend(int levels, volatile char *above)
{
	volatile char here[3000];

	here[0] = above[0];
	if (!levels || !deep_enough)
		return here[0];
	return descend(levels - 1, here) + here[0];
}

static void stacks(void)
{
	volatile char one = 1;
	char *guard;

	CHECK(descend(1000, &one) == 1001);	/* 3 MB: grows on demand */
	guard = private_pages(4);
	CHECK(mprotect(guard, PAGE, PROT_NONE) == 0);
	expect(guard + PAGE, WRITE, 0, 0);
	expect(guard + PAGE - 1, WRITE, SIGSEGV, SEGV_ACCERR);
	say("stacks\n");
}

/* The running page is unmapped: the fetch of the next instruction faults. */
static void own_code(void)
{
	static const unsigned char text[] = { 0x0f, 0x05, 0xc3 };	/* syscall; ret */
	char *p = private_pages(1);
	long result;

	memcpy(p, text, sizeof(text));
	CHECK(mprotect(p, PAGE, PROT_READ | PROT_EXEC) == 0);
	seen.si_signo = 0;
	if (!sigsetjmp(back, 1)) {
		asm volatile("call *%1" : "=a"(result) : "r"(p), "a"(SYS_munmap), "D"(p), "S"(PAGE) : "rcx", "r11", "memory");
		CHECK(!"returned into a page that is gone");
	}
	CHECK(seen.si_signo == SIGSEGV && seen.si_code == SEGV_MAPERR && seen.si_addr == p + 2 && seen_ip == (uint64_t)p + 2);
	say("own code taken away\n");
}

/* An access across two pages reports the byte that failed. */
static void straddling(void)
{
	char *p = private_pages(2);

	CHECK(munmap(p + PAGE, PAGE) == 0);
	seen.si_signo = 0;
	if (!sigsetjmp(back, 1))
		asm volatile("movq $0, (%0)" : : "r"(p + PAGE - 3) : "memory");
	CHECK(seen.si_signo == SIGSEGV && seen.si_addr == p + PAGE && p[PAGE - 3] == 0);
	say("straddling\n");
}

static void no_handler(void)
{
	signal(SIGSEGV, SIG_DFL);
	*(volatile char *)wild(16) = 1;
}

static void blocked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*(volatile char *)wild(16) = 1;
}

static void ignored(void)
{
	signal(SIGSEGV, SIG_IGN);
	*(volatile char *)wild(16) = 1;
}

int main(void)
{
	stack_t alternate = { .ss_sp = private_pages(16), .ss_size = 65536 };

	CHECK(sigaltstack(&alternate, NULL) == 0);
	on_signal(SIGSEGV, on_fault, SA_ONSTACK);
	on_signal(SIGBUS, on_fault, SA_ONSTACK);
	PART(rights);
	PART(nowhere);
	PART(not_canonical);
	PART(beyond_the_end);
	PART(stacks);
	PART(own_code);
	PART(straddling);
	CHILD(no_handler, killed_by(status, SIGSEGV));
	CHILD(blocked, killed_by(status, SIGSEGV));
	CHILD(ignored, killed_by(status, SIGSEGV));
	say("not handled\n");
	return 0;
}
