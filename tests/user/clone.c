/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The raw call: what clone shares, where it writes ids, and whom the end of the child wakes. */
#include "check.h"

#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/resource.h>

#define STACK 65536

static int shared_value, parent_tid, child_tid;

static char *new_stack(void)
{
	return private_pages(STACK / 4096) + STACK;
}

static void wait_cleared(int *tid)
{
	int seen;

	while ((seen = load(tid)))
		syscall(SYS_futex, tid, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static int share_memory(void *argument)
{
	store(&shared_value, (int)(long)argument);
	return 7;
}

/* A process that shares memory only: its own pid, files and signals. */
static void memory_only(void)
{
	int status;
	pid_t pid = clone(share_memory, new_stack(), CLONE_VM | SIGCHLD, (void *)5L);

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && exited_with(status, 7) && load(&shared_value) == 5);
	pid = clone(share_memory, new_stack(), SIGCHLD, (void *)6L);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && load(&shared_value) == 5);
	say("with and without the memory\n");
}

static int leave(void *argument)
{
	CHECK(load(&child_tid) == gettid() && load(&parent_tid) == gettid());
	store(&shared_value, *(int *)argument);
	return 0;
}

/* A child that is not a thread, but clears its id and wakes a waiter at its end. */
static void ids_written(void)
{
	int value = 9, status;
	pid_t pid;

	store(&child_tid, -1);
	pid = clone(leave, new_stack(), CLONE_VM | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD,
		    &value, &parent_tid, NULL, &child_tid);

	CHECK(pid > 0 && load(&parent_tid) == pid);
	wait_cleared(&child_tid);
	CHECK(load(&shared_value) == 9 && waitpid(pid, &status, 0) == pid && status == 0);
	say("ids written and cleared\n");
}

static int exit_alone(void *argument)
{
	if (argument)
		syscall(SYS_set_tid_address, &child_tid);
	store(&shared_value, gettid() != getpid());
	syscall(SYS_exit, 3);
	return 0;
}

static void bare_threads(void)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	pid_t tid;

	for (int i = 0; i < 20; i++) {
		store(&child_tid, -1);
		store(&shared_value, 0);
		tid = clone(exit_alone, new_stack(), flags | (i % 2 ? CLONE_CHILD_CLEARTID : 0), (void *)(long)(i % 2 == 0), NULL, NULL, &child_tid);
		CHECK(tid > 0 && tid != getpid());
		wait_cleared(&child_tid);
		CHECK(load(&shared_value) == 1);
		wait_until(syscall(SYS_tgkill, getpid(), tid, 0) == -1 && errno == ESRCH);
	}
	CHECK_ERRNO(waitpid(-1, NULL, __WALL), ECHILD);
	say("bare threads\n");
}

static void with_clone3(void)
{
	int pidfd = -1, status;
	struct clone_args args = { .flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND, .pidfd = (uintptr_t)&pidfd, .exit_signal = SIGCHLD };
	struct sigaction sa;
	siginfo_t info;
	pid_t pid;

	CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
	CHECK(sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = (void *)exit_alone }, NULL) == 0);
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		CHECK(sigaction(SIGUSR1, NULL, &sa) == 0 && sa.sa_handler == SIG_DFL);
		_exit(11);
	}
	CHECK(pid > 0 && pidfd >= 0 && waitid(P_PIDFD, pidfd, &info, WEXITED | WNOWAIT) == 0 && info.si_status == 11);
	CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 11));
	args.flags = CLONE_THREAD;	/* without CLONE_SIGHAND */
	CHECK_ERRNO(syscall(SYS_clone3, &args, sizeof(args)), EINVAL);
	CHECK_ERRNO(syscall(SYS_clone3, &args, 8), EINVAL);
	CHECK_ERRNO(syscall(SYS_clone3, NULL, sizeof(args)), EFAULT);
	say("clone3\n");
}

static int changed;

static int change_files(void *unused)
{
	(void)unused;
	CHECK(close(100) == 0 && chdir("/") == 0);
	store(&changed, 1);
	return 0;
}

static void files_and_directory(void)
{
	char before[200], after[200];
	int status;
	pid_t pid;

	CHECK(getcwd(before, sizeof(before)) && dup2(0, 100) == 100);
	pid = clone(change_files, new_stack(), SIGCHLD, NULL);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0 && getcwd(after, sizeof(after)) && !strcmp(before, after));
	CHECK(dup2(100, 100) == 100);
	pid = clone(change_files, new_stack(), CLONE_FS | CLONE_FILES | SIGCHLD, NULL);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0 && getcwd(after, sizeof(after)) && !strcmp(after, "/"));
	CHECK_ERRNO(close(100), EBADF);
	say("files and directory\n");
}

int main(void)
{
	PART(memory_only);
	PART(ids_written);
	PART(bare_threads);
	PART(with_clone3);
	PART(files_and_directory);
	return 0;
}
