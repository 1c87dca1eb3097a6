// SPDX-License-Identifier: GPL-2.0
/*
 * Which system call it is. The number alone does not say: a 64-bit program can make calls of
 * two other ABIs, whose numbers and registers differ. All code of the module that judges a
 * call asks here first.
 *
 *	x32	SYSCALL with a bit in the number; most numbers and all registers as usual
 *	ia32	INT 0x80 or SYSENTER; numbers and registers of its own
 *
 * Any context.
 */
#include <asm/ptrace.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "arch/arch.h"
#include "compat.h"

#define X32_BIT 0x40000000u	/* __X32_SYSCALL_BIT, which only kernels with x32 declare alike */
#define X32_OWN 512		/* from here on x32 has numbers of its own */
#define X32_PTRACE 521
#define X32_MOVE_PAGES 533
#define SAME_FROM 424		/* from here on ia32 has the same numbers */

/* The 64-bit number of the call that Linux executes for SYSCALL with @ax. Linux ignores the
 * upper half of @ax. */
long tacet_call_number(unsigned long ax)
{
	u32 number = ax;

	if (number == (X32_BIT | X32_PTRACE))
		return __NR_ptrace;
	if (number == (X32_BIT | X32_MOVE_PAGES))
		return __NR_move_pages;
	return (int)((number ^ X32_BIT) < X32_OWN ? number ^ X32_BIT : number);
}

/* The 64-bit number of an ia32 call; -1: one that nobody here asks about. */
static long ia32_number(unsigned int number)
{
	switch (number) {
	case 1:
		return __NR_exit;
	case 5:
		return __NR_open;
	case 295:
		return __NR_openat;
	case 26:
		return __NR_ptrace;
	case 219:
		return __NR_madvise;
	case 240:
	case 422:	/* with times of 64 bits */
		return __NR_futex;
	case 241:
		return __NR_sched_setaffinity;
	case 242:
		return __NR_sched_getaffinity;
	case 318:
		return __NR_getcpu;
	case 354:
		return __NR_seccomp;
	case 375:
		return __NR_membarrier;
	}
	return number >= SAME_FROM ? number : -1;
}

/* The call number @number that the calling task makes, with @regs, as a 64-bit program makes
 * it: @regs themselves, or @other, filled. */
struct pt_regs *tacet_call_as_64_bit(struct pt_regs *regs, long number, struct pt_regs *other)
{
	if (!in_ia32_syscall()) {
		long same = tacet_call_number(number);

		if (likely(regs->orig_ax == same))
			return regs;
		*other = *regs;
		other->orig_ax = same;
		return other;
	}
	*other = *regs;
	other->orig_ax = ia32_number(number);
	other->di = (u32)regs->bx;
	other->si = (u32)regs->cx;
	other->dx = (u32)regs->dx;
	other->r10 = (u32)regs->si;
	other->r8 = (u32)regs->di;
	other->r9 = (u32)regs->bp;
	return other;
}
