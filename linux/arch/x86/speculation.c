// SPDX-License-Identifier: GPL-2.0
/*
 * What Linux has decided about the processor's speculation, as a core needs it: which measures
 * between users the processor can take, and each thread's IA32_SPEC_CTRL (SDM vol. 4).
 *
 * Linux keeps in that register the bits that it wants for everybody, and adds two for a task
 * that asked for them or got them with a seccomp filter: SSBD and STIBP
 * (PR_SET_SPECULATION_CTRL). The flags of the task say so: Linux's own __switch_to() makes the
 * register from them in the same way.
 */
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/thread_info.h>
#include <asm/cpufeature.h>
#include <asm/msr.h>

#include "arch/arch.h"
#include "compat.h"
#include "tacet.h"

static u64 base;	/* what Linux wants for everybody; written before the cores start */

/* Of @wanted, what the processor can do. */
u32 tacet_arch_measures(u32 wanted)
{
	if (!boot_cpu_has(X86_FEATURE_IBPB))
		wanted &= ~TACET_MEASURE_PREDICTORS;
	if (!boot_cpu_has(X86_FEATURE_FLUSH_L1D))
		wanted &= ~TACET_MEASURE_L1D;
	return wanted;
}

/* Linux has a task's SSBD in IA32_SPEC_CTRL, not in a register of certain AMD processors. */
static bool ssbd_in_spec_ctrl(void)
{
	return !boot_cpu_has(X86_FEATURE_VIRT_SSBD) && !boot_cpu_has(X86_FEATURE_LS_CFG_SSBD) &&
	       (boot_cpu_has(X86_FEATURE_SPEC_CTRL_SSBD) || boot_cpu_has(X86_FEATURE_AMD_SSBD));
}

/* What the flags of a task add. */
static u64 added(unsigned long flags)
{
	u64 bits = 0;

	if (flags & _TIF_SSBD && ssbd_in_spec_ctrl())
		bits |= SPEC_CTRL_SSBD;
	if (flags & _TIF_SPEC_IB && boot_cpu_has(X86_FEATURE_STIBP))
		bits |= SPEC_CTRL_STIBP;
	return bits;
}

/* Learns the register's value for everybody, from that of the calling thread. 0: there is no
 * such register. */
u64 tacet_speculation_learn(void)
{
	unsigned long flags = read_thread_flags();

	base = 0;
	if (!boot_cpu_has(X86_FEATURE_MSR_SPEC_CTRL))
		return 0;
	rdmsrq(MSR_IA32_SPEC_CTRL, base);
	base &= ~added(flags);
	/* Without enhanced IBRS the bit is for kernel mode only. */
	if (!boot_cpu_has(X86_FEATURE_IBRS_ENHANCED))
		base &= ~SPEC_CTRL_IBRS;
	return base;
}

/* The calling thread's value. */
u64 tacet_state_spec_ctrl(void)
{
	return base | added(read_thread_flags());
}

/* The calling thread asked that no other program trains its branch predictions. */
bool tacet_state_apart(void)
{
	return read_thread_flags() & _TIF_SPEC_IB;
}

/* The number that Linux gives to each program's memory, and to no second one: it decides by it
 * whether it clears branch predictors. Not 0, and far from 2^63. */
u64 tacet_state_program(void)
{
	return current->mm->context.ctx_id;
}

/* A core can give the calling thread what it asked for. */
bool tacet_speculation_hostable(void)
{
	unsigned long flags = read_thread_flags();

	if (flags & _TIF_SPEC_L1D_FLUSH)
		return false;
	return !(flags & _TIF_SSBD) || ssbd_in_spec_ctrl();
}
