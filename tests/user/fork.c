/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* fork, vfork, posix_spawn and the ways to wait. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>

extern char **environ;

static void nothing(void)
{
}

static void exit_three(void)
{
	_exit(3);
}

static void abort_now(void)
{
	abort();
}

static void statuses(void)
{
	siginfo_t info = { 0 };
	int status;
	pid_t pid;

	CHECK(exited_with(child_status(nothing), 0) && exited_with(child_status(exit_three), 3));
	CHECK(killed_by(child_status(abort_now), SIGABRT));
	CHECK_ERRNO(waitpid(-1, &status, 0), ECHILD);
	pid = fork();
	if (pid == 0)
		_exit(300);
	CHECK(waitid(P_PID, pid, &info, WEXITED | WNOWAIT) == 0);
	CHECK(info.si_pid == pid && info.si_code == CLD_EXITED && (info.si_status & 0xff) == 44);
	CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 44));
	CHECK_ERRNO(waitpid(pid, &status, 0), ECHILD);
	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	CHECK(waitpid(pid, &status, WNOHANG) == 0 && kill(pid, SIGKILL) == 0);
	CHECK(waitid(P_PID, pid, &info, WEXITED) == 0 && info.si_code == CLD_KILLED && info.si_status == SIGKILL);
	say("statuses\n");
}

/* Memory: what was private is copied, what was shared is shared. */
static void memories(void)
{
	int *shared = shared_memory(4096), status;
	char *private = private_pages(200);
	pid_t pid;

	for (int i = 0; i < 200; i++)
		private[i * 4096] = i;
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 200; i++) {
			CHECK(private[i * 4096] == (char)i);
			private[i * 4096] = -1;
		}
		store(shared, 1);
		wait_until(load(shared) == 2);
		for (int i = 0; i < 200; i++)
			CHECK(private[i * 4096] == -1);
		_exit(0);
	}
	wait_until(load(shared) == 1);
	for (int i = 0; i < 200; i++) {
		CHECK(private[i * 4096] == (char)i);
		private[i * 4096] = 99;
	}
	store(shared, 2);
	CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 0) && private[4096] == 99);
	say("memories\n");
}

/* A chain of children of children, with two children at every third level. */
static int tree(int level)
{
	int count = 1, status;

	for (int i = 0; level && i < (level % 3 ? 1 : 2); i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0)
			_exit(tree(level - 1));
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
		count += WEXITSTATUS(status);
	}
	return count;
}

/* The child of vfork runs in its parent's memory, while the parent waits. */
static void vforks(void)
{
	volatile int value = 1;
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		value = 2;
		_exit(9);
	}
	CHECK(pid > 0 && value == 2 && waitpid(pid, &status, 0) == pid && exited_with(status, 9));
	pid = vfork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 12", NULL);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 12));
	say("vfork\n");
}

static void spawns(void)
{
	char *args[] = { "sh", "-c", "read line; echo \"$line $NAME\"; kill -TERM $$", NULL };
	char *env[] = { "NAME=value", NULL };
	posix_spawn_file_actions_t actions;
	int in[2], out[2], status;
	char buf[64] = { 0 };
	pid_t pid;

	CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	CHECK(!posix_spawn_file_actions_init(&actions));
	CHECK(!posix_spawn_file_actions_adddup2(&actions, in[0], 0) && !posix_spawn_file_actions_adddup2(&actions, out[1], 1));
	CHECK(!posix_spawn(&pid, "/bin/sh", &actions, NULL, args, env));
	CHECK(write(in[1], "hello\n", 6) == 6 && close(out[1]) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && killed_by(status, SIGTERM));
	CHECK(read(out[0], buf, 64) == 12 && !strcmp(buf, "hello value\n"));
	CHECK(posix_spawn(&pid, "/does/not/exist", NULL, NULL, args, environ) == ENOENT);
	for (int i = 0; i < 10; i++) {
		CHECK(!posix_spawn(&pid, "/bin/sh", NULL, NULL, (char *[]){ "sh", "-c", ":", NULL }, environ));
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	say("spawn\n");
}

/* Several threads fork at once; a child has only one thread and can create others. */
static int stop;

static void *trivial(void *argument)
{
	return argument;
}

static void *spin(void *unused)
{
	while (!load(&stop))
		sched_yield();
	return unused;
}

static void *fork_often(void *unused)
{
	pthread_t thread;
	void *result;
	int status;

	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			CHECK(getpid() == gettid());
			CHECK(!pthread_create(&thread, NULL, trivial, (void *)4L) && !pthread_join(thread, &result));
			_exit((int)(long)result);
		}
		CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 4));
	}
	return unused;
}

static void from_threads(void)
{
	pthread_t threads[5];

	for (int i = 0; i < 5; i++)
		CHECK(!pthread_create(&threads[i], NULL, i ? fork_often : spin, NULL));
	for (int i = 1; i < 5; i++)
		CHECK(!pthread_join(threads[i], NULL));
	store(&stop, 1);
	CHECK(!pthread_join(threads[0], NULL));
	say("from threads\n");
}

static volatile int children;

static void on_child(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	CHECK(info->si_code == CLD_EXITED && info->si_status == 6);
	children++;
}

static void adoption(void)
{
	int *grandchild = shared_memory(4096), status;
	pid_t pid, self = getpid();

	on_signal(SIGCHLD, on_child, SA_RESTART);
	pid = fork();
	if (pid == 0)
		_exit(6);
	CHECK(waitpid(pid, &status, 0) == pid && children == 1);
	CHECK(signal(SIGCHLD, SIG_DFL) != SIG_ERR && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	pid = fork();
	if (pid == 0) {
		pid_t middle = getpid();

		if (fork() == 0) {
			store(grandchild, getpid());
			wait_until(getppid() != middle);
			_exit(getppid() == self ? 21 : 22);
		}
		wait_until(load(grandchild));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(wait(&status) == load(grandchild) && exited_with(status, 21));
	CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	pid = fork();
	if (pid == 0)
		_exit(0);
	CHECK_ERRNO(waitpid(pid, &status, 0), ECHILD);
	say("adoption and notice\n");
}

int main(void)
{
	PART(statuses);
	PART(memories);
	say("a tree of %d\n", tree(9));
	PART(vforks);
	PART(spawns);
	PART(from_threads);
	PART(adoption);
	return 0;
}
