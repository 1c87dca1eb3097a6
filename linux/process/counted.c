// SPDX-License-Identifier: GPL-2.0
/*
 * Performance events of a hosted thread (perf_event_open(2)): whoever has any runs on
 * Linux, where they count. A core's counters are not Linux's to program, and what it
 * counts for the proxy is not the program's.
 *
 * Called by delegate/park.c before a thread is posted, and by the watch for who got events
 * while it computes. Any context.
 */
#include <linux/rcupdate.h>

#include "compat.h"
#include "process/process.h"
#include "tacet.h"

/* Whether @task has any, breakpoints of ptrace among them. What counts on a whole CPU is
 * not the task's. */
bool tacet_counted(struct task_struct *task)
{
	bool counted;

	rcu_read_lock();
	counted = tacet_perf_events(task);
	rcu_read_unlock();
	return counted;
}

/* A user may want to know why the program is not where it was sent. */
void tacet_counted_tell(struct tacet_hosted *hosted)
{
	if (!xchg(&hosted->process->counted_told, true))
		tacet_report(TACET_LOG_INFO,
			     "process %d (%s): runs on Linux while it has performance events, which count there",
			     current->tgid, current->comm);
}
