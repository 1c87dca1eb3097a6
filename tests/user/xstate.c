/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Vector, mask and x87 registers and their control words across calls, yields, faults, forks and threads. */
#include "check.h"
#include "xregs.h"

#include <fenv.h>
#include <pthread.h>
#include <ucontext.h>

static void held(unsigned seed, struct xevent *event)
{
	struct xregs in, out;

	xregs_fill(&in, seed);
	CHECK(xregs_hold(&in, &out, event) >= 0);
	CHECK(!memcmp(&in, &out, sizeof(in)));
}

static void across_calls(void)
{
	struct timespec brief = { 0, 1000000 };
	int ends[2];
	char c;

	for (unsigned i = 0; i < 200; i++) {
		held(i, &(struct xevent){ NULL, SYS_getppid, 0, 0 });
		held(i + 7, &(struct xevent){ NULL, SYS_sched_yield, 0, 0 });
	}
	for (unsigned i = 0; i < 5; i++)
		held(i, &(struct xevent){ NULL, SYS_nanosleep, (long)&brief, 0 });
	/* a call for which the kernel may use its own vector code, because it moves much data */
	CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
	held(3, &(struct xevent){ NULL, SYS_close, ends[1], 0 });
	CHECK(read(ends[0], &c, 1) == 1 && c == 'x');
	say("across calls\n");
}

static void *many_threads(void *seed)
{
	for (unsigned i = 0; i < 100; i++)
		held((unsigned)(long)seed * 1000 + i, &(struct xevent){ NULL, SYS_sched_yield, 0, 0 });
	return NULL;
}

static void across_threads(void)
{
	pthread_t threads[12];

	for (long i = 0; i < 12; i++)
		CHECK(!pthread_create(&threads[i], NULL, many_threads, (void *)i));
	for (int i = 0; i < 12; i++)
		CHECK(!pthread_join(threads[i], NULL));
	say("across threads that yield to each other\n");
}

/* Both sides of a fork return with the same registers. */
static void across_fork(void)
{
	struct xregs in, out;
	struct xevent event = { NULL, SYS_fork, 0, 0 };
	int status;
	long pid;

	xregs_fill(&in, 99);
	pid = xregs_hold(&in, &out, &event);
	CHECK(pid >= 0 && !memcmp(&in, &out, sizeof(in)));
	if (pid == 0)
		_exit(5);
	CHECK(waitpid(pid, &status, 0) == pid && exited_with(status, 5));
	say("across fork\n");
}

static volatile int *flag;

/* The handler changes the registers itself, then lets the loop end. */
static void clobber(int sig, siginfo_t *info, void *context)
{
	struct xregs in, out;
	struct xevent nothing = { NULL, -1, 0, 0 };

	(void)sig, (void)info, (void)context;
	xregs_fill(&in, 0x77);
	xregs_hold(&in, &out, &nothing);
	*flag = 1;
}

static void across_faults(void)
{
	flag = (int *)private_pages(1);
	on_signal(SIGALRM, clobber, 0);
	for (unsigned i = 0; i < 50; i++) {
		/* the first read of the flag is a page fault, the last one follows a signal */
		CHECK(madvise((void *)flag, 4096, MADV_DONTNEED) == 0 && ualarm(1000, 0) == 0);
		held(i, &(struct xevent){ flag, SYS_getppid, 0, 0 });
	}
	say("across faults and signals\n");
}

static uint32_t mxcsr(void)
{
	uint32_t value;

	asm volatile("stmxcsr %0" : "=m"(value));
	return value;
}

static uint16_t control(void)
{
	uint16_t value;

	asm volatile("fnstcw %0" : "=m"(value));
	return value;
}

static volatile uint32_t handler_mxcsr;

static void look_at_control(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	handler_mxcsr = mxcsr();
	fesetround(FE_TOWARDZERO);
}

static void *inherits(void *unused)
{
	CHECK((mxcsr() & 0x6000) == 0x4000 && (control() & 0xc00) == 0x800);
	CHECK(fesetround(FE_DOWNWARD) == 0);
	sched_yield();
	CHECK((mxcsr() & 0x6000) == 0x2000);
	return unused;
}

static void control_words(void)
{
	pthread_t thread;
	uint32_t before;

	CHECK(fesetround(FE_UPWARD) == 0);
	before = mxcsr();
	sched_yield();
	sleep_ms(1);
	CHECK(mxcsr() == before && (control() & 0xc00) == 0x800);
	CHECK(!pthread_create(&thread, NULL, inherits, NULL) && !pthread_join(thread, NULL));
	on_signal(SIGUSR1, look_at_control, 0);
	CHECK(raise(SIGUSR1) == 0 && fegetround() == FE_UPWARD && mxcsr() == before);
	CHECK(fesetround(FE_TONEAREST) == 0);
	say("control words\n");
}

/* The program gets the state that a handler writes into its saved state. */
static void edit_state(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig, (void)info;
	memset(&uc->uc_mcontext.fpregs->_xmm[5], 0x5a, 16);
	uc->uc_mcontext.fpregs->mxcsr |= 0x8000;
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void edited(void)
{
	unsigned char xmm5[16];

	on_signal(SIGILL, edit_state, 0);
	asm volatile("pxor %%xmm5, %%xmm5; ud2; movups %%xmm5, %0" : "=m"(xmm5) : : "xmm5", "memory");
	for (int i = 0; i < 16; i++)
		CHECK(xmm5[i] == 0x5a);
	CHECK(mxcsr() & 0x8000);
	say("edited by a handler\n");
}

int main(void)
{
	PART(across_calls);
	PART(across_threads);
	PART(across_fork);
	PART(across_faults);
	PART(control_words);
	PART(edited);
	return 0;
}
