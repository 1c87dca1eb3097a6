/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Private futexes with different kinds of waiters and wakers: with and without a time
 * limit, interrupted, in a process that only shares the memory, woken by calls that do
 * more than wake; and the calls that a thread makes about itself.
 */
#include "check.h"

#include <linux/futex.h>
#include <pthread.h>

#define STACK 65536

static uint32_t word, other;
static int waiting, woken, interrupted, handled;

static long futex(uint32_t *at, int op, uint32_t value, void *timeout, uint32_t *second, uint32_t last)
{
	return syscall(SYS_futex, at, op, value, timeout, second, last);
}

static void *wait_plainly(void *unused)
{
	add(&waiting, 1);
	CHECK(futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == 0);
	add(&woken, 1);
	return unused;
}

static void *wait_an_hour(void *unused)
{
	struct timespec hour = { 3600, 0 };

	add(&waiting, 1);
	CHECK(futex(&word, FUTEX_WAIT_PRIVATE, 0, &hour, NULL, 0) == 0);
	add(&woken, 1);
	return unused;
}

static void *wait_for_bit_2(void *unused)
{
	add(&waiting, 1);
	CHECK(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 2) == 0);
	add(&woken, 1);
	return unused;
}

static long wake_one(void)
{
	return futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The first argument waits, the second wakes; the count must be exact. */
static void mixed(void)
{
	void *(*kinds[])(void *) = { wait_plainly, wait_an_hour, wait_plainly, wait_an_hour, wait_plainly };
	pthread_t threads[5];
	long found = 0;

	woken = 0;
	for (int i = 0; i < 5; i++)
		CHECK(!pthread_create(&threads[i], NULL, kinds[i], NULL));
	while (found < 5) {
		long now = futex(&word, FUTEX_WAKE_PRIVATE, 2, NULL, NULL, 0);

		CHECK(now >= 0 && now <= 2);
		found += now;
		sched_yield();
	}
	for (int i = 0; i < 5; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(found == 5 && woken == 5 && wake_one() == 0);
	say("with and without a time limit\n");
}

static void chosen(void)
{
	pthread_t bit, any;

	woken = 0;
	CHECK(!pthread_create(&bit, NULL, wait_for_bit_2, NULL));
	CHECK(!pthread_create(&any, NULL, wait_plainly, NULL));
	while (futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 1) != 1)
		sched_yield();
	CHECK(!pthread_join(any, NULL) && load(&woken) == 1);
	while (futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 3) != 1)
		sched_yield();
	CHECK(!pthread_join(bit, NULL));
	CHECK_ERRNO(futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 0), EINVAL);
	CHECK_ERRNO(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 0), EINVAL);
	say("by bits\n");
}

/* FUTEX_WAKE_OP adds 1 to the second word, and wakes its waiters if it was 0. */
static void *wait_for_other(void *unused)
{
	while (load(&other) == 0)
		futex(&other, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return unused;
}

static void operated(void)
{
	uint32_t calls = 0;
	pthread_t first, second;

	waiting = woken = 0;
	CHECK(!pthread_create(&first, NULL, wait_plainly, NULL));
	CHECK(!pthread_create(&second, NULL, wait_for_other, NULL));
	wait_until(load(&waiting) == 1);
	sleep_ms(20);
	/* Repeat until the first waits. Only the first call can wake the second. */
	do {
		CHECK(futex(&word, FUTEX_WAKE_OP_PRIVATE, 9, (void *)9, &other,
			    FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0)) >= 0);
		calls++;
		sched_yield();
	} while (!load(&woken));
	CHECK(!pthread_join(first, NULL) && !pthread_join(second, NULL) && other == calls);
	other = 0;
	say("by an operation\n");
}

static void count_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	add(&handled, 1);
}

static void *wait_interrupted(void *unused)
{
	CHECK_ERRNO(futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0), EINTR);
	store(&interrupted, 1);
	return unused;
}

static void signalled(void)
{
	pthread_t thread;

	on_signal(SIGUSR1, count_signal, 0);
	CHECK(!pthread_create(&thread, NULL, wait_interrupted, NULL));
	while (!load(&interrupted)) {
		CHECK(!pthread_kill(thread, SIGUSR1));
		sleep_ms(5);
	}
	CHECK(!pthread_join(thread, NULL) && load(&handled) > 0);
	on_signal(SIGUSR1, count_signal, SA_RESTART);
	woken = handled = 0;
	CHECK(!pthread_create(&thread, NULL, wait_plainly, NULL));
	for (int i = 0; i < 5; i++) {
		CHECK(!pthread_kill(thread, SIGUSR1));
		sleep_ms(5);
	}
	wait_until(load(&handled));
	CHECK(load(&woken) == 0);
	while (wake_one() != 1)
		sched_yield();
	CHECK(!pthread_join(thread, NULL) && woken == 1);
	say("interrupted and restarted\n");
}

