/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Signals: handlers run on the right thread, with the right mask, stack and information. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <ucontext.h>

#include "../../user/check.h"

static volatile sig_atomic_t seen, nested;
static volatile pthread_t handler_thread;
static volatile uintptr_t handler_stack, fault_address;
static sigjmp_buf back;
static char alternate[65536];

static void note(int signal, siginfo_t *info, void *context)
{
	(void)context;
	seen = signal;
	handler_thread = pthread_self();
	handler_stack = (uintptr_t)&info;
	nested += info->si_code == SI_TKILL || info->si_code == SI_USER || info->si_code == SI_QUEUE;
}

static void after_fault(int signal, siginfo_t *info, void *context)
{
	(void)context;
	seen = signal;
	fault_address = (uintptr_t)info->si_addr;
	siglongjmp(back, 1);
}

static void own_thread(void)
{
	sigset_t set, old, pending;

	on_signal(SIGUSR1, note, 0);
	CHECK(raise(SIGUSR1) == 0 && seen == SIGUSR1 && handler_thread == pthread_self());
	CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR2) == 0 && sigprocmask(SIG_BLOCK, &set, &old) == 0);
	on_signal(SIGUSR2, note, 0);
	CHECK(raise(SIGUSR2) == 0 && seen == SIGUSR1);
	CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR2));
	CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0 && seen == SIGUSR2);
	CHECK(kill(getpid(), SIGUSR1) == 0);
	while (seen != SIGUSR1)
		;
	CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR && raise(SIGUSR1) == 0);
	CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
	say("own thread: %d\n", nested);
}

static void stacks(void)
{
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) }, old;

	CHECK(sigaltstack(&stack, NULL) == 0);
	on_signal(SIGUSR1, note, SA_ONSTACK);
	CHECK(raise(SIGUSR1) == 0);
	CHECK(handler_stack >= (uintptr_t)alternate && handler_stack < (uintptr_t)alternate + sizeof(alternate));
	CHECK(sigaltstack(NULL, &old) == 0 && old.ss_sp == alternate && old.ss_flags == 0);
	stack.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&stack, NULL) == 0);
	say("stacks\n");
}

static void faults(void)
{
	volatile double zero = 0;
	volatile int none = 0, one = 1;

	on_signal(SIGSEGV, after_fault, 0);
	on_signal(SIGFPE, after_fault, 0);
	on_signal(SIGILL, after_fault, 0);
	if (!sigsetjmp(back, 1))
		*(volatile char *)0x1234 = 1;
	CHECK(seen == SIGSEGV && fault_address == 0x1234);
	if (!sigsetjmp(back, 1))
		none = one / none;
	CHECK(seen == SIGFPE);
	if (!sigsetjmp(back, 1))
		__asm__ volatile("ud2");
	CHECK(seen == SIGILL);
	CHECK(1 / zero > 0 && sigsetjmp(back, 1) == 0);
	signal(SIGSEGV, SIG_DFL), signal(SIGFPE, SIG_DFL), signal(SIGILL, SIG_DFL);
	say("faults\n");
}

static void *take(void *argument)
{
	sem_post(argument);
	while (seen != SIGUSR2)
		sched_yield();
	return (void *)handler_thread;
}

static void *wait_for_it(void *argument)
{
	sigset_t set;
	int signal;

	sigemptyset(&set), sigaddset(&set, SIGRTMIN + 3);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0 && sem_post(argument) == 0);
	CHECK(sigwait(&set, &signal) == 0);
	return (void *)(long)(signal - SIGRTMIN);
}

static void other_threads(void)
{
	pthread_t thread;
	sem_t started;
	void *result;

	seen = 0;
	CHECK(sem_init(&started, 0, 0) == 0 && pthread_create(&thread, NULL, take, &started) == 0);
	CHECK(sem_wait(&started) == 0 && pthread_kill(thread, SIGUSR2) == 0 && pthread_join(thread, &result) == 0);
	CHECK(pthread_equal((pthread_t)result, thread));
	CHECK(pthread_create(&thread, NULL, wait_for_it, &started) == 0 && sem_wait(&started) == 0);
	CHECK(pthread_kill(thread, SIGRTMIN + 3) == 0 && pthread_join(thread, &result) == 0);
	say("other threads: %ld\n", (long)result);
}

static void registers_survive(void)
{
	unsigned long sum = 0;
	double product = 1;

	on_signal(SIGUSR1, note, 0);
	for (int i = 1; i <= 100; i++) {
		product *= 1 + 1.0 / i;
		CHECK(raise(SIGUSR1) == 0);
		sum += i;
	}
	say("registers: %lu, %.6f\n", sum, product);
}

int main(void)
{
	own_thread();
	stacks();
	faults();
	other_threads();
	registers_survive();
	return 0;
}
