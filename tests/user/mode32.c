/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* 32-bit code in a 64-bit process: its exceptions, its calls, a signal in the middle. */
#include "check.h"

#include <sys/time.h>
#include <ucontext.h>

#define USER32_CS 0x23
#define USER_DS 0x2b
#define USER64_CS 0x33

static volatile int signals, seen_sig, seen_trap, seen_cs;
static volatile uint64_t resume_ip;

/* Continue in 64-bit mode at resume_ip. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)info;
	signals++;
	seen_sig = sig;
	seen_trap = (int)g[REG_TRAPNO];
	seen_cs = (uint16_t)g[REG_CSGSFS];
	g[REG_RIP] = (greg_t)resume_ip;
	g[REG_CSGSFS] = (g[REG_CSGSFS] & ~0xffffL) | USER64_CS;
}

/* Let the 32-bit loop end and return into it. */
static void on_alarm(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig, (void)info;
	if ((uint16_t)g[REG_CSGSFS] != USER32_CS)
		return;		/* too early or too late: another signal will come */
	signals++;
	*(volatile int *)g[REG_RDI] = 1;
}

/*
 * Jump to code below 4 GiB in a 32-bit segment. Flat data segments
 * must be loaded first. The handler returns from it; edi is its argument, eax its result.
 */
static uint32_t run32(void *code, void *argument)
{
	uint64_t result;

	asm volatile("mov %%rsp, %%r12\n lea 1f(%%rip), %%rbx\n mov %%rbx, %[resume]\n"
		     "mov %[ds], %%ds\n mov %[ds], %%es\n"
		     "push %[cs]\n push %[code]\n lretq\n"
		     "1: mov %%r12, %%rsp\n xor %%ecx, %%ecx\n mov %%ecx, %%ds\n mov %%ecx, %%es"
		     : "=a"(result), [resume] "=m"(resume_ip)
		     : [code] "r"(code), [cs] "i"(USER32_CS), [ds] "r"(USER_DS), "D"(argument)
		     : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
	return (uint32_t)result;
}

struct case32 {
	const char *name;
	unsigned char code[16];
	int sig, trap;
};

static const struct case32 cases[] = {
	{ "overflow", { 0xb0, 0x7f, 0x04, 0x01, 0xce }, SIGSEGV, 4 },			/* mov $127,%al; add $1,%al; into */
	{ "bound", { 0x31, 0xc0, 0x48, 0x62, 0x07 }, SIGSEGV, 5 },			/* xor %eax,%eax; dec %eax; bound %eax,(%edi) */
	{ "undefined", { 0x0f, 0x0b }, SIGILL, 6 },
	{ "divide", { 0x31, 0xc9, 0xf7, 0xf1 }, SIGFPE, 0 },
	{ "breakpoint", { 0xcc }, SIGTRAP, 3 },
	{ "page fault", { 0xa1, 0x10, 0x00, 0x00, 0x00 }, SIGSEGV, 14 },		/* mov 0x10,%eax */
	{ "protection", { 0xf4 }, SIGSEGV, 13 },
};

static void exceptions(char *low)
{
	for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
		memcpy(low, cases[i].code, sizeof(cases[i].code));
		memset(low + 512, 0, 8);	/* the bounds of bound */
		signals = 0;
		run32(low, low + 512);
		CHECK(signals == 1 && seen_sig == cases[i].sig && seen_trap == cases[i].trap && seen_cs == USER32_CS);
	}
}

/* The return from a signal goes to 32-bit code. */
static void interrupted(char *low)
{
	static const unsigned char spin[] = { 0x83, 0x3f, 0x00, 0x74, 0xfb,	/* 1: cmpl $0,(%edi); je 1b */
					      0xb8, 0x39, 0x30, 0x00, 0x00,	/* mov $12345,%eax */
					      0x0f, 0x0b };			/* ud2 */
	struct itimerval often = { { 0, 50000 }, { 0, 2000 } }, off = { 0 };

	memcpy(low, spin, sizeof(spin));
	memset(low + 512, 0, 4);
	signals = 0;
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	CHECK(run32(low, low + 512) == 12345 && signals >= 2 && seen_sig == SIGILL);
	CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
}

/* The 32-bit system calls, from 64-bit code and from 32-bit code. */
static void calls(char *low)
{
	static const unsigned char getpid32[] = { 0xb8, 0x14, 0x00, 0x00, 0x00, 0xcd, 0x80, 0x0f, 0x0b };	/* mov $20,%eax; int $0x80; ud2 */
	uint64_t result, r8 = 0x1122334455667788, r8_after;
	int ends[2];
	char back[8] = { 0 };

	asm volatile("mov %3, %%r8\n int $0x80\n mov %%r8, %1" : "=a"(result), "=r"(r8_after) : "a"(20L), "m"(r8) : "r8", "memory");
	CHECK(result == (uint64_t)getpid());
	CHECK(r8_after == r8);
	CHECK(pipe(ends) == 0);
	memcpy(low + 600, "from32", 6);
	asm volatile("int $0x80" : "=a"(result) : "a"(4L), "b"((long)ends[1]), "c"(low + 600), "d"(6L) : "r8", "r9", "r10", "r11", "memory");
	CHECK(result == 6 && read(ends[0], back, 8) == 6 && !strcmp(back, "from32"));
	asm volatile("int $0x80" : "=a"(result) : "a"(9999L) : "r8", "r9", "r10", "r11", "memory");
	CHECK((int)result == -ENOSYS);
	memcpy(low, getpid32, sizeof(getpid32));
	CHECK(run32(low, low) == (uint32_t)getpid());
}

static void getpid_by_number(void)
{
	long result;

	signal(SIGSEGV, SIG_DFL);
	asm volatile("int $0x80" : "=a"(result) : "a"(20L) : "r8", "r9", "r10", "r11", "memory");
}

int main(void)
{
	static const int sigs[] = { SIGSEGV, SIGILL, SIGFPE, SIGTRAP };
	stack_t alternate = { .ss_sp = private_pages(16), .ss_size = 65536 };
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	CHECK(low != MAP_FAILED && sigaltstack(&alternate, NULL) == 0);
	for (unsigned i = 0; i < ARRAY_LENGTH(sigs); i++)
		on_signal(sigs[i], on_fault, SA_ONSTACK);
	on_signal(SIGALRM, on_alarm, SA_ONSTACK);
	exceptions(low);
	say("exceptions of 32-bit code\n");
	interrupted(low);
	say("32-bit code interrupted\n");
	/* a kernel may have no 32-bit calls, by its configuration or a boot parameter: then int $0x80 is a protection fault */
	if (child_status(getpid_by_number) == 0)
		calls(low);
	say("32-bit calls\n");
	return 0;
}
