// SPDX-License-Identifier: GPL-2.0
/*
 * Moves the state of a thread between its Linux task and a context: registers, segment
 * bases, protection keys, extended state.
 *
 * Called by delegate/ in the thread's own context, at the boundary to user mode, where
 * task_pt_regs() is exactly what user mode will see.
 *
 * TRICK registers of a task by hand: segments, bases, PKRU and the extended state of the calling task
 * are read and written as a context switch does.
 * BREAKS a kernel that keeps one of them in another place.
 * NOTICED `static_assert`s on `pt_regs`; `tests/user/registers.c`, `xstate.c`, `fsgs.c`, `pkeys.c`.
 */
#include <linux/hw_breakpoint.h>
#include <asm/fpu/api.h>
#include <asm/fpu/xstate.h>
#include <asm/pkru.h>
#include <asm/prctl.h>
#include <asm/ptrace.h>
#include <asm/segment.h>
#include <asm/trapnr.h>

#include "arch/arch.h"
#include "compat.h"
#include "tacet.h"

#define GENERAL_BYTES offsetof(struct pt_regs, orig_ax)
static_assert(GENERAL_BYTES == offsetof(struct tacet_registers, vector));

/* Processor settings of a thread, by prctl(2), that a core does not make. */
#define OWN_PROCESSOR_SETTINGS (_TIF_NOTSC | _TIF_NOCPUID)

static void read_selectors(u16 *ds, u16 *es, u16 *fs, u16 *gs)
{
	savesegment(ds, *ds);
	savesegment(es, *es);
	savesegment(fs, *fs);
	savesegment(gs, *gs);
}

/* Both kernels' tables have the segment: it is no local descriptor. */
static bool common_segment(u16 selector)
{
	return !selector || selector == __USER_DS;
}

static bool common_segments(void)
{
	u16 ds, es, fs, gs;

	read_selectors(&ds, &es, &fs, &gs);
	return common_segment(ds) && common_segment(es) && common_segment(fs) && common_segment(gs);
}

static bool has_breakpoints(void)
{
#ifdef CONFIG_HAVE_HW_BREAKPOINT
	int i;

	for (i = 0; i < HBP_NUM; i++)
		if (current->thread.ptrace_bps[i])
			return true;
#endif
	return false;
}

/* A core can run the calling thread from @regs on: ordinary 64-bit code without
 * single-stepping, debug registers or local segments. */
bool tacet_state_hostable(struct pt_regs *regs)
{
	if (regs->cs != __USER_CS || regs->ss != __USER_DS)
		return false;
	if (regs->flags & X86_EFLAGS_TF || regs->flags & X86_EFLAGS_VM)
		return false;
	if (regs->ip >= TASK_SIZE_MAX || test_thread_flag(TIF_SINGLESTEP))
		return false;
	if (read_thread_flags() & OWN_PROCESSOR_SETTINGS || !tacet_speculation_hostable())
		return false;
	if (tacet_fpu(current)->fpstate->size > TACET_XSTATE_BYTES)
		return false;
	return common_segments() && !has_breakpoints();
}

static struct fpstate *settle_xstate(void)
{
	struct fpu *fpu = tacet_fpu(current);

	/* Writes the registers to memory; they are no longer valid on any CPU. */
	kernel_fpu_begin();
	kernel_fpu_end();
	fpu->last_cpu = -1;
	return fpu->fpstate;
}

static u32 protection_keys(void)
{
	return boot_cpu_has(X86_FEATURE_OSPKE) ? rdpkru() : 0;
}

/* Writes @context from the current thread: the registers on which a call depends. False: the protection keys are
 * others than @context had. */
bool tacet_state_save(struct tacet_context *context, struct pt_regs *regs)
{
	struct tacet_registers *to = &context->registers;
	u32 pkru = protection_keys();
	bool same = pkru == context->pkru;

	unsafe_memcpy(to, regs, GENERAL_BYTES, /* r15 to rdi: the same order */);
	to->vector = 0;
	to->error = 0;
	to->rip = regs->ip;
	to->cs = regs->cs;
	to->rflags = (regs->flags | X86_EFLAGS_IF | X86_EFLAGS_FIXED) & ~X86_EFLAGS_NT;
	to->rsp = regs->sp;
	to->ss = regs->ss;
	context->pkru = pkru;
	context->spec_ctrl = tacet_state_spec_ctrl();
	return same;
}

