/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Filters on system calls: every verdict, for one thread and for all. */
#include "check.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1	/* the si_code, where the header leaves it out */
#endif

static volatile int trapped;
static volatile long trapped_number, trapped_value;

/* A filter with one verdict for one call; all other calls are allowed. */
static int filter(int number, uint32_t verdict, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, verdict),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_LENGTH(code), code };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void inherited(void)
{
	CHECK_ERRNO(syscall(SYS_getppid), 123);
}

static void error_number(void)
{
	CHECK(filter(SYS_getppid, SECCOMP_RET_ERRNO | 123, 0) == 0);
	for (int i = 0; i < 5; i++)
		CHECK_ERRNO(syscall(SYS_getppid), 123);
	CHECK(syscall(SYS_getpid) > 0);
	CHECK(exited_with(child_status(inherited), 0));
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)context;
	trapped += sig == SIGSYS && info->si_code == SYS_SECCOMP;
	trapped_number = info->si_syscall;
	trapped_value = info->si_errno;
}

static void trap(void)
{
	on_signal(SIGSYS, on_trap, 0);
	CHECK(filter(SYS_getppid, SECCOMP_RET_TRAP | 77, 0) == 0);
	syscall(SYS_getppid);
	CHECK(trapped == 1 && trapped_number == SYS_getppid && trapped_value == 77);
}

static void kill_process(void)
{
	pthread_t thread;

	CHECK(filter(SYS_getppid, SECCOMP_RET_KILL_PROCESS, 0) == 0);
	CHECK(!pthread_create(&thread, NULL, (void *(*)(void *))(void *)getppid, NULL));
	for (;;)
		;
}

static int tid_word = -1;

static void *die_alone(void *unused)
{
	CHECK(filter(SYS_getppid, SECCOMP_RET_KILL_THREAD, 0) == 0);
	syscall(SYS_set_tid_address, &tid_word);
	store(&tid_word, 1);
	syscall(SYS_getppid);
	store(&tid_word, 2);
	return unused;
}

/* Only the thread dies, and its id is cleared as usual. */
static void kill_thread(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, die_alone, NULL));
	wait_until(load(&tid_word) == 0 || load(&tid_word) == 2);
	CHECK(load(&tid_word) == 0 && syscall(SYS_getppid) > 0);
	_exit(9);
}

static void strict(void)
{
	char c = 'x';
	int ends[2];

	CHECK(pipe(ends) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	syscall(SYS_write, ends[1], &c, 1);
	syscall(SYS_read, ends[0], &c, 1);
	syscall(SYS_getpid);	/* SIGKILL */
}

static int spinning, filtered;

static void *spin_then_call(void *unused)
{
	store(&spinning, 1);
	while (!load(&filtered))
		;
	CHECK_ERRNO(syscall(SYS_getppid), 99);
	CHECK_ERRNO(syscall(SYS_gettid), 98);	/* even if a core answers this call otherwise */
	return unused;
}

/* A filter for all threads applies to a thread that does not enter the kernel. */
static void synchronised(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, spin_then_call, NULL));
	wait_until(load(&spinning));
	CHECK(filter(SYS_getppid, SECCOMP_RET_ERRNO | 99, SECCOMP_FILTER_FLAG_TSYNC) == 0);
	CHECK(filter(SYS_gettid, SECCOMP_RET_ERRNO | 98, SECCOMP_FILTER_FLAG_TSYNC) == 0);
	store(&filtered, 1);
	CHECK(!pthread_join(thread, NULL));
}

static void ask_tracer(void)
{
	CHECK(filter(SYS_getppid, SECCOMP_RET_TRACE | 55, 0) == 0);
	CHECK_ERRNO(syscall(SYS_getppid), ENOSYS);	/* without a tracer */
	CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
	raise(SIGSTOP);
	_exit(syscall(SYS_getppid) == 4242 ? 10 : 11);
}

static void traced(void)
{
	struct user_regs_struct regs;
	unsigned long message;
	pid_t pid = fork();
	int status;

	if (pid == 0)
		ask_tracer();
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	CHECK(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL) == 0 && ptrace(PTRACE_CONT, pid, 0, 0) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8));
	CHECK(ptrace(PTRACE_GETEVENTMSG, pid, 0, &message) == 0 && message == 55);
	CHECK(ptrace(PTRACE_GETREGS, pid, 0, &regs) == 0 && regs.orig_rax == SYS_getppid);
	regs.orig_rax = -1;
	regs.rax = 4242;
	CHECK(ptrace(PTRACE_SETREGS, pid, 0, &regs) == 0 && ptrace(PTRACE_CONT, pid, 0, 0) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 10));
	say("traced\n");
}

static void *ask_listener(void *result)
{
	*(long *)result = syscall(SYS_getppid);
	return NULL;
}

static void listened(void)
{
	struct seccomp_notif request = { 0 };
	struct seccomp_notif_resp response = { 0 };
	pthread_t thread;
	long result = 0;
	int fd = filter(SYS_getppid, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);

	CHECK(fd >= 0 && !pthread_create(&thread, NULL, ask_listener, &result));
	CHECK(ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0 && request.data.nr == SYS_getppid);
	response.id = request.id;
	response.val = 31337;
	CHECK(ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0 && !pthread_join(thread, NULL) && result == 31337);
}

int main(void)
{
	CHILD(error_number, exited_with(status, 0));
	say("error number\n");
	CHILD(trap, exited_with(status, 0));
	say("trap\n");
	CHILD(kill_process, killed_by(status, SIGSYS));
	say("process killed\n");
	CHILD(kill_thread, exited_with(status, 9));
	say("thread killed\n");
	CHILD(strict, killed_by(status, SIGKILL));
	say("strict\n");
	CHILD(synchronised, exited_with(status, 0));
	say("all threads\n");
	PART(traced);
	CHILD(listened, exited_with(status, 0));
	say("listened to\n");
	return 0;
}
