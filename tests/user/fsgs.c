/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The FS and GS bases: set by call or by instruction, per thread, kept across all events. */
#include "check.h"

#include <asm/prctl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/time.h>

#ifndef HWCAP2_FSGSBASE
#define HWCAP2_FSGSBASE 2
#endif

static __thread uint64_t cell = 0x1111;
static volatile int rang;

static uint64_t base_of(int which)
{
	uint64_t base;

	CHECK(syscall(SYS_arch_prctl, which, &base) == 0);
	return base;
}

static uint64_t load_gs(void)
{
	uint64_t value;

	asm volatile("mov %%gs:0, %0" : "=r"(value));
	return value;
}

static void ring(int sig, siginfo_t *info, void *context)
{
	uint64_t mine = 0xaaaa;

	(void)sig, (void)info, (void)context;
	rang++;
	if (!cell)	/* through FS: the thread's own data are accessible in a handler too */
		_exit(1);
	CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &mine) == 0 && mine != 0xaaaa);
}

static void by_call(void)
{
	uint64_t here[4] = { 77, 78 };

	CHECK(base_of(ARCH_GET_FS) == (uint64_t)pthread_self());
	CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, here) == 0 && base_of(ARCH_GET_GS) == (uint64_t)here);
	CHECK(load_gs() == 77);
	sched_yield();
	sleep_ms(1);
	CHECK(load_gs() == 77);
	CHECK_ERRNO(syscall(SYS_arch_prctl, ARCH_SET_GS, 0x8000000000000000), EPERM);
	CHECK_ERRNO(syscall(SYS_arch_prctl, 0x9999, 0), EINVAL);
	CHECK(load_gs() == 77 && syscall(SYS_arch_prctl, ARCH_SET_GS, 0) == 0);
	say("by call\n");
}

static void *own_base(void *seed)
{
	uint64_t here[2] = { (uint64_t)seed, 0 };

	cell += (uint64_t)seed;
	CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, here) == 0);
	for (int i = 0; i < 100; i++) {
		sched_yield();
		CHECK(load_gs() == (uint64_t)seed && cell == 0x1111 + (uint64_t)seed);
	}
	return NULL;
}

static void per_thread(void)
{
	pthread_t threads[10];

	for (long i = 0; i < 10; i++)
		CHECK(!pthread_create(&threads[i], NULL, own_base, (void *)(i + 1)));
	for (int i = 0; i < 10; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(cell == 0x1111);
	say("per thread\n");
}

static void across_signals(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, off = { 0 };
	uint64_t here[2] = { 5, 0 };

	on_signal(SIGALRM, ring, 0);
	CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, here) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
	while (rang < 30)
		CHECK(load_gs() == 5 && cell == 0x1111);
	CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
	say("across signals\n");
}

static void in_child(void)
{
	CHECK(load_gs() == 5 && cell == 0x1111 && base_of(ARCH_GET_FS) == (uint64_t)pthread_self());
}

/* Written by the instruction, which the kernel does not notice. */
__attribute__((target("fsgsbase"))) static void by_instruction(void)
{
	uint64_t here[2] = { 123, 456 }, fs;

	CHECK(base_of(ARCH_GET_GS) == __builtin_ia32_rdgsbase64());
	__builtin_ia32_wrgsbase64((uint64_t)here);
	CHECK(base_of(ARCH_GET_GS) == (uint64_t)here && load_gs() == 123);
	for (int i = 0; i < 100; i++) {
		sched_yield();
		CHECK(__builtin_ia32_rdgsbase64() == (uint64_t)here && load_gs() == 123);
	}
	rang = 0;
	CHECK(ualarm(1000, 0) == 0);
	while (!rang)
		CHECK(load_gs() == 123);
	fs = __builtin_ia32_rdfsbase64();
	CHECK(fs == (uint64_t)pthread_self());
	__builtin_ia32_wrfsbase64((uint64_t)here);
	{
		uint64_t value;

		asm volatile("syscall" : "=a"(value) : "a"(SYS_sched_yield) : "rcx", "r11", "memory");
		asm volatile("mov %%fs:8, %0" : "=r"(value) : : "memory");
		__builtin_ia32_wrfsbase64(fs);
		CHECK(value == 456);
	}
	CHECK(cell == 0x1111);
	__builtin_ia32_wrgsbase64(0);
}

/* Loading a selector, the null or the flat one, changes the base permanently. */
static void selectors(void)
{
	uint16_t null = 0, got;

	asm volatile("mov %0, %%gs" : : "r"(null));
	sched_yield();
	asm volatile("mov %%gs, %0" : "=r"(got));
	CHECK(got == 0 && base_of(ARCH_GET_FS) == (uint64_t)pthread_self());
	asm volatile("mov %0, %%gs" : : "r"((uint16_t)0x2b));
	sched_yield();
	asm volatile("mov %%gs, %0" : "=r"(got));
	CHECK(got == 0x2b && base_of(ARCH_GET_GS) == 0);
	asm volatile("mov %0, %%es\n mov %0, %%ds" : : "r"((uint16_t)0x2b));
	sched_yield();
	asm volatile("mov %%es, %0" : "=r"(got));
	CHECK(got == 0x2b);
	asm volatile("mov %0, %%es\n mov %0, %%ds\n mov %0, %%gs" : : "r"(null));
}

int main(void)
{
	PART(by_call);
	PART(per_thread);
	PART(across_signals);
	CHILD(in_child, exited_with(status, 0));
	say("in a child\n");
	if (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE)
		by_instruction();
	say("by instruction\n");
	PART(selectors);
	say("selectors\n");
	return 0;
}
