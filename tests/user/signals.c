/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Signals to a thread that makes calls: delivery, masks, order, restarts, stacks. */
#include "check.h"

#include <pthread.h>
#include <ucontext.h>

static volatile int handled, order[64], depth, deepest;
static volatile siginfo_t last;
static volatile pid_t handler_tid;

static void count(int sig, siginfo_t *info, void *context)
{
	(void)context;
	CHECK(sig == info->si_signo);
	last = *info;
	handler_tid = gettid();
	if (handled < 64)
		order[handled] = sig * 1000 + (info->si_code == SI_QUEUE ? info->si_int : 0);
	handled++;
}

static void handlers(void)
{
	struct sigaction sa;

	on_signal(SIGUSR1, count, 0);
	CHECK(raise(SIGUSR1) == 0 && handled == 1 && last.si_code == SI_TKILL && last.si_pid == getpid());
	CHECK(kill(getpid(), SIGUSR1) == 0 && handled == 2 && last.si_code == SI_USER && last.si_uid == getuid());
	on_signal(SIGUSR1, count, SA_RESETHAND);
	CHECK(raise(SIGUSR1) == 0 && handled == 3 && sigaction(SIGUSR1, NULL, &sa) == 0 && sa.sa_handler == SIG_DFL);
	CHECK(signal(SIGUSR1, SIG_IGN) == SIG_DFL && raise(SIGUSR1) == 0 && handled == 3);
	CHECK_ERRNO(sigaction(SIGKILL, &sa, NULL), EINVAL);
	say("handlers\n");
}

/* Real-time signals queue, lowest number first, each in the order of sending. */
static void queueing(void)
{
	sigset_t set, pending;

	handled = 0;
	sigfillset(&set);
	for (int i = 0; i < 3; i++)
		on_signal(SIGRTMIN + i, count, 0);
	on_signal(SIGUSR2, count, 0);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	for (int value = 0; value < 3; value++)
		for (int i = 2; i >= 0; i--)
			CHECK(sigqueue(getpid(), SIGRTMIN + i, (union sigval){ .sival_int = value }) == 0);
	raise(SIGUSR2), raise(SIGUSR2), raise(SIGUSR2);
	CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGRTMIN + 1) && !sigismember(&pending, SIGUSR1));
	CHECK(handled == 0);
	/* with every handler masking the others, they run in the order of delivery */
	for (int i = 0; i < 4; i++) {
		struct sigaction sa = { .sa_sigaction = count, .sa_flags = SA_SIGINFO, .sa_mask = set };

		CHECK(sigaction(i < 3 ? SIGRTMIN + i : SIGUSR2, &sa, NULL) == 0);
	}
	CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
	CHECK(handled == 10 && order[0] == SIGUSR2 * 1000);
	for (int i = 0; i < 9; i++)
		CHECK(order[i + 1] == (SIGRTMIN + i / 3) * 1000 + i % 3);
	say("queueing\n");
}

static void nest(int sig, siginfo_t *info, void *context)
{
	(void)info, (void)context;
	if (++depth > deepest)
		deepest = depth;
	if (depth < 20)
		CHECK(raise(sig) == 0);
	depth--;
}

static void nesting(void)
{
	on_signal(SIGUSR1, nest, SA_NODEFER);
	CHECK(raise(SIGUSR1) == 0 && deepest == 20 && depth == 0);
	say("nesting\n");
}

static char *alternate;

static void on_alternate(int sig, siginfo_t *info, void *context)
{
	stack_t now;
	char here;

	(void)sig, (void)info, (void)context;
	CHECK(&here > alternate && &here < alternate + 65536);
	CHECK(sigaltstack(NULL, &now) == 0 && now.ss_flags == SS_ONSTACK);
	handled++;
}

static void *own_alternate(void *unused)
{
	stack_t none;

	CHECK(sigaltstack(NULL, &none) == 0 && none.ss_flags == SS_DISABLE);
	return unused;
}

static void stacks(void)
{
	stack_t stack = { .ss_sp = private_pages(16), .ss_size = 65536 }, tiny = { .ss_sp = stack.ss_sp, .ss_size = 100 };
	pthread_t thread;

	alternate = stack.ss_sp;
	handled = 0;
	CHECK_ERRNO(sigaltstack(&tiny, NULL), ENOMEM);
	CHECK(sigaltstack(&stack, NULL) == 0);
	on_signal(SIGUSR1, on_alternate, SA_ONSTACK);
	CHECK(raise(SIGUSR1) == 0 && handled == 1);
	CHECK(!pthread_create(&thread, NULL, own_alternate, NULL) && !pthread_join(thread, NULL));
	stack.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&stack, NULL) == 0);
	say("alternate stacks\n");
}

