/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * sibling SAID: a hosted program and tasks on Linux that share its memory. Each of these makes
 * a call for whose end a core must do something, once the file `go` exists, and appends its
 * name to SAID. Called by users.sh, which keeps the cores busy meanwhile.
 */
#include "door.h"

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int word, said;
static volatile uint64_t rounds;
static volatile int over;

static void say(const char *what)
{
	if (write(said, what, strlen(what)) < 0)
		_exit(4);
}

static void *compute(void *unused)
{
	while (!over)
		rounds++;
	return unused;
}

static void *wait_for_word(void *unused)
{
	while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return unused;
}

static int barrier(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0);
}

static int filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static int wake(void)
{
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
	return syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) < 0;
}

static const struct {
	const char *name;
	int (*call)(void);
} tasks[] = { { "barrier\n", barrier }, { "filter\n", filter }, { "wake\n", wake }, { "killed\n", barrier } };

static int task(void *number)
{
	unsigned int i = (uintptr_t)number;

	while (access("go", F_OK))
		usleep(10000);
	if (tasks[i].call())
		_exit(5);
	say(tasks[i].name);
	_exit(0);
}

int main(int count, char **words)
{
	pthread_t computing, waiting;
	char line[64];
	int status;

	said = count > 1 ? open(words[1], O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
	if (said < 0 || syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0))
		return 2;
	if (pthread_create(&computing, NULL, compute, NULL) || pthread_create(&waiting, NULL, wait_for_word, NULL))
		return 2;
	for (unsigned int i = 0; i < 4; i++) {
		char *stack = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		int child = clone(task, stack + (1 << 16), CLONE_VM | SIGCHLD, (void *)(uintptr_t)i);

		snprintf(line, sizeof(line), "child %d\n", child);
		if (i == 3)
			say(line);	/* the last one is to be killed */
	}
	pthread_join(waiting, NULL);
	for (unsigned int i = 0; i < 4; i++)
		if (wait(&status) < 0 || (status && WTERMSIG(status) != SIGKILL))
			return 3;
	over = 1;
	pthread_join(computing, NULL);
	return !rounds;
}
