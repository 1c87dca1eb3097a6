// SPDX-License-Identifier: GPL-2.0
/*
 * Lazy state: what of a thread's state stays in its context while Linux executes a call.
 *
 * For most calls Linux needs the general registers and the protection keys, nothing else: the task executes one SYSCALL
 * instruction of the program. So the extended state, the segments and their bases stay in the context, as the core has
 * stored them, and the task has old ones meanwhile. They are fetched before anybody can look at the task's:
 *
 *	a signal's frame, a core dump		Linux tells of each signal that a task takes, before both
 *	a tracer				it looks at a task that has stopped: the task enters ptrace_stop() first
 *	the program itself, on Linux		park() fetches whenever the task does not go on with such a call
 *	a child, a new program, and others	their calls are not plain (delegate/kinds.c)
 *
 * A thread whose state is here stays hosted until the call ends. If others end its hosting, its call ends first, and is
 * made again (tacet_unhost_unparked()): calls that may wait and are not made again by Linux are not plain either. The
 * next post to the same core says that nothing has changed, and that core, if no other thread has been in its registers,
 * does not load them.
 *
 * Called by delegate/park.c and delegate/serve.c, and by probes, all in the thread's own context. Must never be open when the
 * thread is not hosted any more: the context is another thread's then.
 *
 * TRICK a task with old extended state: while it executes some calls, the context has the right one.
 * BREAKS a kernel that reads a task's extended state in another place, or stops a task for its tracer elsewhere.
 * NOTICED `tests/user/kept.c` and `tests/user/xstate.c`; where ptrace_stop() cannot be heard every call fetches.
 */
#include <linux/sched.h>

#include "arch/arch.h"
#include "delegate/delegate.h"
#include "delegate/kinds.h"
#include "pico/linux/probes.h"
#include "process/process.h"
#include "tacet.h"

static bool heard;	/* stops for tracers; control lock, read by all */

/* The calling task is about to stop for its tracer, with the signal lock held. */
static void stops(unsigned long unused, unsigned long unused_too)
{
	struct tacet_hosted *hosted;

	rcu_read_lock();
	hosted = tacet_hosted_of(current);
	if (hosted)
		tacet_lazy_fetch(hosted);
	rcu_read_unlock();
}

/* A compiler may put the function's first look, whether the task is traced, into its callers, and call the rest by
 * the second name. */
static const char *const names[] = { "ptrace_stop", "ptrace_stop.part.0" };
static struct tacet_probe entries[] = { { "", stops } };
static struct tacet_probes probes = { .probes = entries, .count = ARRAY_SIZE(entries) };

/* Before the first thread is hosted. */
void tacet_lazy_listen(void)
{
	int error = -ENOENT;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names) && error == -ENOENT; i++) {
		entries[0].symbol = names[i];
		error = tacet_probes_on(&probes);
	}
	WRITE_ONCE(heard, !error);
	if (error)
		tacet_report(TACET_LOG_INFO, "calls get slower: this kernel does not tell of %s: error %d",
			     probes.missing, error);
}

/* Nothing is hosted any more. */
void tacet_lazy_end(void)
{
	if (READ_ONCE(heard))
		tacet_probes_off(&probes);
	WRITE_ONCE(heard, false);
}

/* The task is about to execute the call, which its core has handed over. */
void tacet_lazy_asked(struct tacet_hosted *hosted, long number)
{
	/* A thread whose calls are looked at has no local ones. */
	hosted->lazy.asked = tacet_call_is_plain(number) && hosted->context->local && READ_ONCE(heard);
}

/* A core has given the context back: the one to which it was posted last, which may be another than the first. */
void tacet_lazy_received(struct tacet_hosted *hosted)
{
	hosted->lazy.stored_by = READ_ONCE(hosted->context->cpu);
	WRITE_ONCE(hosted->lazy.in_context, true);
}

/* The context is about to be posted to @core, with the @same protection keys as before or others. */
void tacet_lazy_answered(struct tacet_hosted *hosted, const struct tacet_core *core, bool same)
{
	bool stays = hosted->lazy.in_context;

	if (!stays)
		tacet_state_give(hosted->context);
	hosted->context->state_stays = stays && same && hosted->lazy.stored_by == core->cpu;
}