/* Another process with the same memory: Linux runs it, even if this one is hosted. */
static int sharer(void *unused)
{
	(void)unused;
	while (wake_one() != 1)
		sched_yield();
	add(&waiting, 1);
	while (futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) != 0)
		;
	return 0;
}

static void shared(void)
{
	char *stack = private_pages(STACK / 4096);
	int status;
	pid_t pid;

	waiting = woken = 0;
	pid = clone(sharer, stack + STACK, CLONE_VM | SIGCHLD, NULL);
	CHECK(pid > 0);
	CHECK(futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == 0);
	wait_until(load(&waiting) == 1);
	while (wake_one() != 1)
		sched_yield();
	CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 0));
	say("with a process that shares the memory\n");
}

static void leave_waiting(void)
{
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread, NULL, i % 2 ? wait_an_hour : wait_plainly, NULL));
	wait_until(load(&waiting) == 4);
	sleep_ms(5);
}

static void killed_waiting(void)
{
	leave_waiting();
	raise(SIGKILL);
}

static void *identify(void *id)
{
	CHECK(syscall(SYS_gettid) != syscall(SYS_getpid));
	*(pid_t *)id = syscall(SYS_gettid);
	return id;
}

/* Allowed and forbidden calls of a thread about itself. */
static void about_itself(void)
{
	struct timespec brief = { 0, 20000 }, wrong = { 0, -1 }, late = { 0, 1000000000 };
	cpu_set_t mine, few;
	pthread_t thread;
	unsigned cpu;
	pid_t id = 0;

	CHECK(syscall(SYS_getpid) == getpid() && syscall(SYS_gettid) == getpid());
	CHECK(!pthread_create(&thread, NULL, identify, &id) && !pthread_join(thread, NULL));
	CHECK(id != getpid() && id > 0);
	CHECK(syscall(SYS_getcpu, NULL, NULL, NULL) == 0 && syscall(SYS_getcpu, &cpu, NULL, NULL) == 0);
	CHECK_ERRNO(syscall(SYS_getcpu, wild(8), NULL, NULL), EFAULT);
	CHECK(syscall(SYS_sched_getaffinity, 0, sizeof(mine), &mine) >= 8 && CPU_ISSET_S(cpu, 8, &mine));
	CHECK(syscall(SYS_sched_getaffinity, getpid(), sizeof(few), &few) >= 8);
	CHECK(memcmp(&mine, &few, 8) == 0);
	CHECK_ERRNO(syscall(SYS_sched_getaffinity, 0, 0, &mine), EINVAL);
	CHECK_ERRNO(syscall(SYS_sched_getaffinity, 0, 9, &mine), EINVAL);
	CHECK_ERRNO(syscall(SYS_sched_getaffinity, 0, 8, wild(8)), EFAULT);
	CHECK_ERRNO(syscall(SYS_sched_getaffinity, -1, 8, &mine), ESRCH);
	for (int64_t before = now_ns(CLOCK_MONOTONIC), i = 1; i <= 5; i++) {
		CHECK(nanosleep(&brief, NULL) == 0);
		CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL) == 0);
		CHECK(now_ns(CLOCK_MONOTONIC) - before >= i * 40000);
	}
	CHECK_ERRNO(nanosleep(&wrong, NULL), EINVAL);
	CHECK_ERRNO(nanosleep(&late, NULL), EINVAL);
	CHECK_ERRNO(nanosleep(wild(8), NULL), EFAULT);
	CHECK(clock_nanosleep(77, 0, &brief, NULL) == EINVAL);
	CHECK(sched_yield() == 0);
	say("about itself\n");
}

int main(void)
{
	PART(about_itself);
	PART(mixed);
	PART(chosen);
	PART(operated);
	PART(signalled);
	PART(shared);
	waiting = 0;
	CHILD(leave_waiting, exited_with(status, 0));
	CHILD(killed_waiting, killed_by(status, SIGKILL));
	say("ended while waiting\n");
	return 0;
}