/* Writes the rest of @context from the current thread: extended state, segments and their bases. */
void tacet_state_give(struct tacet_context *context)
{
	struct fpstate *fpstate = settle_xstate();

	unsafe_memcpy(context->xstate, &fpstate->regs.xsave, fpstate->size, /* a flexible tail */);
	context->xstate_save_mask = fpstate->xfeatures;
	/* All that the core has: what this thread may not use must not stay the last one's. */
	context->xstate_restore_mask = ~(u64)XFEATURE_MASK_PKRU;
	context->xfd = fpstate->xfd;

	preempt_disable();
	read_selectors(&context->ds, &context->es, &context->fs, &context->gs);
	rdmsrq(MSR_FS_BASE, context->fs_base);
	rdmsrq(MSR_KERNEL_GS_BASE, context->gs_base);
	preempt_enable();
}

/* A selector that cannot be loaded becomes the null selector. */
static void load_selectors(const struct tacet_context *context)
{
	loadsegment(ds, context->ds);
	loadsegment(es, context->es);
	loadsegment(fs, context->fs);
	load_gs_index(context->gs);
	current->thread.ds = context->ds;
	current->thread.es = context->es;
	current->thread.fsindex = context->fs;
	current->thread.gsindex = context->gs;
}

/* Writes the current thread from @context: what _save() has written. A program chose the values. */
void tacet_state_load(const struct tacet_context *context, struct pt_regs *regs)
{
	const struct tacet_registers *from = &context->registers;

	unsafe_memcpy(regs, from, GENERAL_BYTES, /* r15 to rdi: the same order */);
	regs->orig_ax = -1;
	regs->ip = from->rip;
	regs->flags = from->rflags;
	regs->sp = from->rsp;
	if (protection_keys() != context->pkru)
		wrpkru(context->pkru);
}

/* Writes the rest of the current thread from @context. Any context of the thread, also with interrupts off. */
void tacet_state_take(const struct tacet_context *context)
{
	struct fpu *fpu = tacet_fpu(current);
	struct fpstate *fpstate = fpu->fpstate;

	/* The processor's copy is old: Linux neither saves nor uses it any more. */
	preempt_disable();
	set_thread_flag(TIF_NEED_FPU_LOAD);
	fpu->last_cpu = -1;
	preempt_enable();
	unsafe_memcpy(&fpstate->regs.xsave, context->xstate, fpstate->size, /* a flexible tail */);

	preempt_disable();
	load_selectors(context);
	wrmsrq(MSR_FS_BASE, context->fs_base);
	wrmsrq(MSR_KERNEL_GS_BASE, context->gs_base);
	current->thread.fsbase = context->fs_base;
	current->thread.gsbase = context->gs_base;
	preempt_enable();
}

/* Makes the task execute the program's SYSCALL instruction itself, on Linux. */
void tacet_state_repeat_call(struct pt_regs *regs)
{
	regs->ip -= 2;
	/* SYSCALL overwrites both. With equal values Linux can return by SYSRET. */
	regs->cx = regs->ip;
	regs->r11 = regs->flags;
}

/* After a trap, goes back to the instruction before @regs->ip. A fault reports the
 * instruction itself. */
void tacet_state_repeat_exception(struct pt_regs *regs, u64 vector)
{
	u8 previous;

	if (vector != X86_TRAP_DB && vector != X86_TRAP_BP && vector != X86_TRAP_OF)
		return;
	if (get_user(previous, (u8 __user *)(regs->ip - 1)))
		return;
	if (vector == X86_TRAP_BP && previous == 0xcc)
		regs->ip -= 1;		/* INT3 */
	else if (vector == X86_TRAP_DB && previous == 0xf1)
		regs->ip -= 1;		/* INT1 */
	else if (vector != X86_TRAP_DB)
		regs->ip -= 2;		/* INT 3, INT 4 */
}
