/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Extended state while a thread is in a call: as handlers, tracers and core dumps see it, and as the program finds
 * it afterwards.
 */
#include "check.h"
#include "corefile.h"
#include "xregs.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/procfs.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <ucontext.h>

#define TIMES 20
#define HELD_BYTES 0x2000

static struct xregs pattern;
static const char pipe_name[] = "kept.fifo";

/* The thread is in xregs_hold(), at its call: its registers are the pattern. */
static int at_call(uint64_t rip, uint64_t code)
{
	return rip - (uint64_t)xregs_hold_sse < HELD_BYTES && (code & 0xffff) == 0x050f;
}

/* Waits in open(2), until somebody opens the other end. */
static void hold(void)
{
	struct xregs out;
	struct xevent event = { NULL, SYS_open, (long)pipe_name, O_RDONLY };
	long fd = xregs_hold(&pattern, &out, &event);

	CHECK(fd >= 0 && close(fd) == 0);
	CHECK(!memcmp(&pattern, &out, sizeof(out)));
}

static void let_go(void)
{
	int fd = open(pipe_name, O_WRONLY);

	CHECK(fd >= 0 && close(fd) == 0);
}

static void make_pipe(void)
{
	unlink(pipe_name);
	CHECK(mkfifo(pipe_name, 0600) == 0);
}

static void check_vectors(const void *xmm)
{
	for (int r = 0; r < 16; r++)
		CHECK(!memcmp((const char *)xmm + r * 16, pattern.vector[r], 16));
}

static volatile int seen, caller_runs;

/* Looks at the interrupted registers, then clobbers its own. */
static void look(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uint64_t rip = uc->uc_mcontext.gregs[REG_RIP];
	struct xregs in, out;
	struct xevent nothing = { NULL, -1, 0, 0 };

	(void)sig, (void)info;
	if (at_call(rip, *(uint16_t *)rip)) {
		check_vectors(uc->uc_mcontext.fpregs->_xmm);
		seen++;
	}
	xregs_fill(&in, 0x77);
	xregs_hold(&in, &out, &nothing);
}

static void *waits(void *unused)
{
	caller_runs = 1;
	hold();
	return unused;
}

static void in_handlers(void)
{
	pthread_t thread;

	make_pipe();
	xregs_fill(&pattern, 5);
	on_signal(SIGUSR1, look, SA_RESTART);
	while (seen < TIMES) {
		caller_runs = 0;
		CHECK(!pthread_create(&thread, NULL, waits, NULL));
		wait_until(caller_runs);
		sleep_ms(2);
		CHECK(!pthread_kill(thread, SIGUSR1));
		let_go();
		CHECK(!pthread_join(thread, NULL));
	}
	say("in handlers\n");
}

static void traced(void)
{
	pid_t pid;
	int found = 0;

	make_pipe();
	xregs_fill(&pattern, 9);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		hold();
		_exit(1);
	}
	/* both ways to begin: with and without a signal */
	for (int i = 0; found < TIMES; i++) {
		struct user_regs_struct regs;
		struct user_fpregs_struct fp;
		struct iovec all = { &fp, sizeof(fp) };
		int status;

		CHECK(i % 2 ? ptrace(PTRACE_ATTACH, pid, 0, 0) == 0 :
			      ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0);
		CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
		CHECK(ptrace(PTRACE_GETREGS, pid, 0, &regs) == 0);
		CHECK(ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRFPREG, &all) == 0);
		if (at_call(regs.rip, ptrace(PTRACE_PEEKTEXT, pid, regs.rip, 0)) ||
		    at_call(regs.rip, ptrace(PTRACE_PEEKTEXT, pid, regs.rip - 2, 0))) {
			check_vectors(fp.xmm_space);
			found++;
		}
		CHECK(ptrace(PTRACE_DETACH, pid, 0, 0) == 0);
		/* it makes its call again, on its core at first */
		sleep_ms(1);
	}
	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	say("by a tracer\n");
}

/* The thread has the registers that its tracer wrote. */
static void changed(void)
{
	struct user_fpregs_struct fp;
	struct iovec all = { &fp, sizeof(fp) };
	int status;
	/* what the register has, as the child stores it after each call */
	volatile long *twice = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	CHECK(twice != MAP_FAILED);
	twice[0] = 1;
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		asm volatile("pxor %%xmm7, %%xmm7\n1: mov %1, %%eax\n syscall\n movups %%xmm7, (%0)\n cmpq $0, (%0)\n je 1b"
			     : : "r"(twice), "i"(SYS_getppid) : "rax", "rcx", "r11", "xmm7", "memory");
		_exit(twice[0] == 0x5a5a5a5a5a5a5a5a && twice[1] == twice[0] ? 7 : 8);
	}
	wait_until(!twice[0]);
	CHECK(ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	CHECK(ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRFPREG, &all) == 0);
	memset(&fp.xmm_space[7 * 4], 0x5a, 16);
	CHECK(ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRFPREG, &all) == 0);
	CHECK(ptrace(PTRACE_DETACH, pid, 0, 0) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 7));
	CHECK(munmap((void *)twice, 4096) == 0);
	say("changed by a tracer\n");
}

static void crash(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	pthread_t thread;

	CHECK(setrlimit(RLIMIT_CORE, &all) == 0 && !pthread_create(&thread, NULL, waits, NULL));
	wait_until(caller_runs);
	sleep_ms(5);
	abort();
}

static int dumped_at_call;

/* Checks the registers of threads that the dump shows at their calls, and counts its threads. */
static int dumped(int fd)
{
	static char notes[1 << 20];
	struct user_regs_struct *regs = NULL;
	size_t bytes = read_notes(fd, notes, sizeof(notes));
	int threads = 0;

	for (size_t at = 0; at < bytes;) {
		Elf64_Nhdr *note = (void *)(notes + at);
		char *data = note_data(note);

		if (note->n_type == NT_PRSTATUS)
			regs = (void *)((struct elf_prstatus *)data)->pr_reg;
		if (note->n_type == NT_FPREGSET && regs) {
			threads++;
			if (at_call(regs->rip, *(uint16_t *)regs->rip) || at_call(regs->rip, *(uint16_t *)(regs->rip - 2))) {
				check_vectors(((struct user_fpregs_struct *)data)->xmm_space);
				dumped_at_call++;
			}
		}
		at = data + (note->n_descsz + 3) / 4 * 4 - notes;
	}
	return threads;
}

static void in_a_dump(void)
{
	char name[128] = { 0 }, uses_pid = 0;
	int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY);

	CHECK(fd >= 0 && read(fd, name, 127) > 0 && close(fd) == 0);
	fd = open("/proc/sys/kernel/core_uses_pid", O_RDONLY);
	CHECK(fd < 0 || (read(fd, &uses_pid, 1) == 1 && close(fd) == 0));
	make_pipe();
	xregs_fill(&pattern, 13);
	/* where a dump is found, until threads were found at their calls */
	do {
		CHECK(killed_by(child_status(crash), SIGABRT));
		if (strcmp(name, "core\n") || uses_pid == '1')
			break;
		fd = open("core", O_RDONLY);
		CHECK(fd >= 0 && dumped(fd) == 2 && close(fd) == 0 && unlink("core") == 0);
	} while (dumped_at_call < 5);
	say("in a core dump\n");
}

int main(void)
{
	PART(in_handlers);
	PART(traced);
	PART(changed);
	PART(in_a_dump);
	unlink(pipe_name);
	return 0;
}
