/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hosted thread, in parts by owner. base/hosted.c has the table of them.
 *
 * Each part says who changes it and under which lock. "The thread" means: code that runs in
 * the context of the hosted thread's own Linux task.
 */
#ifndef TACET_BASE_HOSTED_H
#define TACET_BASE_HOSTED_H

#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct tacet_context;
struct tacet_core;
struct tacet_order_slot;
struct tacet_process;
struct tacet_range;
struct tacet_space;
struct tacet_spoiling;

/*
 * Whether the thread is hosted, and where its task is. Changed in process/hosted.c only:
 *
 *	tacet_host()
 *	     |
 *	     v      tacet_park_enter()
 *	 ON_LINUX ----------------------> PARKED
 *	     |  ^                          |  |
 *	     |  '----- tacet_park_leave() -'  | tacet_park_leave(), if the thread is to leave
 *	     |                                v
 *	     '---- tacet_unhost_unparked() -> GONE
 *
 * Only the thread itself leaves PARKED: its registers may be on a core.
 */
enum tacet_hosted_state {
	TACET_HOSTED_ON_LINUX,		/* its task executes the program, or a call of it */
	TACET_HOSTED_PARKED,		/* its task is in the callback of delegate/park.c */
	TACET_HOSTED_GONE,		/* out of the table: not hosted any more */
};

/* What others want of a proxy. Bits, set by tacet_want(). */
enum tacet_want {
	TACET_WANT_RETURN = 1,		/* leave the core once, then continue; cleared when the thread is posted */
	TACET_WANT_TICK = 2,		/* spend a tick on Linux, then continue; cleared before that */
	TACET_WANT_LEAVE = 4,		/* go back to Linux, permanently; never cleared */
};

/* The callback that parks the task: process/arm.c. */
struct tacet_arming {
	struct callback_head work;
	atomic_t queued;
	struct delayed_work later;
};

/*
 * The thread's CPUs: process/placement.c, under the hosted lock.
 *
 *	  tacet_host() without an order       tacet_host() with one
 *	     |                                    |
 *	     v                                    v
 *	   FREE <------- tacet_restrict() ------ BOUND
 *	     |                                    |
 *	     '----> RELEASED <--------------------'
 *	tacet_release_core(), when the thread calls exit() or is not hosted any more
 */
enum tacet_place_state {
	TACET_THREAD_FREE,		/* it may go to a core that idles */
	TACET_THREAD_BOUND,		/* it waits for its own core */
	TACET_THREAD_RELEASED,		/* it is not counted on its core any more */
};

struct tacet_place {
	struct tacet_core *core;	/* where it goes when next posted */
	struct cpumask cpus;		/* where it may go */
	struct tacet_order_slot *slot;	/* in its process's order, or NULL */
	enum tacet_place_state state;
};

/* The thread's turn on a shared core: process/turns.c, the thread. Read by others. */
struct tacet_turn {
	unsigned long posted_at;	/* jiffies */
	u64 tsc;			/* on cores, since it last left by itself */
	bool continues;			/* it was recalled: its next stay continues the turn */
};

/*
 * The program that the thread executes; the thread.
 *
 *	         exec                  its first chance to go to a core
 *	READY ---------> NEW ------------------------------------> UNPOPULATED
 *	  ^                   given a range, or none                   |
 *	  '------------------- its address space is entered -----------'
 */
enum tacet_program_state {
	TACET_PROGRAM_READY,
	TACET_PROGRAM_NEW,		/* it has not run: it may get a range */
	TACET_PROGRAM_UNPOPULATED,	/* its memory is to be populated, if its process asked for that */
};

/* The proxy: delegate/park.c, the thread. */
struct tacet_proxy {
	enum tacet_program_state program;
	u64 fault_address, fault_ip;	/* the last page fault, to notice a repetition */
	unsigned int fault_repeats;
	u64 signals;			/* counts for status; read by others */
	bool waits;			/* its thread waits on the core; written by the watch, and false
					   by the thread before it is posted */
	bool waited;			/* at the watch's last look; the watch */
	bool short_stays;		/* its thread's last stay on a core was short */
	bool halts;			/* its CPU halts in its context: delegate/halt.c. Read by others */
};

/*
 * The thread's last system call on Linux; the thread.
 *
 *	tacet_host()
 *	     |
 *	     v
 *	  UNKNOWN ------ it begins a call, or ends one; it is posted to a core
 *	                                    |
 *	     .------------------------------'
 *	     v      the core hands a call over           the task begins it
 *	   NONE -------------------------------> FORWARDED ----------------> BEGUN
 *	    ^  \____________________________________________________________/^ |
 *	    |                   it begins a call of its own                    |
 *	    '---------------------------- the call ends -----------------------'
 */
enum tacet_call_state {
	TACET_CALL_UNKNOWN,		/* hosted perhaps in the middle of a call */
	TACET_CALL_NONE,
	TACET_CALL_FORWARDED,		/* the task is about to execute a call that came from a core */
	TACET_CALL_BEGUN,
};

/* The call in progress: delegate/, the thread. An argument that was replaced is put back at
 * the call's end; until then the thread stays hosted. */
