// SPDX-License-Identifier: GPL-2.0
/*
 * A program whose memory we have locked (fault.c: tacet_populate) may still give
 * pages back as it does when nobody locks them: its MADV_DONTNEED, which Linux
 * refuses on locked memory, becomes MADV_DONTNEED_LOCKED, the same without that
 * refusal. Allocators and language runtimes depend on it.
 *
 * Called by delegate.c in the thread's own context, before Linux executes the
 * call; undone at the call's end by births.c. Programs with a seccomp filter
 * are left alone: the filter may look at the argument.
 */
#include <linux/mman.h>
#include <linux/seccomp.h>
#include <asm/unistd.h>

#include "compat.h"
#include "tacet.h"

/* regs->ax is the number of the call that Linux is about to execute. */
void tacet_advice_before_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	if (regs->ax != __NR_madvise || (u32)regs->dx != MADV_DONTNEED ||
	    !READ_ONCE(hosted->space->locked) || seccomp_mode(&current->seccomp))
		return;
	hosted->advised = regs->dx;
	regs->dx = MADV_DONTNEED_LOCKED;
	hosted->advice_replaced = true;
}

/* The call is done: its argument is again what the program passed. */
void tacet_advice_after_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	if (!hosted->advice_replaced)
		return;
	hosted->advice_replaced = false;
	if (regs->dx == MADV_DONTNEED_LOCKED)
		regs->dx = hosted->advised;
}
