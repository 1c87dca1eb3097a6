/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A debugger of one thread: calls, steps, registers, memory, breakpoints, watchpoints. */
#include "check.h"

#include <elf.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

static volatile long subject = 0x11223344;

static int wait_stop(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status));
	return status >> 8;
}

static void wait_exit(pid_t pid, int code)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, code));
}

static pid_t traced(void (*fn)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
		raise(SIGSTOP);
		fn();
		_exit(33);
	}
	CHECK(pid > 0 && wait_stop(pid) == SIGSTOP);
	CHECK(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0);
	return pid;
}

static void ten_calls(void)
{
	for (int i = 0; i < 10; i++)
		syscall(SYS_getppid);
}

static void count_calls(void)
{
	struct user_regs_struct regs;
	int entries = 0, exits = 0, inside = 0;
	pid_t pid = traced(ten_calls);

	for (;;) {
		int status;

		CHECK(ptrace(PTRACE_SYSCALL, pid, 0, 0) == 0 && waitpid(pid, &status, 0) == pid);
		if (WIFEXITED(status)) {
			CHECK(WEXITSTATUS(status) == 33);
			break;
		}
		CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80));
		CHECK(ptrace(PTRACE_GETREGS, pid, 0, &regs) == 0);
		inside = !inside;
		if (regs.orig_rax != SYS_getppid)
			continue;
		if (inside) {
			CHECK((long)regs.rax == -ENOSYS);
			entries++;
		} else {
			CHECK((long)regs.rax == getpid());
			exits++;
		}
	}
	CHECK(entries == 10 && exits == 10);
	say("calls counted\n");
}

static void one_call(void)
{
	_exit(syscall(SYS_getppid) == 777 && syscall(SYS_gettid, 1, 2, 3) == 888 ? 34 : 1);
}

/* The debugger changes numbers and results of calls. */
static void change_calls(void)
{
	struct user_regs_struct regs;
	pid_t pid = traced(one_call);
	int changed = 0;

	while (changed < 2) {
		CHECK(ptrace(PTRACE_SYSCALL, pid, 0, 0) == 0 && wait_stop(pid) == (SIGTRAP | 0x80));
		CHECK(ptrace(PTRACE_GETREGS, pid, 0, &regs) == 0);
		if (regs.orig_rax != SYS_getppid && regs.orig_rax != SYS_gettid)
			continue;
		regs.orig_rax = -1;	/* at the entry: skip the call */
		CHECK(ptrace(PTRACE_SETREGS, pid, 0, &regs) == 0);
		CHECK(ptrace(PTRACE_SYSCALL, pid, 0, 0) == 0 && wait_stop(pid) == (SIGTRAP | 0x80));
		regs.rax = changed++ ? 888 : 777;
		CHECK(ptrace(PTRACE_SETREGS, pid, 0, &regs) == 0);
	}
	CHECK(ptrace(PTRACE_CONT, pid, 0, 0) == 0);
	wait_exit(pid, 34);
	say("calls changed\n");
}

/* A thousand steps; in the loop each executes one instruction. */
extern char loop_start[], loop_end[];

static void counting_loop(void)
{
	asm volatile("xor %%eax, %%eax\n .globl loop_start\nloop_start: inc %%rax\n nop\n cmp $100000, %%rax\n jne loop_start\n"
		     ".globl loop_end\nloop_end: nop" : : : "rax", "cc");
}

static void step(void)
{
	struct user_regs_struct regs;
	pid_t pid = traced(counting_loop);
	int inside = 0;
	uint64_t first = 0;

	while (inside < 1000) {
		CHECK(ptrace(PTRACE_SINGLESTEP, pid, 0, 0) == 0 && wait_stop(pid) == SIGTRAP);
		CHECK(ptrace(PTRACE_GETREGS, pid, 0, &regs) == 0);
		if (regs.rip < (uint64_t)loop_start || regs.rip >= (uint64_t)loop_end) {
			CHECK(!inside);
			continue;
		}
		if (!inside++)
			first = regs.rax;
	}
	/* a round has four instructions */
	CHECK(regs.rax - first == 249 || regs.rax - first == 250);
	regs.rax = 100000 - 1;
	regs.rip = (uint64_t)loop_start;
	CHECK(ptrace(PTRACE_SETREGS, pid, 0, &regs) == 0 && ptrace(PTRACE_CONT, pid, 0, 0) == 0);
	wait_exit(pid, 33);
	say("a thousand steps\n");
}

__attribute__((noinline, noclone)) static int callee(int x)
{
	asm volatile("" : "+r"(x));
	return x + 1;
}

