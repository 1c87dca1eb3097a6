// SPDX-License-Identifier: GPL-2.0
/*
 * The sleep of a proxy whose thread is on a core, and what Linux shows of it meanwhile.
 *
 * Programs, ps(1) and schedulers of jobs read in /proc/PID/stat whether a thread computes (R)
 * or waits (S), and wait until it waits. So a proxy sleeps in one of two states:
 *
 *	TASK_INTERRUPTIBLE	shown as S: the thread waits in a call that its core serves
 *	TASK_WAKEKILL		shown as R: it computes. Linux reports no bit of this state
 *
 * In the second one fatal signals wake it, as ever, but other signals do not: Linux wakes
 * only what sleeps interruptibly. Then tacet_on_signal_sent() does, a probe that Linux calls
 * when the signal is pending already. What makes a task leave user mode in the same way
 * without a signal (a group stop, ptrace, freezers, a signal that another thread has blocked)
 * is found by the watch, at once where we know of it (tacet_watch_hurry()), else at its next
 * look. io_uring has tasks do its work in that way, as often as it likes: a program with
 * rings is never shown as computing.
 *
 * The watch also wakes a proxy whose thread computes, about once a second of its time, for the account of
 * its control group. The core notices nothing of that.
 *
 * Called by delegate/park.c in the thread's own context, and by Linux.
 *
 * TRICK a sleep that Linux shows as computing: a proxy whose thread computes sleeps in TASK_WAKEKILL
 * alone, of which Linux reports no bit.
 * BREAKS a kernel that reports that state, or wakes other sleepers for it.
 * NOTICED `tests/user/asleep.c`, at each test of a kernel.
 */
#include <linux/sched/signal.h>

#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "process/process.h"
#include "tacet.h"

static bool over(const struct tacet_hosted *hosted)
{
	return smp_load_acquire(&hosted->context->state) == TACET_CONTEXT_RETURNED ||
	       READ_ONCE(tacet_partition.failed) || atomic_read(&hosted->wanted);
}

static bool shown_as_waiting(const struct tacet_hosted *hosted)
{
	return READ_ONCE(hosted->proxy.waits) || tacet_has_rings(current);
}

/* Only here, on a CPU of Linux in the thread's own context, its control group can be charged. */
static void sleep_and_charge(struct tacet_hosted *hosted)
{
	schedule();
	if (tacet_owes_group(hosted))
		tacet_charge(hosted);
}

static bool over_or_signal(const struct tacet_hosted *hosted)
{
	return over(hosted) || signal_pending(current);
}

/* Waits until the context is back, the cores have failed, others want something of the
 * thread, or a signal is pending; sleeps, unless that is soon. */
void tacet_sleep_parked(struct tacet_hosted *hosted)
{
	tacet_halt_in_place(hosted, over_or_signal);
	while (!over(hosted) && !signal_pending(current)) {
		/* The conditions are looked at after the state is set: no waker is missed. */
		if (shown_as_waiting(hosted))
			(void)___wait_event(hosted->wait, over(hosted) || !shown_as_waiting(hosted),
					    TASK_INTERRUPTIBLE, 0, 0, sleep_and_charge(hosted));
		else
			(void)___wait_event(hosted->wait, over(hosted) || signal_pending(current) ||
					    shown_as_waiting(hosted), TASK_WAKEKILL, 0, 0,
					    sleep_and_charge(hosted));
	}
}

/*
 * A signal that the thread has blocked, as far as Linux knows, may be pending now. If the thread has opened signals on
 * its core meanwhile it comes back and takes the signal; if not, its core leaves that to Linux from now on.
 */
static void note_signal(struct tacet_hosted *hosted)
{
	struct tacet_context *context = hosted->context;

	WRITE_ONCE(context->signal_waits, 1);
	/* The core writes the mask, then looks at that. */
	smp_mb();
	if (READ_ONCE(context->state) == TACET_CONTEXT_POSTED &&
	    READ_ONCE(context->signal_mask) != hosted->task->blocked.sig[0])
		tacet_want(hosted, TACET_WANT_RETURN);
}

static void wake_signalled(struct tacet_hosted *hosted)
{
	tacet_hosted_wake(hosted);
	/* It is in a burst of calls: before Linux acts on the signal it parks, and its range is ready for a core file. */
	if (READ_ONCE(hosted->burst.holds))
		tacet_arm(hosted);
}

/* @on_cores: threads of its process have been on cores. */
static void signal_came(struct task_struct *task, bool on_cores)
{
	bool takes = signal_pending(task);
	struct tacet_hosted *hosted = on_cores || takes ? tacet_hosted_of(task) : NULL;

	if (!hosted)
		return;
	note_signal(hosted);
	if (takes)
		wake_signalled(hosted);
}

/*
 * A signal has been sent to @task, or to its whole process: then Linux has chosen a thread,
 * and marked that. With the signal lock held, which nobody takes under a wait queue's lock.
 */
void tacet_on_signal_sent(void *data, int signal, struct kernel_siginfo *info, struct task_struct *task,
			  int group, int result)
{
	struct task_struct *thread;
	struct mm_struct *mm = READ_ONCE(task->mm);
	bool on_cores;

	rcu_read_lock();
	on_cores = mm && tacet_space_find(mm);
	if (group)
		for_each_thread(task, thread)
			signal_came(thread, on_cores);
	else
		signal_came(task, on_cores);
	rcu_read_unlock();
}
