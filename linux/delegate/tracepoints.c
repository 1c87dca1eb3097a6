// SPDX-License-Identifier: GPL-2.0
/*
 * The tracepoints through which hosted threads are seen on Linux.
 *
 * Probes are on only while something is hosted. Those on system calls put a task's calls on
 * Linux's slower path, so tasks that do not matter do without (delegate/strangers.c). They
 * run in the task's context and may not sleep.
 *
 * TRICK tracepoints as hooks: calls, signals, births and deaths of tasks are seen by probes of
 * tracepoints, which the module finds by name.
 * BREAKS a tracepoint that is gone, takes other arguments or is called elsewhere; a tracer beside ours
 * sees calls that a core has spoilt.
 * NOTICED the load is refused if one is missing; nothing is hosted if one takes no probe;
 * `tacet_tracepoints_shared()`.
 */
#include <linux/tracepoint.h>

#include "compat.h"
#include "delegate/delegate.h"
#include "tacet.h"

static bool enabled;	/* control lock */

/* The first two are the calls'. */
static struct tracepoint_probe {
	const char *name;
	void *probe;
	struct tracepoint *point;
} probes[] = {
	{ "sys_enter", tacet_on_call_enter },
	{ "sys_exit", tacet_on_call_exit },
	{ "signal_generate", tacet_on_signal_sent },
	{ "signal_deliver", tacet_on_signal },
	{ "sched_process_fork", tacet_on_fork },
	{ "sched_process_exec", tacet_on_exec },
	{ "sched_process_exit", TACET_EXIT_HAS_GROUP ? (void *)tacet_on_exit_group : (void *)tacet_on_exit },
};

static void find(struct tracepoint *point, void *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (!strcmp(point->name, probes[i].name))
			probes[i].point = point;
}

/* -ENOENT, with a message, if the kernel lacks one of the tracepoints. */
int tacet_tracepoints_init(void)
{
	unsigned int i;

	for_each_kernel_tracepoint(find, NULL);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (probes[i].point)
			continue;
		pr_err("tacet: this kernel has no tracepoint %s\n", probes[i].name);
		return -ENOENT;
	}
	for (i = 0; i < TACET_CALL_TRACEPOINTS; i++)
		tacet_strangers_know(i, probes[i].point, probes[i].probe);
	return 0;
}

/* Takes the first @count probes off. */
static void take_off(unsigned int count)
{
	while (count--)
		tracepoint_probe_unregister(probes[count].point, probes[count].probe, NULL);
	tracepoint_synchronize_unregister();
}

/*
 * Before the first thread is hosted. An error: nothing may be hosted, since its calls, its
 * signals or its end would not be seen. Sleeps.
 */
int tacet_tracepoints_on(void)
{
	unsigned int i;
	int error;

	lockdep_assert_held(&tacet_control_lock);
	if (enabled)
		return 0;
	tacet_strangers_listen();
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		error = tracepoint_probe_register(probes[i].point, probes[i].probe, NULL);
		if (!error)
			continue;
		tacet_strangers_end();
		take_off(i);
		tacet_report(TACET_LOG_WARNING, "nothing can be hosted: tracepoint %s takes no probe: error %d",
			     probes[i].name, error);
		return error;
	}
	enabled = true;
	tacet_lazy_listen();
	tacet_strangers_begin();
	return 0;
}

/* Nothing is hosted any more. Sleeps. */
void tacet_tracepoints_off(void)
{
	lockdep_assert_held(&tacet_control_lock);
	if (!enabled)
		return;
	tacet_lazy_end();
	tacet_strangers_end();
	take_off(ARRAY_SIZE(probes));
	enabled = false;
}
