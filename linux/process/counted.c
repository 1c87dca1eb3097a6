// SPDX-License-Identifier: GPL-2.0
/*
 * Performance events of hosted threads (perf_event_open(2)). A thread that has any runs on
 * Linux, where they count: Linux cannot program a core's counters, and what it counts for the
 * proxy is not what the program does.
 *
 * Called by delegate/park.c before a thread is posted, and by the watch, since a thread may
 * get events while it is on a core. Any context.
 */
#include <linux/rcupdate.h>

#include "compat.h"
#include "process/process.h"
#include "tacet.h"

/* Whether @task has any. Breakpoints of ptrace are events too; those of a whole CPU are not
 * the task's. */
bool tacet_counted(struct task_struct *task)
{
	bool counted;

	rcu_read_lock();
	counted = tacet_perf_events(task);
	rcu_read_unlock();
	return counted;
}

/* Says once for each process why it is not on cores. The thread itself. */
void tacet_counted_tell(struct tacet_hosted *hosted)
{
	if (!xchg(&hosted->process->counted_told, true))
		tacet_report(TACET_LOG_INFO,
			     "process %d (%s): runs on Linux while it has performance events, which count there",
			     current->tgid, current->comm);
}
