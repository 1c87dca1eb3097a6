/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bad saved state: what a signal frame or a tracer says the registers are, and what no processor loads. Each in a child,
 * which ends as on Linux. */
#include "check.h"

#include <asm/prctl.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/ucontext.h>
#include <sys/user.h>

#define FLAG_AC 0x40000ul
#define FLAG_NT 0x4000ul
#define FLAG_IOPL 0x3000ul

static void (*change)(ucontext_t *frame);

static void handler(int signal, siginfo_t *info, void *frame)
{
	(void)signal, (void)info;
	change(frame);
}

/* Returns from a signal handler through the changed frame; the child exits with 9 if it survives that. */
static void from_frame(void)
{
	on_signal(SIGUSR1, handler, 0);
	raise(SIGUSR1);
	_exit(9);
}

static void through(const char *what, void (*how)(ucontext_t *frame))
{
	int status;

	change = how;
	status = child_status(from_frame);
	say("%s: %s %d\n", what, WIFSIGNALED(status) ? "signal" : "status",
	    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void rip(ucontext_t *frame, uint64_t address)
{
	frame->uc_mcontext.gregs[REG_RIP] = address;
}

static void rip_above(ucontext_t *frame)
{
	rip(frame, 0x800000000000);
}

static void rip_wild(ucontext_t *frame)
{
	rip(frame, 1ull << 63);
}

static void rip_kernel(ucontext_t *frame)
{
	rip(frame, 0xffffffff81000000);
}

/* cs, gs, fs and ss are the words of one register */
static void selector(ucontext_t *frame, int which, uint16_t value)
{
	uint64_t all = frame->uc_mcontext.gregs[REG_CSGSFS];

	frame->uc_mcontext.gregs[REG_CSGSFS] = (all & ~(0xffffull << 16 * which)) | (uint64_t)value << 16 * which;
}

static void cs_null(ucontext_t *frame)
{
	selector(frame, 0, 0);
}

static void cs_kernel(ucontext_t *frame)
{
	selector(frame, 0, 0x10);
}

static void cs_local(ucontext_t *frame)
{
	selector(frame, 0, 0x7);
}

static void ss_null(ucontext_t *frame)
{
	selector(frame, 3, 0);
}

static void ss_kernel(ucontext_t *frame)
{
	selector(frame, 3, 0x18);
}

static void flags(ucontext_t *frame)
{
	frame->uc_mcontext.gregs[REG_EFL] |= FLAG_NT | FLAG_IOPL | 1 << 17 | 1 << 20 | 1 << 16;
}

/* Beside the legacy area: header and magic words of the extended state. */
static uint32_t *legacy(ucontext_t *frame)
{
	return (uint32_t *)frame->uc_mcontext.fpregs;
}

static void xstate_unknown(ucontext_t *frame)
{
	*(uint64_t *)(legacy(frame) + 128) |= 1ull << 61;
}

static void xstate_compact(ucontext_t *frame)
{
	*(uint64_t *)(legacy(frame) + 130) = 1ull << 63 | 7;
}

static void xstate_away(ucontext_t *frame)
{
	frame->uc_mcontext.fpregs = wild(1ull << 62);
}

static uint64_t read_flags(void)
{
	uint64_t flags;

	asm volatile("pushfq\n pop %0" : "=r"(flags));
	return flags;
}

/* The flag stays through a call, a page fault and a signal, and means nothing to the kernel. */
static void alignment_check(void)
{
	char *page = private_pages(2);
	uint64_t flags;

	asm volatile("sub $128, %%rsp\n pushfq\n orl $0x40000, (%%rsp)\n popfq\n"
		     "syscall\n movb $1, (%2)\n movb $2, 4096(%2)\n"
		     "pushfq\n pop %0\n pushfq\n andl $~0x40000, (%%rsp)\n popfq\n add $128, %%rsp"
		     : "=r"(flags) : "a"(SYS_getppid), "r"(page) : "rcx", "r11", "memory", "cc");
	CHECK(flags & FLAG_AC && page[0] == 1 && page[4096] == 2);
	asm volatile("sub $128, %%rsp\n pushfq\n orl $0x4000, (%%rsp)\n popfq\n"
		     "syscall\n movb $1, (%1)\n"
		     "pushfq\n andl $~0x4000, (%%rsp)\n popfq\n add $128, %%rsp"
		     : : "a"(SYS_getppid), "r"(page) : "rcx", "r11", "memory", "cc");
	CHECK(!(read_flags() & (FLAG_AC | FLAG_NT)));
	say("flags of calls and faults\n");
}

static void bases(void)
{
	CHECK_ERRNO(syscall(SYS_arch_prctl, ARCH_SET_FS, 1ull << 62), EPERM);
	CHECK_ERRNO(syscall(SYS_arch_prctl, ARCH_SET_GS, 0xffff800000000000), EPERM);
	say("bases\n");
}

static void traced(void)
{
	CHECK(!ptrace(PTRACE_TRACEME, 0, 0, 0));
	raise(SIGSTOP);
	_exit(9);
}

/* A tracer writes the registers of its child. */
static void by_tracer(const char *what, size_t at, uint64_t value, int error, int signal)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		traced();
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	errno = 0;
	CHECK((ptrace(PTRACE_POKEUSER, pid, at, value) == -1) == !!error && errno == error);
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0) && waitpid(pid, &status, 0) == pid);
	if (WIFSTOPPED(status)) {
		CHECK(signal && WSTOPSIG(status) == signal);
		kill(pid, SIGKILL);
		CHECK(waitpid(pid, &status, 0) == pid);
	} else {
		CHECK(!signal && exited_with(status, 9));
	}
	say("by a tracer: %s: %s\n", what, signal ? strsignal(signal) : "none");
}

int main(void)
{
	through("rip above the program", rip_above);
	through("rip not canonical", rip_wild);
	through("rip of the kernel", rip_kernel);
	through("cs null", cs_null);
	through("cs of the kernel", cs_kernel);
	through("cs local", cs_local);
	through("ss null", ss_null);
	through("ss of the kernel", ss_kernel);
	through("flags", flags);
	through("xstate: unknown component", xstate_unknown);
	through("xstate: compacted", xstate_compact);
	through("xstate: not canonical", xstate_away);
	PART(alignment_check);
	PART(bases);
	by_tracer("rip", offsetof(struct user_regs_struct, rip), 1ull << 62, 0, SIGSEGV);
	by_tracer("cs", offsetof(struct user_regs_struct, cs), 0x10, EIO, 0);
	by_tracer("fs base", offsetof(struct user_regs_struct, fs_base), 1ull << 62, EIO, 0);
	by_tracer("flags", offsetof(struct user_regs_struct, eflags), FLAG_AC | FLAG_NT | FLAG_IOPL, 0, 0);
	return 0;
}
