// SPDX-License-Identifier: GPL-2.0
/*
 * The proxy: the Linux task of a hosted thread, parked while the thread's user code runs on a
 * core. The other end is kernel/host/linux/src/park.rs.
 *
 * park() is a task-work callback. It runs in the thread's own context just before the return
 * to user mode, when task_pt_regs() is exactly what the program will see. To perform a call
 * or to take an exception (delegate/serve.c) it puts the registers back and returns: the
 * task executes the program's own instruction, so that seccomp, audit, ptrace, restarts and
 * signal frames are Linux's own. The end of the call (delegate/calls.c) arms it again.
 *
 * TRICK parking in task work: the proxy sleeps in a task-work callback, whose registers are those of
 * user mode; it returns to make Linux execute the program's own instruction.
 * BREAKS Linux runs task work with other registers, or holds a lock there.
 * NOTICED `at_boundary()` at each park; the programs of `tests/user`, each hosted on each kernel.
 */
#include <linux/errno.h>
#include <linux/resume_user_mode.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <asm/syscall.h>
#include <asm/trapnr.h>
#include <asm/unistd.h>

#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "memory/memory.h"
#include "pico/linux/grants.h"
#include "process/process.h"
#include "tacet.h"

#define RETURN_PATIENCE_NS (20 * NSEC_PER_SEC)
#define CONTINUES "because a thread goes to Linux"

/* Makes sure that the cores know the current address space. */
static int enter_space(struct tacet_hosted *hosted)
{
	struct tacet_space *space;

	if (hosted->space && hosted->space_mm == current->mm)
		return 0;
	tacet_leave_space(hosted);
	tacet_grants_release();		/* of the program that this thread had before */
	space = tacet_space_get(current->mm);
	if (IS_ERR(space))
		return PTR_ERR(space);
	hosted->space_mm = current->mm;
	hosted->space = space;
	WRITE_ONCE(hosted->space_root, space->root_address);
	return 0;
}

static bool wants(const struct tacet_hosted *hosted, enum tacet_want wanted)
{
	return atomic_read(&hosted->wanted) & wanted;
}

static bool returned(struct tacet_hosted *hosted)
{
	return smp_load_acquire(&hosted->context->state) == TACET_CONTEXT_RETURNED;
}

static bool failed(void)
{
	return READ_ONCE(tacet_partition.failed);
}

/* The kill may come after a recall for another reason, which can wait for the end of a call. */
static int has_returned(const struct tacet_wait *wait)
{
	struct tacet_hosted *hosted = wait->subject;

	if (returned(hosted))
		return 1;
	if (fatal_signal_pending(current) &&
	    READ_ONCE(hosted->context->recall) != TACET_RECALL_KILLED)
		tacet_recall_killed(wait->core, hosted);
	return 0;
}

/* Waits until @core gives the context back, and asks it to if others want that. -EIO: it
 * never will. */
static int await_return(struct tacet_hosted *hosted, struct tacet_core *core)
{
	struct tacet_wait wait = {
		.core = core,
		.done = has_returned,
		.subject = hosted,
		.queue = &hosted->wait,
		.patience_ns = RETURN_PATIENCE_NS,
		.failure = "a core does not give a thread back",
	};

	tacet_sleep_parked(hosted);
	if (returned(hosted))
		return 0;
	if (!failed()) {
		tacet_recall(core, hosted);
		tacet_await(&wait);
	}
	return returned(hosted) ? 0 : -EIO;
}

/* The co-kernel failed. Threads whose registers a core held are lost. The others are killed
 * too, since their memory cannot be trusted. */
static enum tacet_outcome lose(void)
{
	send_sig(SIGKILL, current, 1);
	return TACET_OUTCOME_DROP;
}

/* One stay on a core. */
static enum tacet_outcome run(struct tacet_hosted *hosted, struct pt_regs *regs, bool looked_at)
{
	u64 user_tsc = hosted->context->user_tsc;
	struct tacet_core *core;
	int error;

