/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Masks of signals that a thread changes between calls of other kinds: the old mask and errors, signals that wait, and
 * signals that others send to a thread that has opened them and makes no call. And lists of robust futexes.
 */
#include "check.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>

#define SET_BYTES 8
#define NEVER_BLOCKED (1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1))
#define BIT(signal) (1ull << ((signal) - 1))

static volatile int handled[65];
static volatile pid_t by;

static void count(int signal)
{
	handled[signal]++;
	by = gettid();
}

static long procmask(int how, const uint64_t *set, uint64_t *old)
{
	return syscall(SYS_rt_sigprocmask, how, set, old, SET_BYTES);
}

static uint64_t mask_now(void)
{
	uint64_t old = 0;

	CHECK(procmask(SIG_BLOCK, NULL, &old) == 0);
	return old;
}

/* What /proc says of this thread: Linux's own word for it. */
static uint64_t mask_of_linux(void)
{
	char text[4096], *at;
	int file = open("/proc/thread-self/status", O_RDONLY);
	ssize_t bytes = read(file, text, sizeof(text) - 1);

	CHECK(bytes > 0 && !close(file));
	text[bytes] = 0;
	at = strstr(text, "SigBlk:\t");
	CHECK(at);
	return strtoull(at + 8, NULL, 16);
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Random changes, with every signal that waits: a handler runs exactly when its signal is open. */
static void random_changes(void)
{
	uint64_t before = mask_now(), mask = before, pending = 0;
	uint32_t state = 0x2545f491;
	int expected[65] = { 0 };

	for (int signal = SIGRTMIN; signal < SIGRTMIN + 8; signal++)
		CHECK(!sigaction(signal, &(struct sigaction){ .sa_handler = count }, NULL));
	for (int i = 0; i < rounds(3000, 100000); i++) {
		uint64_t old, set = (uint64_t)(next_random(&state) & 255) << (SIGRTMIN - 1), wanted = mask;
		int how = next_random(&state) % 3, kind = next_random(&state) % 8;

		if (kind == 0) {
			int signal = SIGRTMIN + next_random(&state) % 8;

			if (pending & BIT(signal))
				continue;	/* they queue */
			CHECK(!syscall(SYS_tgkill, getpid(), gettid(), signal));
			pending |= BIT(signal);
		} else if (kind == 1) {
			CHECK(getppid() > 0);	/* a call that Linux performs */
		} else {
			if (kind == 2)
				set = ~0ull;
			wanted = (how == SIG_BLOCK ? mask | set : how == SIG_UNBLOCK ? mask & ~set : set) & ~NEVER_BLOCKED;
			CHECK(procmask(how, &set, &old) == 0 && old == mask);
		}
		mask = wanted;
		for (int signal = SIGRTMIN; signal < SIGRTMIN + 8; signal++) {
			expected[signal] += !!(pending & ~mask & BIT(signal));
			CHECK(handled[signal] == expected[signal]);
		}
		pending &= mask;
	}
	CHECK(procmask(SIG_SETMASK, &before, NULL) == 0);
	say("random changes\n");
}

/* Each change is what Linux says as soon as the thread asks it. */
static void shown(void)
{
	uint64_t before = mask_now(), all = ~0ull, some = BIT(SIGUSR1) | BIT(SIGRTMAX);

	CHECK(mask_of_linux() == before);
	CHECK(procmask(SIG_BLOCK, &all, NULL) == 0 && mask_of_linux() == (all & ~NEVER_BLOCKED));
	CHECK(procmask(SIG_UNBLOCK, &some, NULL) == 0 && mask_of_linux() == (all & ~NEVER_BLOCKED & ~some));
	CHECK(procmask(SIG_SETMASK, &some, NULL) == 0 && mask_of_linux() == some);
	CHECK(procmask(SIG_SETMASK, &before, NULL) == 0 && mask_of_linux() == before);
	say("shown\n");
}

static void errors(void)
{
	uint64_t set = 0, before = mask_now(), *bad = (void *)private_pages(1);

	CHECK(!mprotect(bad, 4096, PROT_READ));
	CHECK_ERRNO(procmask(3, &set, NULL), EINVAL);
	CHECK(procmask(3, NULL, NULL) == 0);
	CHECK_ERRNO(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 4), EINVAL);
	CHECK_ERRNO(procmask(SIG_BLOCK, (void *)8, NULL), EFAULT);
	set = BIT(SIGUSR1);
	CHECK_ERRNO(procmask(SIG_BLOCK, &set, bad), EFAULT);
	/* as ever on Linux: the mask is changed nevertheless */
	CHECK(mask_now() == (before | BIT(SIGUSR1)));
	CHECK(procmask(SIG_SETMASK, &before, NULL) == 0 && mask_now() == before);
	CHECK_ERRNO(syscall(SYS_set_robust_list, &set, 8), EINVAL);
	say("errors\n");
}