struct tacet_call {
	enum tacet_call_state state;
	unsigned long advice_asked, advice_given;	/* 0: not replaced; delegate/advice.c */
	unsigned long ring_params;	/* address of those whose CPU was taken out, or 0; view/calls.c */
	unsigned int futex_wait;	/* what it counts as; delegate/futex.c */
};

/* Whether the thread stays on Linux between calls: process/burst.c, the thread. */
struct tacet_burst {
	struct hrtimer timer;		/* on: it has a reference to the thread */
	bool expected;			/* its program is new; written before the thread runs, too */
	bool on;			/* it is in a burst of calls */
	bool holds;			/* the end of a call does not arm it; the timer clears it, then arms it */
	unsigned int short_stays;	/* on cores, one after the other */
	unsigned int calls;		/* that have ended on Linux; read by the timer */
	unsigned int seen;		/* of them, at the last look; the timer while it is on */
	unsigned int looks;		/* since the timer was started; the same */
	u32 count;			/* of bursts, for status; read by others */
};

/* The thread's extended state, segments and their bases: delegate/lazy.c, the thread. */
struct tacet_lazy {
	bool in_context;		/* the context has them, the task's are old. Read by others */
	bool asked;			/* the task is about to execute a call that needs none of them */
	u32 stored_by;			/* Linux's number of the core that wrote them there */
};

/* The thread's calls about memory: memory/, the thread. */
struct tacet_memory_calls {
	u64 named;			/* serial of the range whose number its context has, or 0; memory/names.c.
					   Read by others */
	struct tacet_range *copied;	/* by its fork that is under way, referenced, or NULL; memory/fork.c */
	struct tacet_range *to_copy;	/* by the call that the thread is about to make or makes, referenced, or
					   NULL; fork.c. Read by others */
	const struct tacet_spoiling *spoiling;	/* of the call in progress, or NULL; memory/send_back.c */
	unsigned long spoilt;		/* its argument */
	unsigned int sent_back;		/* calls to be made on a core, since it was on one */
	unsigned int repeats;		/* of a call that is refused; with the next: memory/calls.c */
	u64 refused_start, refused_end, local_calls;	/* the last time */
};

/* Made for a task, found by it, dropped at its exit. */
struct tacet_hosted {
	/* base/hosted.c, under the hosted lock; RCU readers */
	struct hlist_node link;
	struct list_head ending;	/* once it is in the table no more */
	struct kref references;
	struct rcu_head rcu;

	/* fixed while it is hosted */
	struct task_struct *task;	/* referenced */
	struct tacet_context *context;
	u32 number;			/* of the context */
	unsigned int job;		/* the number of its process's job, or 0 */

	/* process/process.c, under the hosted lock; NULL once it is gone; RCU readers */
	struct tacet_process *process;

	spinlock_t lock;		/* the next four; innermost */
	enum tacet_hosted_state state;
	u64 charged_ns;			/* of the context's user time, to the task; process/time.c */
	u64 charged_run_ns;		/* of it, what Linux has not seen the task run; process/time.c */
	u64 charged_group_ns;		/* the same, to its control group */
	u64 halted_tsc;			/* for so long a CPU halted in its context; by the thread */
	unsigned long charged_at;	/* in jiffies: by the thread, when it last came from a core */

	u64 summed;			/* process/profile.c, under its profile's lock */

	wait_queue_head_t wait;		/* the proxy, while its thread is on a core */
	atomic_t wanted;		/* enum tacet_want */
	struct tacet_arming arming;
	struct tacet_place place;
	struct tacet_turn turn;
	struct tacet_proxy proxy;
	struct tacet_call call;
	struct tacet_burst burst;
	struct tacet_memory_calls memory;

	/* what the cores find for the thread; delegate/park.c and, once it is gone, process/hosted.c */
	struct tacet_space *space;
	struct mm_struct *space_mm;
	u64 space_root;			/* physical; 0: none. Read by others under RCU */

	struct tacet_lazy lazy;
};

/* base/hosted.c: any context */
struct tacet_hosted *tacet_hosted_of(struct task_struct *task);	/* RCU */
struct tacet_hosted *tacet_hosted_get(struct task_struct *task);
void tacet_hosted_put(struct tacet_hosted *hosted);
struct tacet_hosted *tacet_hosted_new(struct task_struct *task, gfp_t gfp);
void tacet_hosted_enter(struct tacet_hosted *hosted);	/* hosted lock */
void tacet_hosted_hide(struct tacet_hosted *hosted);	/* hosted lock */
void tacet_hosted_leave(struct tacet_hosted *hosted);
bool tacet_hosted_ends(struct task_struct *task, bool whole);
bool tacet_hosted_ends_of(unsigned int job);
unsigned int tacet_hosted_count(void);
unsigned int tacet_hosted_job(void);
bool tacet_hosted_any_of_all(void);
bool tacet_hosted_of_all_locked(void);	/* hosted lock */
void tacet_hosted_wake(struct tacet_hosted *hosted);
void tacet_hosted_wake_all(void);
void tacet_want(struct tacet_hosted *hosted, enum tacet_want wanted);
void tacet_for_each_hosted(void (*visit)(struct tacet_hosted *, void *), void *data);
void tacet_for_each_hosted_calmly(void (*visit)(struct tacet_hosted *, void *), void *data);	/* sleeps */

#endif