	/* Before the choice: others change what it depends on, then want a return. */
	atomic_andnot(TACET_WANT_RETURN, &hosted->wanted);
	smp_mb__after_atomic();
	core = tacet_choose_core(hosted);
	WRITE_ONCE(hosted->turn.posted_at, jiffies);
	WRITE_ONCE(hosted->proxy.waits, false);
	tacet_call_none(hosted);
	tacet_rseq_enter(core);
	tacet_lazy_answered(hosted, core, tacet_state_save(hosted->context, regs));
	hosted->context->root = hosted->space->root_address;
	hosted->context->user = tacet_user_number();
	hosted->context->core = core - tacet_partition.cores;
	WRITE_ONCE(hosted->space->last_core, hosted->context->core);
	hosted->context->goes_first = tacet_preempts(core, hosted);
	tacet_local_prepare(hosted, looked_at);
	tacet_halt_prepare(hosted);
	/* Threads that moved while they were posted count on other cores already. */
	error = atomic_read(&core->posted) > TACET_THREADS_PER_CPU ? -EAGAIN :
								     tacet_post(core, hosted);
	if (!error) {
		tacet_claim_turn(core, hosted);
		error = await_return(hosted, core);
	}
	tacet_range_unname(hosted);
	WRITE_ONCE(core->last_return_ns, ktime_get_mono_fast_ns());
	atomic_dec(&core->posted);
	if (error == -EAGAIN)
		return TACET_OUTCOME_SOON;
	if (error)
		return lose();
	tacet_halt_learn(hosted);
	tacet_burst_learn(hosted, hosted->context->user_tsc - user_tsc);
	hosted->memory.sent_back = 0;
	WRITE_ONCE(hosted->context->state, TACET_CONTEXT_LINUX);
	tacet_count_turn(hosted, user_tsc);
	tacet_lazy_received(hosted);
	tacet_state_load(hosted->context, regs);
	tacet_local_take(hosted->context);
	tacet_charge_returned(hosted, hosted->context->event == TACET_EVENT_SYSCALL ? tacet_call_number(regs->ax) : -1);
	return tacet_serve_event(hosted, regs);
}

/*
 * Whether the registers are those of user mode. Linux runs task work at the boundary to user
 * mode, but also before a stop for the tracer, while it takes signals, and inside calls that
 * wait. KVM_RUN reaches the boundary in the middle of a call.
 *
 * In a call: the registers are those of user mode once the call has ended and is not to be
 * restarted. After that task work runs at the boundary only, unless a tracer wants to see
 * the call's end.
 *
 * Without a call, or with a tracer: the way to user mode clears TIF_NOTIFY_RESUME before it
 * runs task work, all other ways leave it set. If it was set again meanwhile, the callback
 * comes back a tick later.
 */
static enum tacet_outcome at_boundary(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	bool call = syscall_get_nr(current, regs) >= 0;
	bool restarts = regs->ax >= (unsigned long)-ERESTART_RESTARTBLOCK &&
			regs->ax <= (unsigned long)-ERESTARTSYS;

	if (call && (hosted->call.state == TACET_CALL_BEGUN || restarts))
		return TACET_OUTCOME_LINUX;	/* its end arms the proxy again */
	if (call && hosted->call.state == TACET_CALL_UNKNOWN)
		return TACET_OUTCOME_SOON;
	if (call && !READ_ONCE(current->ptrace))
		return TACET_OUTCOME_AGAIN;
	return test_thread_flag(TIF_NOTIFY_RESUME) ? TACET_OUTCOME_SOON : TACET_OUTCOME_AGAIN;
}

/* From here on the new program's anonymous memory is the partition's. If that fails, it is
 * Linux's as ever. The program has asked for none yet, nor for its break. */
static void give_range(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	bool eager = hosted->process->flags & TACET_HOST_POPULATE;

	if (tacet_looked_at())
		return;
	if (hosted->process->flags & TACET_HOST_DATA_IN_RANGE)
		tacet_program_begin(eager, regs);
	else
		tacet_range_create(eager, NULL);
}

/* The program has its first chance to go to a core, and its only one to get a range. */
static void program_begins(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	if (hosted->proxy.program != TACET_PROGRAM_NEW)
		return;
	if (hosted->process->flags & TACET_HOST_RANGE)
		give_range(hosted, regs);
	hosted->proxy.program = TACET_PROGRAM_UNPOPULATED;
}

/* The program executes on Linux before it next asks for a core. */
static void program_runs_on_linux(struct tacet_hosted *hosted)
{
	if (hosted->proxy.program == TACET_PROGRAM_NEW)
		hosted->proxy.program = TACET_PROGRAM_UNPOPULATED;
}

/* The cores know the program's address space. */
static void program_ready(struct tacet_hosted *hosted)
{
	if (hosted->proxy.program == TACET_PROGRAM_READY)
		return;
	hosted->proxy.program = TACET_PROGRAM_READY;
	if (hosted->process->flags & TACET_HOST_POPULATE)
		tacet_populate(hosted->space);
}

