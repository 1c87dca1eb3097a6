/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Restartable sequences: per-CPU counters without atomics. An update is lost if
 * two threads that run at once see the same CPU number, or if a sequence is not
 * aborted when its thread moves or gets a signal.
 */
#include "check.h"
#include "sequence.h"

#include <pthread.h>
#include <sys/time.h>

#define CPUS 4096
#define ROUNDS 4000

static struct { long count; char pad[56]; } counters[CPUS];
static long expected, aborted;
static __thread long own_aborts, from_handler;

/*
 * Add one to the counter of the current CPU, slowly: between the load and the
 * store are some hundred instructions. Returns 0 when done, -1 when aborted.
 */
static int slow_add(void)
{
	uint64_t descriptor_at = (uint64_t)&rseq_self()->rseq_cs, cpu_at = (uint64_t)&rseq_self()->cpu_id;

	asm goto(SEQUENCE_BEGIN
		 "1: mov (%1), %%eax\n"
		 "cmp %3, %%eax\n"
		 "jae 4f\n"
		 "shl $6, %%rax\n"
		 "mov (%2, %%rax), %%rcx\n"
		 "inc %%rcx\n"
		 "mov $300, %%edx\n"
		 "5: dec %%edx\n"
		 "jnz 5b\n"
		 "mov %%rcx, (%2, %%rax)\n"
		 SEQUENCE_END(done, abort)
		 : : "r"(descriptor_at), "r"(cpu_at), "r"(counters), "i"(CPUS)
		 : "rax", "rcx", "rdx", "memory", "cc" : done, abort);
done:
	return 0;
abort:
	return -1;
}

static void *add_many(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (slow_add())
			own_aborts++;
		if (i % 64 == 0)
			sched_yield();
	}
	add(&expected, ROUNDS + from_handler);
	add(&aborted, own_aborts);
	return unused;
}

/* The handler adds too: a sequence that continued after it would undo that. */
static void on_signal_add(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	while (slow_add())
		;
	from_handler++;
}

static long total(void)
{
	long sum = 0;

	for (int i = 0; i < CPUS; i++)
		sum += counters[i].count;
	return sum;
}

static void registered(void)
{
	CHECK(__rseq_size >= 20 && (int)rseq_self()->cpu_id >= 0);
	CHECK(rseq_self()->cpu_id_start == rseq_self()->cpu_id || rseq_self()->cpu_id < CPUS);
}

static void several_threads(void)
{
	pthread_t threads[6];

	for (int i = 0; i < 6; i++)
		CHECK(!pthread_create(&threads[i], NULL, add_many, NULL));
	for (int i = 0; i < 6; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(total() == load(&expected));
}

/* Under many signals, until some have interrupted a sequence. */
static void under_signals(void)
{
	struct itimerval often = { { 0, 300 }, { 0, 300 } }, off = { 0 };

	on_signal(SIGALRM, on_signal_add, 0);
	own_aborts = 0;
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (long i = 0; own_aborts < 20; i++) {
		while (slow_add())
			own_aborts++;
		expected++;
	}
	CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
	expected += from_handler;
	from_handler = 0;
	CHECK(total() == load(&expected));
}

/* This test does not cover a system call within a sequence. A wrong descriptor gives SIGSEGV. */
static void broken_descriptor(void)
{
	rseq_self()->rseq_cs = 0x7ffffffff000;
	signal(SIGSEGV, SIG_DFL);
	/* the kernel checks it before it returns to a thread that was preempted or signalled */
	for (;;) {
		rseq_self()->rseq_cs = 0x7ffffffff000;
		raise(SIGALRM);
		sched_yield();
	}
}

static void in_a_child(void)
{
	CHECK((int)rseq_self()->cpu_id >= 0);
	expected = total();
	add_many(NULL);
	CHECK(total() == load(&expected));
}

int main(void)
{
	if (__rseq_size) {
		registered();
		several_threads();
		under_signals();
		CHECK(exited_with(child_status(in_a_child), 0));
		CHECK(killed_by(child_status(broken_descriptor), SIGSEGV));
	}
	say("no update lost\n");
	return 0;
}
