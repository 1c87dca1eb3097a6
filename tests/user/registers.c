/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* General registers and flags across calls, faults and signals; exact returns to a context. */
#include "check.h"

#include <sys/time.h>
#include <ucontext.h>

static volatile int rang;

/* rbx rbp r12-r15, then rax rcx rdx rsi rdi r8-r11, then the flags */
struct gprs { uint64_t r[15], flags; };

/*
 * Fill every register except rsp, execute OP, and store all registers. The stack
 * holds the addresses of input and output.
 */
#define HOLD(name, OP) \
void name(const struct gprs *in, struct gprs *out); \
asm(".pushsection .text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" \
	"push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n push %rsi\n" \
	"mov 0(%rdi), %rbx\n mov 8(%rdi), %rbp\n mov 16(%rdi), %r12\n mov 24(%rdi), %r13\n" \
	"mov 32(%rdi), %r14\n mov 40(%rdi), %r15\n mov 48(%rdi), %rax\n mov 56(%rdi), %rcx\n" \
	"mov 64(%rdi), %rdx\n mov 72(%rdi), %rsi\n mov 88(%rdi), %r8\n mov 96(%rdi), %r9\n" \
	"mov 104(%rdi), %r10\n mov 112(%rdi), %r11\n push 120(%rdi)\n mov 80(%rdi), %rdi\n popfq\n" \
	OP \
	"pushfq\n push %rax\n mov 16(%rsp), %rax\n" \
	"mov %rbx, 0(%rax)\n mov %rbp, 8(%rax)\n mov %r12, 16(%rax)\n mov %r13, 24(%rax)\n" \
	"mov %r14, 32(%rax)\n mov %r15, 40(%rax)\n mov %rcx, 56(%rax)\n mov %rdx, 64(%rax)\n" \
	"mov %rsi, 72(%rax)\n mov %rdi, 80(%rax)\n mov %r8, 88(%rax)\n mov %r9, 96(%rax)\n" \
	"mov %r10, 104(%rax)\n mov %r11, 112(%rax)\n" \
	"pop %rcx\n mov %rcx, 48(%rax)\n pop %rcx\n mov %rcx, 120(%rax)\n cld\n" \
	"pop %rsi\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n.popsection\n");

HOLD(hold_syscall, "syscall\n")
HOLD(hold_load, "movb (%rdi), %dil\n movzbl %dil, %edi\n")
HOLD(hold_spin, "1: cmpl $0, (%rdi)\n je 1b\n")
HOLD(hold_breakpoint, "int3\n")

#define FLAGS_FIXED 0x202	/* interrupts on, and the bit that is always set */
#define FLAGS_SOME (FLAGS_FIXED | 0x8d5 | 0x400)	/* all arithmetic flags and the direction flag */

static void fill(struct gprs *g, uint64_t seed)
{
	for (int i = 0; i < 15; i++)
		g->r[i] = (seed + i) * 0x9e3779b97f4a7c15u | 1;
	g->flags = FLAGS_SOME;
}

static void across_calls(void)
{
	struct gprs in, out;

	for (uint64_t i = 0; i < 300; i++) {
		fill(&in, i);
		in.r[6] = i % 3 ? SYS_getppid : SYS_sched_yield;
		hold_syscall(&in, &out);
		CHECK(out.r[6] == (i % 3 ? (uint64_t)getppid() : 0));
		/* rcx and r11 now hold the address and the flags of the return */
		CHECK((out.r[14] & 0xcd5) == 0xcd5 && out.flags == FLAGS_SOME);
		CHECK(out.r[7] > (uint64_t)hold_syscall && out.r[7] < (uint64_t)hold_syscall + 200);
		out.r[6] = in.r[6], out.r[7] = in.r[7], out.r[14] = in.r[14];
		CHECK(!memcmp(in.r, out.r, sizeof(in.r)));
	}
	say("across calls\n");
}

static void across_page_faults(void)
{
	char *pages = private_pages(100);
	struct gprs in, out;

	for (int i = 0; i < 100; i++) {
		fill(&in, i);
		in.r[10] = (uint64_t)pages + i * 4096 + 9;
		hold_load(&in, &out);
		CHECK(out.r[10] == 0 && out.flags == FLAGS_SOME);
		out.r[10] = in.r[10];
		CHECK(!memcmp(in.r, out.r, sizeof(in.r)));
	}
	say("across page faults\n");
}

static void ring(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	/* the kernel clears the direction flag for a handler */
	CHECK(!(__builtin_ia32_readeflags_u64() & 0x400));
	rang = 1;
}

static void across_signals(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, off = { 0 };
	struct gprs in, out;

	on_signal(SIGALRM, ring, 0);
	on_signal(SIGTRAP, ring, 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (int i = 0; i < 50; i++) {
		fill(&in, i);
		in.r[10] = (uint64_t)&rang;
		rang = 0;
		hold_spin(&in, &out);
		CHECK(!memcmp(in.r, out.r, sizeof(in.r)) && (out.flags & 0x602) == 0x602);
	}
	CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
	fill(&in, 7);
	hold_breakpoint(&in, &out);
	CHECK(!memcmp(&in, &out, sizeof(in)));
	say("across signals\n");
}

/* Return from a handler with every register changed, which needs a return by IRET. */
static struct gprs wanted;

static void change_all(int sig, siginfo_t *info, void *context)
{
	static const int names[] = { REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15, REG_RAX, REG_RCX,
				     REG_RDX, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11 };
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig, (void)info;
	for (int i = 0; i < 15; i++)
		g[names[i]] = (greg_t)wanted.r[i];
	g[REG_EFL] = (greg_t)wanted.flags;
}

static void returned_to(void)
{
	struct gprs in, out;

	fill(&in, 1);
	fill(&wanted, 1000);
	wanted.flags = FLAGS_FIXED | 1;
	on_signal(SIGTRAP, change_all, 0);
	hold_breakpoint(&in, &out);
	CHECK(!memcmp(&wanted, &out, sizeof(out)));
	/* the same when the signal follows a call rather than a fault */
	on_signal(SIGUSR1, change_all, 0);
	fill(&in, 2);
	in.r[6] = SYS_tkill, in.r[10] = (uint64_t)gettid(), in.r[9] = SIGUSR1;
	hold_syscall(&in, &out);
	CHECK(!memcmp(&wanted, &out, sizeof(out)));
	say("returned to as a handler says\n");
}

/* The 128 bytes below the stack pointer belong to the interrupted code. */
static void red_zone(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, off = { 0 };
	uint64_t intact;

	on_signal(SIGALRM, ring, 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (int i = 0; i < 30; i++) {
		rang = 0;
		asm volatile("sub $512, %%rsp\n"
			     "mov %2, %%rax\n mov %%rax, -8(%%rsp)\n not %%rax\n mov %%rax, -128(%%rsp)\n"
			     "1: cmpl $0, %1\n je 1b\n"
			     "mov -128(%%rsp), %%rax\n not %%rax\n xor -8(%%rsp), %%rax\n mov %%rax, %0\n"
			     "add $512, %%rsp"
			     : "=&r"(intact) : "m"(rang), "r"((uint64_t)i * 0x1234567) : "rax", "memory", "cc");
		CHECK(intact == 0);
	}
	CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
	say("red zone\n");
}

int main(void)
{
	across_calls();
	across_page_faults();
	across_signals();
	returned_to();
	red_zone();
	return 0;
}
