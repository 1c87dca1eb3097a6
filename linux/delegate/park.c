// SPDX-License-Identifier: GPL-2.0
/*
 * The proxy: what a hosted thread's Linux task does while its user code runs
 * on a core. The other end is kernel/host/linux/src/park.rs.
 *
 * Everything happens in tacet_park(), a task-work callback: it runs in the
 * thread's own context just before the return to user mode, when
 * task_pt_regs() is exactly what the program will see. To perform a call or to
 * take an exception the callback puts the registers back and returns: the task
 * executes the program's own instruction natively, so that seccomp, audit,
 * ptrace, restarts and signal frames are Linux's own. The end of the call
 * (delegate/calls.c) queues the callback again.
 */
#include <linux/errno.h>
#include <linux/resume_user_mode.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <asm/trapnr.h>
#include <asm/unistd.h>

#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "memory/memory.h"
#include "process/process.h"
#include "tacet.h"

#define RETURN_PATIENCE_NS (20 * NSEC_PER_SEC)
#define SAME_FAULT_LIMIT 16

enum outcome {
	OUTCOME_AGAIN,		/* to the core */
	OUTCOME_LINUX,		/* to user mode on Linux; something queues us again */
	OUTCOME_SOON,		/* the same, but nothing will: try again shortly */
	OUTCOME_TICK,		/* the same, after a tick has found it on Linux */
	OUTCOME_DROP,		/* to Linux, for good */
};

