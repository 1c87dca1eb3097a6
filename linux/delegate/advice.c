// SPDX-License-Identifier: GPL-2.0
/*
 * MADV_DONTNEED in a program whose memory we have locked (delegate/populate.c). Linux refuses
 * it on locked memory; allocators and language runtimes depend on it. So it becomes
 * MADV_DONTNEED_LOCKED, which is the same without the refusal.
 *
 * Called by delegate/calls.c around each call of a hosted thread: after tracers and
 * seccomp filters have seen the call, before Linux reads its arguments.
 */
#include <linux/mman.h>

#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "tacet.h"

/* The call is madvise(), of any ABI: all have the advice in the same register. RCU read section: the thread may be recoupled meanwhile. */
void tacet_advice_before_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	const struct tacet_space *space = READ_ONCE(hosted->space);

	if ((u32)regs->dx != MADV_DONTNEED || hosted->space_mm != current->mm || !space ||
	    !READ_ONCE(space->locked))
		return;
	hosted->call.advice_asked = regs->dx;
	regs->dx = MADV_DONTNEED_LOCKED;
	WRITE_ONCE(hosted->call.advice_given, MADV_DONTNEED_LOCKED);
}

/* The call is done: the program sees the argument that it passed. */
void tacet_advice_after_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	if (!hosted->call.advice_given)
		return;
	WRITE_ONCE(hosted->call.advice_given, 0);
	if (regs->dx == MADV_DONTNEED_LOCKED)
		regs->dx = hosted->call.advice_asked;
}
