// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that are not hosted: which of their calls matter, so that the others cost them nothing.
 *
 * A stranger matters while it has the memory of a hosted process. All do while somebody else watches system
 * calls, since Linux sets the bit of base/probed.h for the first watcher alone, and while disks are granted,
 * since descriptors can be shared. membarrier() and ptrace() matter whoever makes them: the caller is
 * probed from the entry of such a call to its end. If Linux does not tell of these entries, everyone's calls
 * are probed for as long as something is hosted.
 *
 * Called by delegate/tracepoints.c with the control lock held, and by the probes.
 *
 * TRICK other tracers of calls: we hear where they ask for their probes, by Linux's function tracer.
 * BREAKS a kernel where one asks for it in another way.
 * NOTICED each second we look whether others watch; scenario `strangers.sh are_traced`.
 */
#include <linux/sched.h>
#include <linux/thread_info.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "base/probed.h"
#include "border/border.h"
#include "delegate/delegate.h"
#include "memory/memory.h"
#include "pico/linux/grants.h"
#include "pico/linux/probes.h"
#include "tacet.h"

#define LOOK (HZ)
/* Between asking for a probe and having it others wait for a mutex. */
#define SETTLED (2 * HZ)

static bool hears;	/* of others who ask, and of the calls that matter; control lock */

/* The tracepoints of calls, and our probes there. Written once, at the load. */
static struct {
	struct tracepoint *point;
	void *probe;
} calls[TACET_CALL_TRACEPOINTS];

/* At the load. */
void tacet_strangers_know(unsigned int which, struct tracepoint *point, void *probe)
{
	calls[which].point = point;
	calls[which].probe = probe;
}

/* Whether others watch the system calls too. */
bool tacet_tracepoints_shared(void)
{
	const struct tracepoint_func *functions;
	bool shared = false;
	unsigned int i;

	preempt_disable();
	for (i = 0; i < TACET_CALL_TRACEPOINTS; i++) {
		functions = rcu_dereference_raw(calls[i].point->funcs);
		shared |= functions && functions[0].func && functions[1].func;
	}
	preempt_enable();
	return shared;
}

/* Somebody is about to add @probe to @point. */
static void others_ask(unsigned long point, unsigned long probe)
{
	unsigned int i;

	for (i = 0; i < TACET_CALL_TRACEPOINTS; i++)
		if (point == (unsigned long)calls[i].point && probe != (unsigned long)calls[i].probe)
			tacet_probe_everyone();
}

/* The calling task has entered a call whose end matters. */
static void end_matters(unsigned long regs, unsigned long unused)
{
	tacet_probe_task(current);
}

static struct tacet_probe entries[] = {
	{ "tracepoint_probe_register", others_ask },
	{ "tracepoint_probe_register_prio", others_ask },
	{ "tracepoint_probe_register_prio_may_exist", others_ask },
	{ "__x64_sys_membarrier", end_matters },
	{ "__x64_sys_ptrace", end_matters },
	/* last: those of 32-bit programs */
	{ "__ia32_sys_membarrier", end_matters },
	{ "__ia32_compat_sys_ptrace", end_matters },
};
static struct tacet_probes probes = {
	.probes = entries,
	.count = ARRAY_SIZE(entries) - (IS_ENABLED(CONFIG_IA32_EMULATION) ? 0 : 2),
};

/* Of everyone's calls. */
static bool needed(void)
{
	return tacet_tracepoints_shared() || tacet_grants_any();
}

static void look(struct work_struct *work)
{
	if (!needed())
		tacet_probe_relax(SETTLED);
	if (!tacet_probes_everyone() && needed())
		tacet_probe_everyone();
	schedule_delayed_work(to_delayed_work(work), LOOK);
}
static DECLARE_DEFERRABLE_WORK(looks, look);

/* Before there are probes of calls: everyone's are seen. */
void tacet_strangers_listen(void)
{
	int error = tacet_probes_on(&probes);

	hears = !error;
	if (error)
		tacet_report(TACET_LOG_INFO,
			     "other tasks' calls get slower: this kernel does not tell of %s: error %d",
			     probes.missing, error);
}

/* The probes are on. */
void tacet_strangers_begin(void)
{
	if (hears)
		look(&looks.work);
}

/* Before the probes of calls are taken off: everyone's are seen. Sleeps. */
void tacet_strangers_end(void)
{
	if (!hears)
		return;
	cancel_delayed_work_sync(&looks);
	tacet_probe_everyone();
	tacet_probes_off(&probes);
	hears = false;
}

/* Linux alone does not have all of the memory. */
static bool shared_memory(struct mm_struct *mm)
{
	const struct tacet_range *range = tacet_range_find(mm);

	return tacet_space_find(mm) || (range && READ_ONCE(range->visibility) != TACET_RANGE_HANDED_OVER);
}

static bool matters(struct task_struct *task)
{
	struct mm_struct *mm = READ_ONCE(task->mm);

	return tacet_probes_everyone() || tacet_hosted_of(task) || (mm && shared_memory(mm));
}

/* The calling task, which is not hosted, has made a call. In an RCU read section. */
void tacet_strangers_after_call(void)
{
	if (matters(current))
		return;
	clear_syscall_work(SYSCALL_TRACEPOINT);
	/* Pairs with whoever makes the task matter, then sets its bit. */
	smp_mb();
	if (matters(current))
		tacet_probe_task(current);
}

/* @child has been made and has not run: its parent may not have mattered yet when it inherited. In an RCU
 * read section. */
void tacet_strangers_born(struct task_struct *child)
{
	if (matters(child))
		tacet_probe_task(child);
}