/* Makes sure that the cores know the current address space. */
static int enter_space(struct tacet_hosted *hosted)
{
	struct tacet_space *space;

	if (hosted->space && hosted->space_mm == current->mm)
		return 0;
	tacet_leave_space(hosted);
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

static int has_returned(const struct tacet_wait *wait)
{
	return returned(wait->subject);
}

/* Waits until the core gives the context back. -EIO: it never will. */
static int await_return(struct tacet_hosted *hosted, struct tacet_core *core)
{
	struct tacet_wait wait = {
		.core = core,
		.done = has_returned,
		.subject = hosted,
		.queue = &hosted->wait,
		.patience_ns = RETURN_PATIENCE_NS,
		.renewed = true,
		.failure = "a core does not give a thread back",
	};
	int interrupted = wait_event_interruptible(hosted->wait,
						   returned(hosted) || failed() ||
						   atomic_read(&hosted->wanted));

	if (returned(hosted))
		return 0;
	if (interrupted || !failed()) {
		tacet_recall(core, hosted);
		tacet_await(&wait);
	}
	return returned(hosted) ? 0 : -EIO;
}

static enum outcome served_fault(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	struct tacet_context *context = hosted->context;
	u64 address = context->fault_address;

	if (signal_pending(current))
		return OUTCOME_SOON;
	/* Something that Linux thinks is in order: let it see for itself. */
	if (address == hosted->proxy.fault_address && regs->ip == hosted->proxy.fault_ip) {
		if (++hosted->proxy.fault_repeats > SAME_FAULT_LIMIT)
			return OUTCOME_SOON;
	} else {
		hosted->proxy.fault_address = address;
		hosted->proxy.fault_ip = regs->ip;
		hosted->proxy.fault_repeats = 0;
	}
	if (tacet_fault(hosted, address, context->registers.error)) {
		hosted->proxy.fault_repeats = 0;	/* the next one may have been put in order */
		tacet_range_before_exception(X86_TRAP_PF);
		return OUTCOME_SOON;
	}
	tacet_rseq_abort(regs);
	return OUTCOME_AGAIN;
}

/* It was called back from a wait on the core, and the call goes on here. For a signal: as
 * Linux leaves a wait that one has interrupted, so that Linux ends or restarts it. */
static enum outcome serve_wait(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	/* Until a time: no handler lets it go on. */
	bool timed = regs->ax != __NR_futex || regs->r10;

	if (tacet_sleeps_for_a_time(regs)) {
		tacet_sleep_out(hosted->context->sleep_left_ns);
		regs->ax = 0;
		return OUTCOME_AGAIN;
	}
	if (signal_pending(current)) {
		regs->orig_ax = regs->ax;
		regs->ax = timed ? -ERESTARTNOHAND : -ERESTARTSYS;
		return OUTCOME_LINUX;
	}
	tacet_state_repeat_call(regs);
	tacet_call_forwarded(hosted);
	return OUTCOME_LINUX;
}

/* The registers are the task's again. What now? */
static enum outcome serve_event(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	struct tacet_context *context = hosted->context;

	switch (context->event) {
	case TACET_EVENT_SYSCALL:
		if (tacet_range_before_call(hosted, regs)) {
			tacet_state_repeat_call(regs);
			return OUTCOME_AGAIN;
		}
		tacet_paths_before_call(hosted, regs);
		tacet_state_repeat_call(regs);
		tacet_call_forwarded(hosted);
		return OUTCOME_LINUX;
	case TACET_EVENT_WAITED:
		return serve_wait(hosted, regs);
	case TACET_EVENT_EXCEPTION:
		if (context->registers.vector == X86_TRAP_PF)
			return served_fault(hosted, regs);
		tacet_range_before_exception(context->registers.vector);
		tacet_state_repeat_exception(regs, context->registers.vector);
		return OUTCOME_SOON;
	default:
		tacet_rseq_abort(regs);
		return OUTCOME_AGAIN;
	}
}

/* The core died, and the registers with it if they were there. Who was not there
 * dies as well: what a co-kernel gone wrong has done to its memory nobody knows. */
static enum outcome lose(void)
{
	send_sig(SIGKILL, current, 1);
	return OUTCOME_DROP;
}

/* One stay on the core. */
static enum outcome run(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	u64 user_tsc = hosted->context->user_tsc;
	struct tacet_core *core;
	int error;

	/* Before the choice: whoever changes what it depends on wants a return after that. */
	atomic_andnot(TACET_WANT_RETURN, &hosted->wanted);
	smp_mb__after_atomic();
	core = tacet_choose_core(hosted);
	WRITE_ONCE(hosted->turn.posted_at, jiffies);
	tacet_call_none(hosted);
	tacet_rseq_enter(core);
	tacet_state_save(hosted->context, regs);
	hosted->context->root = hosted->space->root_address;
	hosted->context->core = core - tacet_partition.cores;
	WRITE_ONCE(hosted->space->last_core, hosted->context->core);
	tacet_local_prepare(hosted);
	/* Who moves while it is posted counts elsewhere already. */
	error = atomic_read(&core->posted) > TACET_THREADS_PER_CPU ? -EAGAIN :
								     tacet_post(core, hosted);
	if (!error) {
		tacet_claim_turn(core, hosted);
		error = await_return(hosted, core);
	}
	WRITE_ONCE(core->last_return_ns, ktime_get_mono_fast_ns());
	atomic_dec(&core->posted);
	if (error == -EAGAIN)
		return OUTCOME_SOON;
	if (error)
		return lose();
	hosted->memory.sent_back = 0;
	WRITE_ONCE(hosted->context->state, TACET_CONTEXT_LINUX);
	tacet_charge(hosted);
	tacet_count_turn(hosted, user_tsc);
	tacet_state_load(hosted->context, regs);
	return serve_event(hosted, regs);
}

/*
 * Task work runs not only at the boundary to user mode: also before a stop for
 * the tracer, while signals are taken, inside calls that wait. A call of KVM_RUN
 * goes to the boundary in its middle; registers of a call are those of user mode
 * only once it has ended, and when it is not to be restarted. After that there
 * is no other place than the boundary, unless a tracer wants to see the end.
 *
 * Without a call, or with a tracer: the way to user mode clears TIF_NOTIFY_RESUME
 * before it runs us, all others leave it set. If somebody set it again meanwhile
 * we come a tick later.
 */
static enum outcome at_boundary(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	bool call = (long)regs->orig_ax >= 0;

	bool restarts = regs->ax >= (unsigned long)-ERESTART_RESTARTBLOCK &&
			regs->ax <= (unsigned long)-ERESTARTSYS;

	if (call && (hosted->call.state == TACET_CALL_BEGUN || restarts))
		return OUTCOME_LINUX;	/* its end queues us again */
	if (call && hosted->call.state == TACET_CALL_UNKNOWN)
		return OUTCOME_SOON;
	if (call && !READ_ONCE(current->ptrace))
		return OUTCOME_AGAIN;
	return test_thread_flag(TIF_NOTIFY_RESUME) ? OUTCOME_SOON : OUTCOME_AGAIN;
}

/* From here on the new program's anonymous memory is the partition's, or, if that
 * cannot be, Linux's as ever. It has asked for none yet, nor for its break. */
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

/* The program has its first chance to go to a core: its only one to get a range. */
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

/* It stays on Linux, who knows how long, and its calls about memory are Linux's. */
static enum outcome stay(void)
{
	tacet_handover_mine();
	return OUTCOME_SOON;
}

static enum outcome step(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	int error;

	if (current->flags & PF_EXITING)
		return OUTCOME_LINUX;
	if (failed())
		return lose();
	if (wants(hosted, TACET_WANT_LEAVE))
		return OUTCOME_DROP;
	program_begins(hosted, regs);
	if (signal_pending(current)) {
		hosted->proxy.signals++;
		return OUTCOME_SOON;
	}
	if (wants(hosted, TACET_WANT_TICK)) {
		atomic_andnot(TACET_WANT_TICK, &hosted->wanted);
		return OUTCOME_TICK;
	}
	if (!tacet_state_hostable(regs))
		return stay();
	if (tacet_counted(current)) {
		tacet_counted_tell(hosted);
		return stay();
	}
	error = enter_space(hosted);
	if (error)	/* a signal came while the mm was being prepared? */
		return error == -EINTR ? OUTCOME_SOON : OUTCOME_DROP;
	program_ready(hosted);
	tacet_range_before_post(hosted, tacet_looked_at());
	return run(hosted, regs);
}

/*
 * Linux runs what was queued last first: behind us may be the release of a file
 * that the call gave up, and running us may take hours. True: queued once more,
 * to be run as soon as the others are done. Not if nobody finds @hosted any more:
 * the others may be its successor, which waits for us.
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
	enum outcome outcome;

	if (others_first(hosted, work))
		return;
	atomic_set_release(&hosted->arming.queued, 0);
	tacet_range_before_signals();
	if (tacet_park_enter(hosted)) {
		outcome = at_boundary(hosted, regs);
		if (outcome == OUTCOME_AGAIN)
			tacet_process_announce(hosted->process);
		while (outcome == OUTCOME_AGAIN)
			outcome = step(hosted, regs);
		if (outcome == OUTCOME_SOON) {
			program_runs_on_linux(hosted);
			tacet_arm_soon(hosted, 1);
		}
		if (outcome == OUTCOME_TICK)
			tacet_arm_soon(hosted, 3);
		if (outcome == OUTCOME_DROP || wants(hosted, TACET_WANT_LEAVE) ||
		    tacet_sent_back_too_often(hosted))
			tacet_handover_mine();	/* it goes on without us: so does that */
		tacet_park_leave(hosted, outcome == OUTCOME_DROP);
	} else {
		tacet_handover_mine();
	}
	tacet_hosted_put(hosted);
}

void tacet_park_init(void)
{
	tacet_arm_register(park);
}
