// SPDX-License-Identifier: Apache-2.0 OR MIT
// The calls of 32-bit programs, made by a 64-bit program (INT 0x80), and numbers with bits that Linux ignores: the same
// number is another call, the same call has another number.
#include "check.h"

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>

#define IA32_GETEGID32 202	/* futex() of a 64-bit program */
#define IA32_SETREUID32 203	/* sched_setaffinity() of one */
#define IA32_FUTEX 240
#define IA32_SETAFFINITY 241
#define IA32_GETAFFINITY 242
#define IA32_GETCPU 318
#define IA32_SECCOMP 354
#define IGNORED (1ul << 32)

/* A call with up to three arguments. What a 64-bit call would find in rsi and rdi is not among them. */
static long ia32(long number, long b, long c, long d, long rsi, long rdi)
{
	long result;

	asm volatile("int $0x80"
		     : "=a"(result)
		     : "a"(number), "b"(b), "c"(c), "d"(d), "S"(rsi), "D"(rdi)
		     : "memory", "r8", "r9", "r10", "r11");
	return (int)result;
}

static int *low;	/* memory below 4 GiB */
static volatile int woken, filtered;

static void *wait_for_wake(void *word)
{
	while (*(volatile int *)word == 0 && syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL) == 0)
		;
	woken = 1;
	return NULL;
}

static void nap(long ms)
{
	struct timespec time = { 0, ms * 1000000 };

	nanosleep(&time, NULL);
}

static void futexes(void)
{
	pthread_t waiter;
	int i;

	CHECK(pthread_create(&waiter, NULL, wait_for_wake, low) == 0);
	for (i = 0; i < 50; i++) {
		nap(2);
		CHECK(ia32(IA32_GETEGID32, 0, 0, 1, FUTEX_WAKE_PRIVATE, (long)low) == (int)getegid());
	}
	CHECK(!woken);
	*low = 1;
	CHECK(ia32(IA32_FUTEX, (long)low, FUTEX_WAKE_PRIVATE, 1, 0, 0) == 1);
	CHECK(pthread_join(waiter, NULL) == 0);
	say("futexes\n");
}

static void cpus(void)
{
	cpu_set_t all, other, *one = (void *)(low + 64);
	long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(all), &all);
	unsigned int cpu, *seen = (void *)(low + 32), first = 0;

	CHECK(bytes > 0);
	while (!CPU_ISSET(first, &all))
		first++;
	memset(one, 0, sizeof(*one));
	CPU_SET(first, one);
	CHECK(ia32(IA32_SETREUID32, -1, -1, (long)one, 8, 0) == 0);
	memset(&other, 0, sizeof(other));
	CHECK(syscall(SYS_sched_getaffinity | IGNORED, 0, sizeof(other), &other) == bytes);
	CHECK(!memcmp(&all, &other, bytes));
	memset(low, 0, 128);
	CHECK(ia32(IA32_GETAFFINITY, 0, sizeof(all), (long)low, 0, 0) == bytes);
	CHECK(!memcmp(&all, low, bytes));
	memset(one, 0, sizeof(*one));
	CPU_SET(first, one);
	CHECK(ia32(IA32_SETAFFINITY, 0, sizeof(*one), (long)one, 0, 0) == 0);
	CHECK(syscall(SYS_getcpu, &cpu, NULL, NULL) == 0 && cpu == first);
	CHECK(ia32(IA32_GETCPU, (long)seen, 0, 0, 0, 0) == 0 && *seen == first);
	CHECK(syscall(SYS_sched_setaffinity | IGNORED, 0, sizeof(all), &all) == 0);
	CHECK(syscall(SYS_sched_getaffinity, 0, sizeof(other), &other) == bytes && !memcmp(&all, &other, bytes));
	CHECK(syscall(SYS_getpid | IGNORED) == getpid());
	say("CPUs\n");
}

static void *call_until_filtered(void *unused)
{
	while (syscall(SYS_getpid) != -1)
		;
	filtered = 1;
	return unused;
}

/* A filter for all threads, set by a 32-bit call: a core does not answer their calls any more. */
static void filter(void)
{
	static const struct sock_filter all_but_getpid[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct {	/* as 32-bit programs have it */
		uint16_t length;
		uint32_t filter;
	} *program = (void *)low;
	pthread_t caller;

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	program->length = ARRAY_LENGTH(all_but_getpid);
	program->filter = (uint32_t)(long)(low + 64);
	memcpy(low + 64, all_but_getpid, sizeof(all_but_getpid));
	CHECK(pthread_create(&caller, NULL, call_until_filtered, NULL) == 0);
	nap(20);
	CHECK(ia32(IA32_SECCOMP, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, (long)program, 0, 0) == 0);
	CHECK(pthread_join(caller, NULL) == 0 && filtered);
	say("a filter\n");
}

int main(void)
{
	low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	CHECK(low != MAP_FAILED);
	PART(futexes);
	PART(cpus);
	PART(filter);
	return 0;
}
