/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* CPU features that the kernel grants, refuses or emulates per process: TSC, cpuid, UMIP, ports, vsyscall. */
#include "check.h"

#include <asm/prctl.h>
#include <cpuid.h>
#include <setjmp.h>
#include <sys/io.h>
#include <sys/time.h>
#include <x86intrin.h>

#ifndef ARCH_GET_CPUID
#define ARCH_GET_CPUID 0x1011
#define ARCH_SET_CPUID 0x1012
#endif

static sigjmp_buf back;
static volatile int seen;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)info, (void)context;
	seen = sig;
	siglongjmp(back, 1);
}

#define FAULTS(what) (seen = 0, sigsetjmp(back, 1) ? seen == SIGSEGV : ((void)(what), 0))

static unsigned cpuid_of(unsigned leaf)
{
	unsigned a, b, c, d;

	__cpuid_count(leaf, 0, a, b, c, d);
	return leaf == 7 ? c : a + b + d;
}

static uint64_t read_tsc(void)
{
	unsigned aux;

	return __rdtscp(&aux);
}

/* The cycle counter is readable unless a process turns it off for itself. */
static void cycle_counter(void)
{
	uint64_t before = __rdtsc();
	int64_t real = now_ns(CLOCK_MONOTONIC);

	sched_yield();
	CHECK(__rdtsc() >= before && read_tsc() > before);
	CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
	CHECK(FAULTS(__rdtsc()) && FAULTS(read_tsc()));
	sched_yield();
	CHECK(FAULTS(__rdtsc()));
	CHECK(prctl(PR_SET_TSC, PR_TSC_ENABLE) == 0 && !FAULTS(__rdtsc()));
	CHECK(now_ns(CLOCK_MONOTONIC) >= real);
	say("cycle counter\n");
}

static void cpu_identification(void)
{
	unsigned before = cpuid_of(0);

	if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) == 0) {
		CHECK(FAULTS(cpuid_of(0)));
		sched_yield();
		CHECK(FAULTS(cpuid_of(0)) && syscall(SYS_arch_prctl, ARCH_GET_CPUID, 0) == 0);
		CHECK(syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1) == 0);
	} else {
		CHECK(errno == ENODEV);
	}
	CHECK(!FAULTS(cpuid_of(0)) && cpuid_of(0) == before);
	say("cpu identification\n");
}

struct table { uint16_t limit; uint64_t base; } __attribute__((packed));

static struct table tables[2];
static uint64_t machine_word;

static void store_tables(void)
{
	asm volatile("sgdt %0\n sidt %1\n smsw %2" : "=m"(tables[0]), "=m"(tables[1]), "=r"(machine_word));
}

/* With UMIP, the kernel hides the addresses of its tables and returns dummy ones. */
static void system_tables(void)
{
	unsigned max = 0, ebx;

	__cpuid(0, max, ebx, ebx, ebx);
	CHECK(!FAULTS(store_tables()));
	CHECK(machine_word & 1);
	if (max >= 7 && (cpuid_of(7) & 4))
		CHECK(tables[0].base == 0xfffffffffffe0000 && tables[1].base == 0xffffffffffff0000 && !tables[0].limit);
	say("system tables\n");
}

static void port_out(void)
{
	outb(0, 0x80);
}

static void disable_interrupts(void)
{
	asm volatile("cli");
}

static void ports(void)
{
	CHECK(FAULTS(port_out()) && FAULTS(disable_interrupts()));
	if (ioperm(0x80, 1, 1) == 0) {
		CHECK(!FAULTS(port_out()));
		sched_yield();
		CHECK(!FAULTS(port_out()) && FAULTS(outb(0, 0x81)));
		CHECK(ioperm(0x80, 1, 0) == 0 && FAULTS(port_out()));
	}
	if (iopl(3) == 0) {
		CHECK(!FAULTS(port_out()));
		CHECK(!FAULTS(disable_interrupts()));	/* the kernel pretends */
		CHECK(iopl(0) == 0 && FAULTS(port_out()) && FAULTS(disable_interrupts()));
	}
	say("ports\n");
}

/* The vsyscall page at a fixed address, if the kernel has it, runs three calls and is not readable. */
static void vsyscall(void)
{
	struct timeval tv = { 0, 0 };
	char line[256];
	static int callable, readable;
	FILE *maps = fopen("/proc/self/maps", "r");
	int (*gettimeofday_at)(struct timeval *, void *) = wild(0xffffffffff600000);
	time_t (*time_at)(time_t *) = wild(0xffffffffff600400);

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[vsyscall]"))
			callable = !!strstr(line, "xp "), readable = !!strstr(line, " r");
	fclose(maps);
	if (callable) {
		time_t before = time(NULL);

		CHECK(gettimeofday_at(&tv, NULL) == 0 && tv.tv_sec >= before);
		CHECK(time_at(NULL) >= before && time_at(NULL) <= time(NULL));
		CHECK(FAULTS(((int (*)(void))wild(0xffffffffff600001))()));
	} else {
		CHECK(FAULTS(gettimeofday_at(&tv, NULL)));
	}
	CHECK(FAULTS(*(volatile char *)wild(0xffffffffff600000)) == !readable);
	CHECK(FAULTS(*(volatile char *)wild(0xffffffffff600000) = 1));
	say("vsyscall page\n");
}

int main(void)
{
	on_signal(SIGSEGV, on_fault, 0);
	PART(cycle_counter);
	PART(cpu_identification);
	PART(system_tables);
	PART(ports);
	PART(vsyscall);
	return 0;
}