static int ready, done, sent;

/* Computes with the signal open, and makes no call, until the handler has run. */
static void *opens_and_computes(void *argument)
{
	int signal = (intptr_t)argument, had = handled[signal];
	uint64_t set = BIT(signal);

	for (int i = 0; i < rounds(200, 5000); i++) {
		CHECK(procmask(SIG_BLOCK, &set, NULL) == 0 && getppid() > 0);
		store(&ready, i + 1);
		for (int n = i * 37 % 500; n > 0; n--)
			asm volatile("pause");
		CHECK(procmask(SIG_UNBLOCK, &set, NULL) == 0);
		had++;
		while (handled[signal] != had)
			asm volatile("pause");
		CHECK(by == gettid());
	}
	store(&done, 1);
	return NULL;
}

/* Signals come before, while and after the thread opens them. */
static void send_all(int whole_process)
{
	int signal = whole_process ? SIGUSR2 : SIGUSR1;
	uint64_t set = BIT(signal), before;
	pthread_t thread;

	CHECK(!sigaction(signal, &(struct sigaction){ .sa_handler = count }, NULL));
	CHECK(procmask(SIG_BLOCK, &set, &before) == 0);
	store(&ready, 0), store(&done, 0);
	CHECK(!pthread_create(&thread, NULL, opens_and_computes, (void *)(intptr_t)signal));
	for (sent = 0; !load(&done);) {
		if (load(&ready) == sent) {
			sched_yield();
			continue;
		}
		if (whole_process)
			CHECK(!kill(getpid(), signal));
		else
			CHECK(!pthread_kill(thread, signal));
		sent++;
	}
	CHECK(!pthread_join(thread, NULL) && handled[signal] == sent);
	CHECK(procmask(SIG_SETMASK, &before, NULL) == 0);
	say(whole_process ? "sent to the process\n" : "sent to the thread\n");
}

static void to_thread(void)
{
	send_all(0);
}

static void to_process(void)
{
	send_all(1);
}

static void *dies_with_it(void *mutex)
{
	CHECK(!pthread_mutex_lock(mutex));
	return NULL;
}

/* A thread ends and has a robust mutex: the next one is told. */
static void robust(void)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t mutex;

	CHECK(!pthread_mutexattr_init(&attributes) && !pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
	CHECK(!pthread_mutex_init(&mutex, &attributes));
	for (int i = 0; i < rounds(50, 2000); i++) {
		pthread_t thread;

		CHECK(!pthread_create(&thread, NULL, dies_with_it, &mutex));
		CHECK(!pthread_join(thread, NULL));
		CHECK(pthread_mutex_lock(&mutex) == EOWNERDEAD);
		CHECK(!pthread_mutex_consistent(&mutex) && !pthread_mutex_unlock(&mutex));
	}
	say("robust mutexes\n");
}

/* A new list is the one that Linux has, whoever asks. */
static void lists(void)
{
	struct robust_list_head *had, list = { { &list.list }, 0, NULL }, *now;
	size_t bytes;

	CHECK(!syscall(SYS_get_robust_list, 0, &had, &bytes) && bytes == sizeof(list));
	CHECK(!syscall(SYS_set_robust_list, &list, sizeof(list)));
	CHECK(!syscall(SYS_get_robust_list, 0, &now, &bytes) && now == &list);
	CHECK(!syscall(SYS_set_robust_list, had, sizeof(list)));
	CHECK(!syscall(SYS_get_robust_list, 0, &now, &bytes) && now == had);
	say("lists\n");
}

int main(void)
{
	PART(random_changes);
	PART(shown);
	PART(errors);
	PART(to_thread);
	PART(to_process);
	PART(robust);
	PART(lists);
	return 0;
}
