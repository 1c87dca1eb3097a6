// SPDX-License-Identifier: GPL-2.0
/*
 * A process is about to leave a core file. Its range is handed over first, so that the file
 * has all of its memory (memory/handover.c). Linux leaves the range's mapping out of core
 * files, because a dump looks at every page, and most pages were never touched.
 *
 * Called by delegate/park.c in the thread's own context. Linux handles the signal itself.
 */
#include <linux/resource.h>
#include <linux/sched/signal.h>
#include <asm/trapnr.h>

#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

/* The signal may cause a dump: its action is the default and the limit is not 0. */
static bool dumps(int signal)
{
	lockdep_assert_held(&current->sighand->siglock);
	return sig_kernel_coredump(signal) && rlimit(RLIMIT_CORE) &&
	       current->sighand->action[signal - 1].sa.sa_handler == SIG_DFL;
}

/* A signal that may cause a dump is pending and not blocked. */
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

/* Linux may deliver signals next. Sleeps. */
void tacet_range_before_signals(void)
{
	if (tacet_range_count() && signal_pending(current) && dump_pending())
		tacet_handover_mine("for a core file");
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

/* Linux raises the thread's exception @vector next. Sleeps. */
void tacet_range_before_exception(unsigned int vector)
{
	bool found;

	if (!tacet_range_count())
		return;
	spin_lock_irq(&current->sighand->siglock);
	found = dumps(signal_of(vector));
	spin_unlock_irq(&current->sighand->siglock);
	if (found)
		tacet_handover_mine("for a core file");
}
