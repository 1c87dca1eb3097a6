// SPDX-License-Identifier: GPL-2.0
/*
 * What a core is told with a thread so that it can answer calls itself, and when
 * it may: not for a thread whose calls somebody watches, filters or redirects.
 *
 * Called by delegate.c in the thread's own context, before it is posted. Must
 * never tell what could change before the thread is back on Linux, unless the
 * change calls the thread back.
 */
#include <linux/pid.h>
#include <linux/thread_info.h>

#include "compat.h"
#include "tacet.h"

/* Seccomp, ptrace, audit, system-call user dispatch. Our own probes aside. */
static bool looked_at(void)
{
	return READ_ONCE(current->ptrace) ||
	       READ_ONCE(current_thread_info()->syscall_work) & ~SYSCALL_WORK_SYSCALL_TRACEPOINT;
}

void tacet_local_prepare(struct tacet_hosted *hosted)
{
	struct tacet_context *context = hosted->context;
	struct tacet_space *space = hosted->space;

	context->local = 0;
	/* Who traces all system calls is to see those of hosted threads too. */
	if (looked_at() || tacet_births_shared())
		return;
	context->process_id = task_tgid_vnr(current);
	context->thread_id = task_pid_vnr(current);
	context->affinity_bytes = cpumask_size();
	context->affinity_least_bytes = DIV_ROUND_UP(nr_cpu_ids, BITS_PER_BYTE);
	memcpy(context->affinity, cpumask_bits(&hosted->cpus),
	       min_t(size_t, cpumask_size(), sizeof(context->affinity)));
	context->local = TACET_LOCAL_CALLS;
	if (!space->shared)
		return;
	context->space = space->shared - tacet_partition.spaces;
	context->local |= TACET_LOCAL_FUTEXES;
}