/* The thread stays on Linux for an unknown time: its calls about memory are Linux's. */
static enum tacet_outcome stay(void)
{
	tacet_handover_mine("because no core can run a thread");
	return TACET_OUTCOME_SOON;
}

/* The thread's program is not, or not only, that of the user whom the partition has now. */
static enum tacet_outcome other_user(void)
{
	tacet_report(TACET_LOG_INFO,
		     "thread %d (%s): back to Linux: it has another user now, or must not be traced",
		     current->pid, current->comm);
	return TACET_OUTCOME_DROP;
}

/* One attempt to run the thread on a core. */
static enum tacet_outcome step(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	bool looked_at;
	int error;

	if (current->flags & PF_EXITING)
		return TACET_OUTCOME_LINUX;
	if (failed())
		return lose();
	if (wants(hosted, TACET_WANT_LEAVE))
		return TACET_OUTCOME_DROP;
	if (!tacet_user_still_fits())	/* before its program gets memory of the partition */
		return other_user();
	program_begins(hosted, regs);
	if (signal_pending(current)) {
		hosted->proxy.signals++;
		return TACET_OUTCOME_SOON;
	}
	if (wants(hosted, TACET_WANT_TICK)) {
		atomic_andnot(TACET_WANT_TICK, &hosted->wanted);
		return TACET_OUTCOME_TICK;
	}
	/* Nobody has looked at the state in the context: it is as the core left it. */
	if (!hosted->lazy.in_context && !tacet_state_hostable(regs))
		return stay();
	if (tacet_counted(current)) {
		tacet_counted_tell(hosted);
		return stay();
	}
	error = enter_space(hosted);
	if (error)	/* -EINTR: a signal came meanwhile */
		return error == -EINTR ? TACET_OUTCOME_SOON : TACET_OUTCOME_DROP;
	program_ready(hosted);
	looked_at = tacet_looked_at();
	tacet_range_before_post(hosted, looked_at);
	if (!looked_at && tacet_burst_continues(hosted))
		return TACET_OUTCOME_BURST;
	return run(hosted, regs, looked_at);
}

/*
 * Linux runs first the task work that was queued last. Behind this callback may be the
 * release of a file that the call closed, and this callback may take hours. True: it is
 * queued once more and runs when the others are done. Not if the thread is not hosted any
 * more: one of the others may be the callback of its successor, which waits for this one.
 */
static bool others_first(struct tacet_hosted *hosted, struct callback_head *work)
{
	return READ_ONCE(hosted->state) != TACET_HOSTED_GONE && (work->next || task_work_pending(current)) &&
	       !task_work_add(current, work, TWA_NONE);
}

/* The thread's own context, about to return to user mode; sleeps. */
static void park(struct callback_head *work)
{
	struct tacet_hosted *hosted = container_of(work, struct tacet_hosted, arming.work);
	struct pt_regs *regs = task_pt_regs(current);
	enum tacet_outcome outcome;

	if (others_first(hosted, work))
		return;
	atomic_set_release(&hosted->arming.queued, 0);
	tacet_range_before_signals();
	if (tacet_park_enter(hosted)) {
		hosted->lazy.asked = false;
		outcome = at_boundary(hosted, regs);
		if (outcome == TACET_OUTCOME_AGAIN) {
			tacet_range_forked(hosted);	/* a signal came before the call */
			tacet_process_announce(hosted->process);
		}
		while (outcome == TACET_OUTCOME_AGAIN)
			outcome = step(hosted, regs);
		if (outcome == TACET_OUTCOME_SOON) {
			program_runs_on_linux(hosted);
			tacet_arm_soon(hosted, 1);
		}
		if (outcome == TACET_OUTCOME_TICK)
			tacet_arm_soon(hosted, 3);
		if (outcome == TACET_OUTCOME_DROP || wants(hosted, TACET_WANT_LEAVE) ||
		    tacet_sent_back_too_often(hosted))
			tacet_handover_mine(CONTINUES);	/* so does its memory */
		if (!hosted->lazy.asked)
			tacet_lazy_fetch(hosted);
		if (tacet_park_leave(hosted, outcome == TACET_OUTCOME_DROP))
			tacet_grants_release();	/* others may claim its devices when the program goes on */
	} else {
		tacet_handover_mine(CONTINUES);
	}
	tacet_hosted_put(hosted);
}

/* Before the first thread is hosted. */
void tacet_park_init(void)
{
	tacet_arm_register(park);
}
