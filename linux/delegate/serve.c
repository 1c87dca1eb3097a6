// SPDX-License-Identifier: GPL-2.0
/*
 * Why a core gave a thread back, and what its proxy does about it: calls, faults,
 * exceptions, interrupted waits.
 *
 * Called by delegate/park.c in the thread's own context, which is about to return to user
 * mode. Sleeps.
 */
#include <linux/errno.h>
#include <linux/sched/signal.h>
#include <asm/trapnr.h>
#include <asm/unistd.h>

#include "arch/arch.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "delegate/kinds.h"
#include "memory/memory.h"
#include "pico/linux/grants.h"
#include "process/process.h"
#include "tacet.h"

#define SAME_FAULT_LIMIT 16

/* A page fault. */
static enum tacet_outcome serve_fault(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	struct tacet_context *context = hosted->context;
	u64 address = context->fault_address;

	if (signal_pending(current))
		return TACET_OUTCOME_SOON;
	/* Again and again, though Linux finds nothing wrong: the task executes it itself. */
	if (address == hosted->proxy.fault_address && regs->ip == hosted->proxy.fault_ip) {
		if (++hosted->proxy.fault_repeats > SAME_FAULT_LIMIT)
			return TACET_OUTCOME_SOON;
	} else {
		hosted->proxy.fault_address = address;
		hosted->proxy.fault_ip = regs->ip;
		hosted->proxy.fault_repeats = 0;
	}
	if (tacet_fault(hosted, address, context->registers.error)) {
		hosted->proxy.fault_repeats = 0;	/* the next one may be resolved */
		tacet_range_before_exception(X86_TRAP_PF);
		return TACET_OUTCOME_SOON;
	}
	tacet_rseq_abort(regs);
	return TACET_OUTCOME_AGAIN;
}

/*
 * The thread was recalled from a wait on the core: its call continues here. If that was for a
 * signal, the registers are left as after an interrupted wait on Linux, so that Linux ends or
 * restarts it. Else a wait for a futex without a time limit ends: a waker may have looked since the core
 * let go of the thread, and found nobody. Every program expects wake-ups without a reason (futex(2)).
 * A core with other work hands each wait with a limit to Linux, which waits on: ended here, such waits
 * would be loops. A waker who comes just then is lost, and the wait ends with its limit.
 */
static enum tacet_outcome serve_wait(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	bool futex = tacet_call_number(regs->ax) == __NR_futex;
	/* A wait until a time: it is not restarted after a handler. */
	bool timed = !futex || regs->r10;

	if (tacet_sleeps_for_a_time(regs)) {
		tacet_sleep_out(hosted->context->sleep_left_ns);
		regs->ax = 0;
		return TACET_OUTCOME_AGAIN;
	}
	if (signal_pending(current)) {
		regs->orig_ax = regs->ax;
		regs->ax = timed ? -ERESTARTNOHAND : -ERESTARTSYS;
		return TACET_OUTCOME_LINUX;
	}
	if (!timed) {
		regs->ax = 0;
		return TACET_OUTCOME_AGAIN;
	}
	tacet_state_repeat_call(regs);
	tacet_call_forwarded(hosted);
	return TACET_OUTCOME_LINUX;
}

/* The task is about to make the call that its core has handed over. */
static enum tacet_outcome serve_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	long number = tacet_call_number(regs->ax);

	switch (tacet_range_before_call(hosted, regs, !tacet_call_is_simple(number))) {
	case TACET_SERVED_BY_CORE:
		tacet_state_repeat_call(regs);
		fallthrough;
	case TACET_SERVED:
		return TACET_OUTCOME_AGAIN;
	case TACET_SERVED_BY_LINUX:
		break;
	}
	if (!(hosted->process->flags & TACET_HOST_NO_PICO))
		tacet_grant_ask(hosted->space, regs);
	tacet_state_repeat_call(regs);
	tacet_call_forwarded(hosted);
	tacet_lazy_asked(hosted, number);
	return TACET_OUTCOME_LINUX;
}

/* The core gave the thread back, and the task has its registers: serves the reason. */
enum tacet_outcome tacet_serve_event(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	struct tacet_context *context = hosted->context;

	if (hosted->space->range)
		tacet_range_account(hosted->space->range);
	switch (context->event) {
	case TACET_EVENT_SYSCALL:
		return serve_call(hosted, regs);
	case TACET_EVENT_WAITED:
		return serve_wait(hosted, regs);
	case TACET_EVENT_EXCEPTION:
		if (context->registers.vector == X86_TRAP_PF)
			return serve_fault(hosted, regs);
		if (context->registers.vector == X86_TRAP_MC) {
			tacet_bad_used(context->registers.error);
			return TACET_OUTCOME_SOON;
		}
		tacet_range_before_exception(context->registers.vector);
		tacet_state_repeat_exception(regs, context->registers.vector);
		return TACET_OUTCOME_SOON;
	default:
		tacet_rseq_abort(regs);
		return TACET_OUTCOME_AGAIN;
	}
}
