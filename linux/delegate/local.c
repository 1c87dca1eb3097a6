// SPDX-License-Identifier: GPL-2.0
/*
 * What a core is told about a thread, so that it can answer calls itself. It may not if the
 * thread's calls are watched, filtered or redirected.
 *
 * Called by delegate/park.c in the thread's own context, before the thread is posted and when it
 * is back. Must never tell what can change before the thread is back on Linux, unless the change
 * recalls the thread.
 */
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/thread_info.h>

#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "memory/memory.h"
#include "process/process.h"
#include "tacet.h"

/* The thread's calls are to be seen on Linux: by seccomp, ptrace, audit, system-call user
 * dispatch, or a tracer of all system calls other than our own probes. */
bool tacet_looked_at(void)
{
	return READ_ONCE(current->ptrace) || tacet_tracepoints_shared() ||
	       READ_ONCE(current_thread_info()->syscall_work) & ~SYSCALL_WORK_SYSCALL_TRACEPOINT;
}

/* The core has answered nothing yet that Linux has to learn when the thread is back (tacet_local_take()). */
static void prepare_answers(struct tacet_context *context)
{
	context->robust_list_named = 0;
	if (READ_ONCE(context->signal_waits)) {
		WRITE_ONCE(context->signal_waits, 0);
		/* A signal that comes now is pending below, or tacet_on_signal_sent() marks it after this. */
		smp_mb();
	}
	WRITE_ONCE(context->signal_mask, current->blocked.sig[0]);
	if (!sigisemptyset(&current->pending.signal) || !sigisemptyset(&current->signal->shared_pending.signal))
		WRITE_ONCE(context->signal_waits, 1);
}

/* The thread is back: takes over what the core has answered without Linux. Before anything is done for the
 * thread. */
void tacet_local_take(const struct tacet_context *context)
{
	sigset_t mask = { .sig = { context->signal_mask } };

	BUILD_BUG_ON(_NSIG_WORDS != 1);
	if (mask.sig[0] != current->blocked.sig[0])
		sigprocmask(SIG_SETMASK, &mask, NULL);
	if (context->robust_list_named)
		*tacet_robust_list(current) = (struct robust_list_head __user *)context->robust_list;
}

/* Writes it into the thread's context, which is @looked_at. Sleeps after its process's first ring. */
void tacet_local_prepare(struct tacet_hosted *hosted, bool looked_at)
{
	struct tacet_context *context = hosted->context;
	struct tacet_space *space = hosted->space;
	bool futexes;

	context->profiled = !!hosted->process->profile;
	context->local = 0;
	/* Only compared. Other threads of the space may have other tables. */
	context->descriptors = (unsigned long)current->files;
	context->refusal = TACET_REFUSAL_NONE;
	prepare_answers(context);
	if (looked_at)
		return;
	/* It may sleep: what follows is told at once. */
	futexes = space->shared && !tacet_futexes_are_linuxs(space);
	if (!context->thread_id) {	/* a new thread, or a new program: tacet_on_exec() */
		context->process_id = task_tgid_vnr(current);
		context->thread_id = task_pid_vnr(current);
	}
	context->affinity_bytes = cpumask_size();
	context->affinity_least_bytes = DIV_ROUND_UP(nr_cpu_ids, BITS_PER_BYTE);
	memcpy(context->affinity, cpumask_bits(&hosted->place.cpus),
	       min_t(size_t, cpumask_size(), sizeof(context->affinity)));
	context->policy = tacet_policy_mine();
	context->nodes_allowed = tacet_nodes_allowed();
	context->local = TACET_LOCAL_CALLS;
	if (TACET_MREMAP_MOVES_SEVERAL)
		context->local |= TACET_LOCAL_MOVES_SEVERAL;
	if (tacet_clock_is_the_nodes())
		context->local |= TACET_LOCAL_SLEEPS;
	if (READ_ONCE(hosted->place.state) == TACET_THREAD_BOUND || cpumask_weight(&hosted->place.cpus) == 1)
		context->local |= TACET_LOCAL_STAYS;
	if (tacet_range_name(hosted))
		context->local |= TACET_LOCAL_MEMORY;
	if (!futexes)
		return;
	context->space = space->shared - tacet_partition.spaces;
	context->local |= TACET_LOCAL_FUTEXES;
}
