/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hosted threads on Linux: parked, in calls, in faults, at birth and at exit. Most of this runs
 * in the thread's own context and is entered from Linux, not from the rest of the module.
 */
#ifndef TACET_DELEGATE_DELEGATE_H
#define TACET_DELEGATE_DELEGATE_H

#include "tacet.h"

struct kernel_siginfo;
struct k_sigaction;
struct linux_binprm;
struct tracepoint;

/* delegate/tracepoints.c */
int tacet_tracepoints_init(void);
int tacet_tracepoints_on(void);		/* control lock held; sleep */
void tacet_tracepoints_off(void);

/* delegate/strangers.c. _know: at the load; the next three: control lock held, and sleep; the last two in
 * probes, RCU */
#define TACET_CALL_TRACEPOINTS 2	/* the first ones of delegate/tracepoints.c */
bool tacet_tracepoints_shared(void);	/* any context */
void tacet_strangers_know(unsigned int which, struct tracepoint *point, void *probe);
void tacet_strangers_listen(void);
void tacet_strangers_begin(void);
void tacet_strangers_end(void);
void tacet_strangers_after_call(void);
void tacet_strangers_born(struct task_struct *child);

/* delegate/calls.c, delegate/births.c: probes; do not sleep */
void tacet_on_call_enter(void *data, struct pt_regs *regs, long number);
void tacet_on_call_exit(void *data, struct pt_regs *regs, long result);
void tacet_on_signal(void *data, int signal, struct kernel_siginfo *info, struct k_sigaction *action);
void tacet_on_fork(void *data, struct task_struct *parent, struct task_struct *child);
void tacet_on_exec(void *data, struct task_struct *task, pid_t old_pid, struct linux_binprm *program);
void tacet_on_exit(void *data, struct task_struct *task);
void tacet_on_exit_group(void *data, struct task_struct *task, bool last);

/* delegate/births.c: the calling task's own context; sleeps */
int tacet_settle_stranger(void);

/* A core has handed a call over, which the calling thread is about to execute. */
static inline void tacet_call_forwarded(struct tacet_hosted *hosted)
{
	hosted->call.state = TACET_CALL_FORWARDED;
}

/* The calling thread goes to a core, or has ended a call. */
static inline void tacet_call_none(struct tacet_hosted *hosted)
{
	hosted->call.state = TACET_CALL_NONE;
}

/* The calling thread begins a call. True: it comes from a core. */
static inline bool tacet_call_begins(struct tacet_hosted *hosted)
{
	bool forwarded = hosted->call.state == TACET_CALL_FORWARDED;

	hosted->call.state = TACET_CALL_BEGUN;
	return forwarded;
}

/* delegate/errand.c: the first two any context, in a probe; the last sleeps */
struct tacet_wake;
bool tacet_errand_wake(const struct tacet_wake *wakes, unsigned int count, bool counts);
bool tacet_errand_await_recalled(void);
void tacet_errand_release_grants(void);
void tacet_errands_settle(void);

/* delegate/park.c */
void tacet_park_init(void);

/* delegate/halt.c: the thread's own context */
typedef bool (*tacet_over_t)(const struct tacet_hosted *hosted);
void tacet_halt_prepare(struct tacet_hosted *hosted);
void tacet_halt_in_place(struct tacet_hosted *hosted, tacet_over_t over);
void tacet_halt_learn(struct tacet_hosted *hosted);

/* delegate/asleep.c: the first one sleeps, the second one is a probe */
void tacet_sleep_parked(struct tacet_hosted *hosted);
void tacet_on_signal_sent(void *data, int signal, struct kernel_siginfo *info, struct task_struct *task,
			  int group, int result);

/* delegate/serve.c: sleeps. Where the thread goes next: */
enum tacet_outcome {
	TACET_OUTCOME_AGAIN,		/* to a core */
	TACET_OUTCOME_LINUX,		/* to user mode on Linux; the end of its call arms it again */
	TACET_OUTCOME_SOON,		/* to user mode on Linux, for a moment */
	TACET_OUTCOME_BURST,		/* the same, until it has made no call for a while; a timer arms it again */
	TACET_OUTCOME_TICK,		/* to user mode on Linux, until a tick has found it there */
	TACET_OUTCOME_DROP,		/* to Linux, permanently */
};
enum tacet_outcome tacet_serve_event(struct tacet_hosted *hosted, struct pt_regs *regs);

/* delegate/lazy.c: the thread's own context; _listen, _end: control lock held, and sleep */
void tacet_lazy_listen(void);
void tacet_lazy_end(void);
void tacet_lazy_asked(struct tacet_hosted *hosted, long number);
void tacet_lazy_received(struct tacet_hosted *hosted);
void tacet_lazy_answered(struct tacet_hosted *hosted, const struct tacet_core *core, bool same);

/* delegate/local.c */
bool tacet_looked_at(void);
void tacet_local_prepare(struct tacet_hosted *hosted, bool looked_at);
void tacet_local_take(const struct tacet_context *context);

/* delegate/fault.c, delegate/populate.c: sleep */
int tacet_fault(struct tacet_hosted *hosted, unsigned long address, u64 error);
void tacet_populate(struct tacet_space *space);

/* delegate/rseq.c: sleep */
void tacet_rseq_enter(struct tacet_core *core);
void tacet_rseq_abort(struct pt_regs *regs);

/* delegate/sleep.c: sleep */
bool tacet_sleeps_for_a_time(const struct pt_regs *regs);
void tacet_sleep_out(u64 left_ns);

/* delegate/futex.c, delegate/advice.c: around a call on Linux; do not sleep; RCU */
void tacet_futex_before_call(struct tacet_hosted *hosted, struct pt_regs *regs, long number);
void tacet_futex_after_call(struct tacet_hosted *hosted, struct pt_regs *regs, long result);
void tacet_advice_before_call(struct tacet_hosted *hosted, struct pt_regs *regs);
void tacet_advice_after_call(struct tacet_hosted *hosted, struct pt_regs *regs);

/* delegate/ring_futex.c: the first sleeps; RCU the second */
bool tacet_futexes_are_linuxs(struct tacet_space *space);
void tacet_rings_after_call(void);

#endif
