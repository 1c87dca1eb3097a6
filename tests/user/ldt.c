/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The process's own segments, in its local descriptor table and in the thread's slots. */
#include "check.h"

#include <asm/ldt.h>
#include <setjmp.h>

static sigjmp_buf back;
static volatile int seen;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)info, (void)context;
	seen = sig;
	siglongjmp(back, 1);
}

static void set_segment(unsigned entry, void *base, int present)
{
	struct user_desc desc = { .entry_number = entry, .base_addr = (unsigned)(uintptr_t)base, .limit = 0xfff, .seg_32bit = 1,
				  .seg_not_present = !present, .useable = 1 };

	CHECK(syscall(SYS_modify_ldt, 0x11, &desc, sizeof(desc)) == 0);
}

static uint32_t read_through(unsigned selector, uint32_t offset)
{
	uint32_t value;

	asm volatile("mov %1, %%gs\n mov %%gs:(%q2), %0" : "=&r"(value) : "r"(selector), "r"((uint64_t)offset));
	return value;
}

static void with_ldt(uint32_t *low)
{
	unsigned selector = 5 * 8 + 7;
	uint16_t got;

	low[0] = 4711, low[3] = 4714;
	set_segment(5, low, 1);
	CHECK(read_through(selector, 0) == 4711);
	sched_yield();
	sleep_ms(1);
	asm volatile("mov %%gs, %0" : "=r"(got));
	CHECK(got == selector && read_through(selector, 12) == 4714);
	set_segment(5, low + 3, 1);
	CHECK(read_through(selector, 0) == 4714);
	if (!sigsetjmp(back, 1))
		read_through(6 * 8 + 7, 0);
	CHECK(seen == SIGSEGV);	/* no such entry */
	set_segment(6, low, 0);
	if (!sigsetjmp(back, 1))
		read_through(6 * 8 + 7, 0);
	CHECK(seen == SIGBUS);	/* not present */
	asm volatile("mov %0, %%gs" : : "r"(0));
}

static void with_slots(uint32_t *low)
{
	struct user_desc desc = { .entry_number = -1, .base_addr = (unsigned)(uintptr_t)low, .limit = 0xfff, .seg_32bit = 1, .useable = 1 };

	low[0] = 99;
	CHECK(syscall(SYS_set_thread_area, &desc) == 0 && desc.entry_number >= 12);
	CHECK(read_through(desc.entry_number * 8 + 3, 0) == 99);
	sched_yield();
	CHECK(read_through(desc.entry_number * 8 + 3, 0) == 99);
	asm volatile("mov %0, %%gs" : : "r"(0));
}

int main(void)
{
	char none[8];
	uint32_t *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	CHECK(low != MAP_FAILED);
	on_signal(SIGSEGV, on_fault, 0);
	on_signal(SIGBUS, on_fault, 0);
	if (syscall(SYS_modify_ldt, 0, none, sizeof(none)) >= 0)
		with_ldt(low);
	say("local descriptor table\n");
	if (syscall(SYS_set_thread_area, NULL) == -1 && errno == EFAULT)
		with_slots(low);
	say("slots of the thread\n");
	return 0;
}
