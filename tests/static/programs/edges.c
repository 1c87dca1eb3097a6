/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Rules of Linux that few programs meet: a wait that goes on after an interruption for nothing keeps its end; rights of
 * pages that differ; mutexes with priority inheritance, refused or as they should be; what prctl keeps; the
 * program's own name; the mask of a first thread that has ended.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>

#include "../../user/check.h"

#define PAGE 4096
/* include/uapi/linux/futex.h */
#define FUTEX_WAIT_PRIVATE 128

static char area[3 * PAGE] __attribute__((aligned(PAGE))) = { 1 };
static sigjmp_buf before;
static int word, waiter, done;
static pthread_t first;

static void *wait_for_word(void *unused)
{
	struct timespec time = { .tv_sec = 1 };

	store(&waiter, (int)syscall(SYS_gettid));
	CHECK_ERRNO(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0), ETIMEDOUT);
	store(&done, 1);
	return unused;
}

static void *wait_for_nothing(void *unused)
{
	store(&waiter, (int)syscall(SYS_gettid));
	CHECK(poll(NULL, 0, 1000) == 0);
	store(&done, 1);
	return unused;
}

/*
 * A move to another CPU interrupts the wait, more often than the wait is long. Not to the CPU of the thread that moves
 * it: a call that is shipped keeps its CPU.
 */
static void waits(void *(*wait)(void *))
{
	cpu_set_t all, others, one;
	pthread_t thread;
	int cpu = sched_getcpu();

	CHECK(cpu >= 0 && sched_getaffinity(0, sizeof(all), &all) == 0);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	others = all;
	if (CPU_COUNT(&all) > 1)
		CPU_CLR(cpu, &others);
	store(&waiter, 0);
	store(&done, 0);
	CHECK(pthread_create(&thread, NULL, wait, NULL) == 0);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	wait_until(load(&waiter));
	for (int moves = 0; moves < 1000 && !load(&done); moves++) {
		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &others));
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		CHECK(sched_setaffinity(load(&waiter), sizeof(one), &one) == 0 || errno == ESRCH);
		usleep(10 * 1000);
	}
	CHECK(load(&done));
	CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	say("waits\n");
}

static void faulted(int signal)
{
	siglongjmp(before, signal);
}

static int can_write(volatile char *at)
{
	if (sigsetjmp(before, 1) != 0)
		return 0;
	*at = 1;
	return 1;
}

static void rights(void)
{
	CHECK(signal(SIGSEGV, faulted) != SIG_ERR);
	CHECK(mprotect(area, PAGE, PROT_READ) == 0);
	CHECK(!can_write(area) && can_write(area + PAGE));
	CHECK(mprotect(area, 2 * PAGE, PROT_READ) == 0);
	CHECK(!can_write(area) && !can_write(area + PAGE) && can_write(area + 2 * PAGE));
	CHECK_ERRNO(mprotect(area, 1ul << 45, PROT_READ | PROT_WRITE), ENOMEM);
	CHECK(can_write(area) && can_write(area + PAGE));
	CHECK(mprotect(area, sizeof(area), PROT_READ) == 0);
	CHECK(mprotect(area + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
	CHECK(mprotect(area, sizeof(area), PROT_READ | PROT_WRITE) == 0);
	CHECK(can_write(area) && can_write(area + 2 * PAGE));
	say("rights\n");
}

static void inheritance(void)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t mutex;
	int error;

	CHECK(pthread_mutexattr_init(&attributes) == 0);
	CHECK(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) == 0);
	error = pthread_mutex_init(&mutex, &attributes);
	CHECK(error == 0 || error == ENOTSUP);
	if (error == 0)
		CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
	say("inheritance\n");
}

static void *slack_of_parent(void *unused)
{
	CHECK(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == 1234);
	return unused;
}

static void attributes(void)
{
	pthread_t thread;
	int signal = -1;

	CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
	CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	CHECK_ERRNO(prctl(PR_SET_DUMPABLE, 2, 0, 0, 0), EINVAL);
	CHECK(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1);
	CHECK(prctl(PR_SET_TIMERSLACK, 1234, 0, 0, 0) == 0 && prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == 1234);
	CHECK(pthread_create(&thread, NULL, slack_of_parent, NULL) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(prctl(PR_SET_TIMERSLACK, 0, 0, 0, 0) == 0 && prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == 50000);
	CHECK_ERRNO(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), EINVAL);
	CHECK_ERRNO(prctl(PR_GET_NO_NEW_PRIVS, 1, 0, 0, 0), EINVAL);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	CHECK_ERRNO(prctl(PR_SET_PDEATHSIG, 65, 0, 0, 0), EINVAL);
	CHECK(prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) == 0 && prctl(PR_GET_PDEATHSIG, &signal, 0, 0, 0) == 0);
	CHECK(signal == SIGTERM && prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) == 0);
	say("attributes\n");
}

static void own_name(void)
{
	char *path = realpath("/proc/self/exe", NULL), *name = path ? strrchr(path, '/') : NULL;

	CHECK(name && strrchr(program_invocation_name, '/'));
	CHECK(!strcmp(name, strrchr(program_invocation_name, '/')));
	say("%s\n", name);
	free(path);
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

/* The first thread does not hold the signal back, and ignores it: nothing comes of it, whatever others hold back. */
static void *outlive(void *unused)
{
	struct timespec none = { 0 };
	sigset_t set;

	(void)unused;
	CHECK(pthread_join(first, NULL) == 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	for (int count = 0; count < 8; count++) {
		pthread_t thread;

		CHECK(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0);
		usleep(20 * 1000);
	}
	CHECK(kill(getpid(), SIGUSR1) == 0);
	CHECK_ERRNO(sigtimedwait(&set, NULL, &none), EAGAIN);
	say("mask\n");
	exit(0);
}

int main(void)
{
	pthread_t thread;

	waits(wait_for_word);
	waits(wait_for_nothing);
	rights();
	inheritance();
	attributes();
	own_name();
	CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
	first = pthread_self();
	CHECK(pthread_create(&thread, NULL, outlive, NULL) == 0);
	pthread_exit(NULL);
}