static void call_and_check(void)
{
	int sum = 0;

	for (int i = 0; i < 5; i++)
		sum += callee(i);
	_exit(sum == 15 && subject == 0x5566 ? 35 : 1);
}

static void breakpoint(void)
{
	struct user_regs_struct regs;
	pid_t pid = traced(call_and_check);
	long text, at = (long)callee;

	errno = 0;
	CHECK(ptrace(PTRACE_PEEKDATA, pid, &subject, 0) == 0x11223344 && !errno);
	CHECK(ptrace(PTRACE_POKEDATA, pid, &subject, 0x5566L) == 0);
	text = ptrace(PTRACE_PEEKTEXT, pid, at, 0);
	for (int hits = 0; hits < 5; hits++) {
		CHECK(ptrace(PTRACE_POKETEXT, pid, at, (text & ~0xffL) | 0xcc) == 0);
		CHECK(ptrace(PTRACE_CONT, pid, 0, 0) == 0 && wait_stop(pid) == SIGTRAP);
		CHECK(ptrace(PTRACE_GETREGS, pid, 0, &regs) == 0);
		CHECK((long)regs.rip == at + 1 && (int)regs.rdi == hits);
		regs.rip = at;
		CHECK(ptrace(PTRACE_SETREGS, pid, 0, &regs) == 0 && ptrace(PTRACE_POKETEXT, pid, at, text) == 0);
		CHECK(ptrace(PTRACE_SINGLESTEP, pid, 0, 0) == 0 && wait_stop(pid) == SIGTRAP);
	}
	CHECK(ptrace(PTRACE_CONT, pid, 0, 0) == 0);
	wait_exit(pid, 35);
	say("breakpoints and memory\n");
}

static void store_often(void)
{
	for (long i = 1; i <= 5; i++) {
		for (volatile int j = 0; j < 1000; j++)
			;
		subject = i;
	}
}

static void watchpoint(void)
{
	pid_t pid = traced(store_often);
	const long debug = offsetof(struct user, u_debugreg);

	CHECK(ptrace(PTRACE_POKEUSER, pid, debug, &subject) == 0);
	CHECK(ptrace(PTRACE_POKEUSER, pid, debug + 7 * 8, 0x90001L) == 0);	/* slot 0: stores of 8 bytes */
	for (long i = 1; i <= 5; i++) {
		CHECK(ptrace(PTRACE_CONT, pid, 0, 0) == 0 && wait_stop(pid) == SIGTRAP);
		CHECK(ptrace(PTRACE_PEEKUSER, pid, debug + 6 * 8, 0) & 1);
		CHECK(ptrace(PTRACE_PEEKDATA, pid, &subject, 0) == i);
		CHECK(ptrace(PTRACE_POKEUSER, pid, debug + 6 * 8, 0L) == 0);
	}
	CHECK(ptrace(PTRACE_POKEUSER, pid, debug + 7 * 8, 0L) == 0 && ptrace(PTRACE_CONT, pid, 0, 0) == 0);
	wait_exit(pid, 33);
	say("watchpoint\n");
}

static void wait_for_vectors(void)
{
	unsigned char got[16];

	asm volatile("pcmpeqb %%xmm7, %%xmm7\n int3\n movups %%xmm7, %0" : "=m"(got) : : "xmm7");
	_exit(got[0] == 0x21 && got[15] == 0x21 ? 36 : 1);
}

static void vectors(void)
{
	struct user_fpregs_struct fp;
	unsigned char state[16384];
	struct iovec vec = { state, sizeof(state) };
	pid_t pid = traced(wait_for_vectors);

	CHECK(ptrace(PTRACE_CONT, pid, 0, 0) == 0 && wait_stop(pid) == SIGTRAP);
	CHECK(ptrace(PTRACE_GETFPREGS, pid, 0, &fp) == 0 && fp.xmm_space[28] == 0xffffffff);
	if (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &vec) == 0)
		CHECK(vec.iov_len >= 576 && !memcmp(state + 160, fp.xmm_space, 256));
	memset(&fp.xmm_space[28], 0x21, 16);
	CHECK(ptrace(PTRACE_SETFPREGS, pid, 0, &fp) == 0 && ptrace(PTRACE_CONT, pid, 0, 0) == 0);
	wait_exit(pid, 36);
	say("vector registers\n");
}

int main(void)
{
	PART(count_calls);
	PART(change_calls);
	PART(step);
	PART(breakpoint);
	PART(watchpoint);
	PART(vectors);
	return 0;
}
