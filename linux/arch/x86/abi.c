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
#include "arch/x86/foreign.h"
#include "compat.h"

#define X32_BIT 0x40000000u	/* __X32_SYSCALL_BIT, which only kernels with x32 declare alike */

/* The 64-bit number of the call that Linux executes for SYSCALL with @ax. Linux ignores the
 * upper half of @ax. */
long tacet_call_number(unsigned long ax)
{
	u32 number = ax;

	return number & X32_BIT ? tacet_x32_call(number & ~X32_BIT) : (int)number;
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
	other->orig_ax = tacet_ia32_call(number);
	other->di = (u32)regs->bx;
	other->si = (u32)regs->cx;
	other->dx = (u32)regs->dx;
	other->r10 = (u32)regs->si;
	other->r8 = (u32)regs->di;
	other->r9 = (u32)regs->bp;
	return other;
}