static int ends[2], waiting;
static pthread_t target;

/* Signals the reading thread three times, then ends its wait. */
static void *disturb(void *unused)
{
	wait_until(load(&waiting));
	for (int i = 1; i <= 3; i++) {
		sleep_ms(3);
		CHECK(!pthread_kill(target, SIGUSR1));
		wait_until(handled == i);
	}
	sleep_ms(3);
	CHECK(write(ends[1], "x", 1) == 1);
	return unused;
}

/* Signals the thread until each of its three calls has ended. */
static int ended;

static void *interrupt(void *unused)
{
	while (load(&ended) < 3) {
		sleep_ms(2);
		CHECK(!pthread_kill(target, SIGUSR1));
	}
	return unused;
}

static void restarts(void)
{
	struct timespec hour = { 3600, 0 }, left;
	pthread_t thread;
	char c;

	CHECK(pipe(ends) == 0);
	target = pthread_self();
	handled = 0;
	on_signal(SIGUSR1, count, SA_RESTART);
	CHECK(!pthread_create(&thread, NULL, disturb, NULL));
	store(&waiting, 1);
	CHECK(read(ends[0], &c, 1) == 1 && c == 'x' && handled == 3);
	CHECK(!pthread_join(thread, NULL) && handler_tid == gettid());

	on_signal(SIGUSR1, count, 0);
	CHECK(!pthread_create(&thread, NULL, interrupt, NULL));
	CHECK_ERRNO(read(ends[0], &c, 1), EINTR);
	add(&ended, 1);
	CHECK_ERRNO(nanosleep(&hour, &left), EINTR);
	/* Linux computes the rest from the latest end, including its slack of 50 us. */
	CHECK(left.tv_sec >= 3500 && left.tv_sec <= 3600);
	CHECK(left.tv_sec < 3600 || left.tv_nsec <= 50000);
	add(&ended, 1);
	CHECK_ERRNO(pause(), EINTR);
	add(&ended, 1);
	CHECK(!pthread_join(thread, NULL) && handled >= 6);
	say("restarted and interrupted calls\n");
}

static void *wait_for_signals(void *unused)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	store(&waiting, 2);
	CHECK(sigwait(&set, &sig) == 0 && sig == SIGUSR2);
	return unused;
}

/* A signal for the process goes to the one thread that takes it. */
static void waits(void)
{
	struct timespec brief = { 0, 2000000 };
	sigset_t set, old;
	siginfo_t info;
	pthread_t thread;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGUSR1);
	CHECK(!pthread_sigmask(SIG_BLOCK, &set, &old));
	CHECK(!pthread_create(&thread, NULL, wait_for_signals, NULL));
	wait_until(load(&waiting) == 2);
	CHECK(kill(getpid(), SIGUSR2) == 0 && !pthread_join(thread, NULL));
	CHECK_ERRNO(sigtimedwait(&set, NULL, &brief), EAGAIN);
	CHECK(sigqueue(getpid(), SIGUSR2, (union sigval){ .sival_int = 123 }) == 0);
	CHECK(sigwaitinfo(&set, &info) == SIGUSR2 && info.si_int == 123);
	handled = 0;
	CHECK(raise(SIGUSR1) == 0 && handled == 0);
	CHECK_ERRNO(sigsuspend(&old), EINTR);
	CHECK(handled == 1 && !pthread_sigmask(SIG_SETMASK, NULL, &set) && sigismember(&set, SIGUSR1));
	CHECK(!pthread_sigmask(SIG_SETMASK, &old, NULL));
	say("waiting for signals\n");
}

/* The handler decides where, and with which registers, the program continues. */
static void change_context(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig, (void)info;
	uc->uc_mcontext.gregs[REG_RBX] = 0x1234567812345678;
	uc->uc_mcontext.gregs[REG_RIP] += 2;	/* over ud2 */
	sigaddset(&uc->uc_sigmask, SIGUSR2);
}

static void contexts(void)
{
	uint64_t value = 0;
	sigset_t set;

	on_signal(SIGILL, change_context, 0);
	asm volatile("mov $0, %%ebx; ud2; mov %%rbx, %0" : "=r"(value) : : "rbx");
	CHECK(value == 0x1234567812345678 && sigprocmask(SIG_SETMASK, NULL, &set) == 0 && sigismember(&set, SIGUSR2));
	say("a handler changes the context\n");
}

int main(void)
{
	handlers();
	queueing();
	nesting();
	stacks();
	restarts();
	waits();
	contexts();
	return 0;
}
