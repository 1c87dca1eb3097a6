// SPDX-License-Identifier: GPL-2.0
/*
 * A process that is about to leave a core file: its range becomes Linux's first, so
 * that the file has all of its memory (memory/handover.c). Linux leaves the range's mapping
 * out of core files: most of it was never touched, and a dump looks at every page.
 *
 * Called by delegate/park.c in the thread's own context. The signal itself stays Linux's.
 */
#include <linux/resource.h>
#include <linux/sched/signal.h>
#include <asm/trapnr.h>

#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

/* Under the lock of the signal handlers. Without a limit of 0 a dump may follow. */
static bool dumps(int signal)
{
	return sig_kernel_coredump(signal) && rlimit(RLIMIT_CORE) &&
	       current->sighand->action[signal - 1].sa.sa_handler == SIG_DFL;
}

/* A signal that dumps is pending and may be taken. */
static bool dump_pending(void)
{
	sigset_t pending;
	bool found = false;
	int signal;

	spin_lock_irq(&current->sighand->siglock);
	sigorsets(&pending, &current->pending.signal, &current->signal->shared_pending.signal);
	sigandnsets(&pending, &pending, &current->blocked);
	for (signal = 1; signal < SIGRTMIN && !found; signal++)
		found = sigismember(&pending, signal) && dumps(signal);
	spin_unlock_irq(&current->sighand->siglock);
	return found;
}

/* Signals may be taken next. Sleeps. */
void tacet_range_before_signals(void)
{
	if (tacet_range_count() && signal_pending(current) && dump_pending())
		tacet_handover_mine();
}

static int signal_of(unsigned int vector)
{
	switch (vector) {
	case X86_TRAP_DE:
	case X86_TRAP_MF:
	case X86_TRAP_XF:
		return SIGFPE;
	case X86_TRAP_UD:
		return SIGILL;
	case X86_TRAP_DB:
	case X86_TRAP_BP:
		return SIGTRAP;
	case X86_TRAP_AC:
		return SIGBUS;
	}
	return SIGSEGV;
}

/* Linux raises the exception @vector of the thread next. Sleeps. */
void tacet_range_before_exception(unsigned int vector)
{
	bool found;

	if (!tacet_range_count())
		return;
	spin_lock_irq(&current->sighand->siglock);
	found = dumps(signal_of(vector));
	spin_unlock_irq(&current->sighand->siglock);
	if (found)
		tacet_handover_mine();
}
