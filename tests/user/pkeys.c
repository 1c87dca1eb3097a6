/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Protection keys: access rights in a register of each thread; the kernel does not notice changes of it. */
#include "check.h"

#include <pthread.h>
#include <ucontext.h>

static char *page;
static int key;
static volatile int code, fault_key;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	CHECK(info->si_addr == page);
	code = info->si_code;
	fault_key = info->si_code == SEGV_PKUERR ? (int)info->si_pkey : -1;
	/* return, do not jump: the rights in a handler differ from those outside */
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static int touch(int write)
{
	char value = 1;

	code = 0;
	if (write)
		asm volatile("movb %%al, (%%rdi)" : : "a"(value), "D"(page) : "memory");
	else
		asm volatile("movb (%%rdi), %%al" : "=a"(value) : "D"(page));
	CHECK(!code || fault_key == key);
	return code;
}

static void *in_thread(void *unused)
{
	int ends[2];

	/* a new thread starts with the rights of its creator */
	CHECK(pkey_get(key) == PKEY_DISABLE_WRITE && touch(1) == SEGV_PKUERR);
	CHECK(pkey_set(key, PKEY_DISABLE_ACCESS) == 0);
	for (int i = 0; i < 50; i++) {
		sched_yield();
		CHECK(pkey_get(key) == PKEY_DISABLE_ACCESS);
	}
	CHECK(touch(0) == SEGV_PKUERR && pipe(ends) == 0);
	/* the kernel respects this thread's rights when it works for it */
	CHECK_ERRNO(write(ends[1], page, 1), EFAULT);
	return unused;
}

static void with_keys(void)
{
	pthread_t thread;
	int other;

	on_signal(SIGSEGV, on_fault, 0);
	page = private_pages(1);
	CHECK(pkey_mprotect(page, 4096, PROT_READ | PROT_WRITE, key) == 0 && touch(1) == 0);
	CHECK(pkey_set(key, PKEY_DISABLE_WRITE) == 0 && touch(0) == 0 && touch(1) == SEGV_PKUERR);
	sched_yield();
	sleep_ms(1);
	CHECK(pkey_get(key) == PKEY_DISABLE_WRITE && touch(1) == SEGV_PKUERR);
	CHECK(!pthread_create(&thread, NULL, in_thread, NULL) && !pthread_join(thread, NULL));
	CHECK(pkey_get(key) == PKEY_DISABLE_WRITE && touch(0) == 0);
	CHECK(pkey_set(key, 0) == 0 && touch(1) == 0);
	other = pkey_alloc(0, PKEY_DISABLE_ACCESS);
	CHECK(other > 0 && other != key && pkey_get(other) == PKEY_DISABLE_ACCESS && pkey_free(other) == 0);
	CHECK_ERRNO(pkey_mprotect(page, 4096, PROT_READ, 15), EINVAL);
	/* execute-only memory uses a key if the CPU has keys */
	CHECK(mprotect(page, 4096, PROT_EXEC) == 0);
}

int main(void)
{
	key = pkey_alloc(0, 0);
	if (key > 0)
		with_keys();
	else
		CHECK(errno == ENOSPC || errno == EINVAL || errno == ENOSYS);
	say("rights of keys\n");
	return 0;
}
