/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's own structures and the functions that its files offer each other.
 *
 * The order of the folders is the order of calls:
 *
 *	main.c > doors/ > partition/ > delegate/ > process/ > memory/ > border/ > arch/ > base/
 *
 * A file calls files of its own folder and of those to the right, and no two files call each other in a
 * circle. What must go the other way goes through operations that the file to the left
 * registers.
 *
 *	doors/		what user space asks for: the device, sysfs, /proc
 *	partition/	up, down and the end after a failure: starts and stops all that is to the right
 *	delegate/	entries from Linux in a hosted thread's own context: its calls, faults, signals, births
 *	process/	who is hosted, where, for how long
 *	memory/		ranges
 *	border/		messages to and from cores, address spaces, failure
 *	arch/		the processor
 *	base/		what all share: the partition, the table of hosted threads, reports
 *
 * The order of locks: locks.h.
 */
#ifndef TACET_H
#define TACET_H

#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <tacet/context.h>
#include <tacet/cpu.h>
#include <tacet/image.h>
#include <tacet/ioctl.h>
#include <tacet/memory.h>
#include <tacet/space.h>

#include "locks.h"

#define TACET_MAX_BLOCKS 256
#define TACET_CONTEXTS_PER_CPU 64
#define TACET_THREADS_PER_CPU 256	/* what a ring holds */

/* A physically contiguous piece of the partition. Written under the control
 * lock only. */
struct tacet_block {
	unsigned long pfn;
	unsigned long pages;
	int node;
};

/* One taken CPU. Written under the control lock; the counters as noted. */
struct tacet_core {
	unsigned int cpu;
	u32 apicid;
	int node;
	int virq;			/* its interrupt into Linux, 0 if none */
	bool taken;			/* Linux has it offline for us */
	bool started;			/* it was sent into the co-kernel */
	struct tacet_cpu *shared;
	spinlock_t inbox_lock;		/* producers of shared->inbox */
	raw_spinlock_t bell_lock;	/* the next one, and shared->doorbells_sent */
	bool audible;			/* it runs the co-kernel: it may be rung */
	int package, physical_core;	/* topology, read while it was online */
	unsigned int threads;		/* hosted here; under tacet_hosted_lock */
	atomic_t posted;		/* of them, handed over and not back */
	u64 last_return_ns;		/* when one came back; by the threads */
	spinlock_t wake_lock;		/* who asks shared->wake_* */
	/* the watch's memory, under the watch's work item only */
	u64 watched_steps;
	unsigned int stuck_jiffies;
};

/* The partition; there is at most one. */
struct tacet_partition {
	enum tacet_partition_state state;	/* control lock; read with READ_ONCE */
	unsigned int failed;		/* enum tacet_failed; border/fail.c */
	struct cpumask cpus;
	struct tacet_core *cores;
	unsigned int core_count;
	struct tacet_block blocks[TACET_MAX_BLOCKS];
	unsigned int block_count;
	void *image;			/* in block 0, as everything below */
	size_t image_bytes;
	size_t image_span;		/* with bss */
	void *cpu_pages;
	struct tacet_context *contexts;
	unsigned int context_count;
	struct tacet_space_shared *spaces;	/* as many as contexts */
	unsigned long *spaces_taken;	/* bits; border/space.c's lock */
	struct tacet_memory *memory;	/* NULL: none for programs */
	struct tacet_range_shared *ranges;		/* as many as contexts */
	struct tacet_frame *frames;	/* their records */
	void *private;
	void *tables;			/* struct tacet_tables of arch */
	struct tacet_hosted **owners;	/* by context number; hosted lock, RCU readers */
	u64 up_ns, down_ns;
	unsigned int up_count;
	char message[TACET_TEXT_BYTES];
};

/* A hosted process: where its threads may go. Reference-counted by them. */
struct tacet_process {
	struct list_head link;		/* hosted lock */
	struct pid *tgid;
	unsigned int threads;		/* hosted lock */
	u32 flags;			/* TACET_HOST_* */
	struct cpumask cpus;		/* of threads that come from elsewhere; hosted lock */
	struct tacet_order *order;	/* in which its threads are bound, or NULL; referenced */
	struct tacet_profile *profile;	/* what its threads spend, or NULL; referenced */
	struct kobject *directory;	/* in sysfs, or NULL; doors/sysfs.c's mutex */
	bool counted_told;		/* once; by any of its threads */
	struct work_struct free;
};

/* A CPU for the threads of a job, and how many of them have it. */
struct tacet_order_place {
	struct tacet_core *core;
	unsigned int threads;		/* hosted lock */
};

struct tacet_order {
	struct kref references;
	unsigned int count;
	struct tacet_order_place places[];
};

/* Nobody may take back what a core has cached before it is silent. */
enum tacet_failed {
	TACET_FAILED_NOTICED = 1,
	TACET_FAILED_SILENT,
};

/* What is known of a thread's last system call. */
enum tacet_call {
	TACET_CALL_UNKNOWN,		/* it was hosted in the middle of its life */
	TACET_CALL_BEGUN,
	TACET_CALL_DONE,
};

/* A hosted thread. Made for a task, found by it, dropped at its exit. */
struct tacet_hosted {
	struct hlist_node link;		/* hosted lock; RCU readers */
	struct list_head ending;	/* once nobody finds it any more; hosted lock */
	struct kref references;
	struct rcu_head rcu;
	struct task_struct *task;	/* referenced */
	struct tacet_process *process;	/* NULL once unlinked; hosted lock, RCU readers */
	struct tacet_core *core;	/* where it goes when next posted; hosted lock */
	struct cpumask cpus;		/* where it may go; hosted lock */
	struct tacet_order_place *place;	/* its own in the process's order, or NULL; hosted lock */
	bool bound;			/* it goes nowhere else; hosted lock */
	bool placeless;			/* its places are others' already; hosted lock */
	struct tacet_context *context;
	u32 number;			/* of the context */
	wait_queue_head_t wait;
	struct callback_head park;
	atomic_t park_queued;
	struct delayed_work rearm;
	bool leaving;			/* go back to Linux for good */
	bool kick;			/* leave user mode once, then go on */
	unsigned long posted_at;	/* jiffies; the thread itself */
	u64 turn_tsc;			/* on cores, since it last left of itself; the same */
	bool turn_goes_on;		/* it was called back; the same */
	bool take_tick;			/* spend a tick on Linux, then go on */
	spinlock_t lock;		/* the next three */
	bool busy;			/* its thread is inside tacet_park() */
	bool unlinked;			/* nobody finds it any more */
	u64 charged_ns;			/* of the context's user time, to the task */

	/* the thread itself, in its own context, only */
	struct tacet_space *space;
	struct mm_struct *space_mm;
	u64 space_root;			/* physical; 0: none. Read by others under RCU */
	enum tacet_call call;		/* the last one */
	bool executed;			/* a new program: prepare its memory */
	bool memory_due;		/* a new program has not run yet: now it may get a range */
	struct tacet_range *copied;	/* by its fork that is under way, referenced, or NULL */
	unsigned long path_asked, path_given;	/* of the call in progress, or 0 */
	unsigned int futex_wait;	/* what the call in progress counts as; delegate/futex.c */
	unsigned long advised;		/* by the call in progress, when replaced */
	bool advice_replaced;
	bool call_seen;			/* it is making a call that a core or memory/calls.c has seen */
	const struct tacet_spoiling *spoiling;	/* of the call in progress, or NULL; memory/send_back.c */
	unsigned long spoilt;		/* its argument */
	unsigned int sent_back;		/* calls to be made on a core, since it was on one */
	u64 fault_address, fault_ip;	/* the last page fault, to notice a repetition */
	unsigned int fault_repeats;
	unsigned int range_repeats;	/* of a call that finds its memory mirrored */
	u64 range_refused_start, range_refused_end, range_local_calls;	/* the last time; memory/calls.c */
	u64 signals;
	u64 calls;
};

extern struct tacet_partition tacet_partition;
extern bool tacet_test_hooks;
extern struct workqueue_struct *tacet_workqueue;

/* base/state.c, base/report.c, base/hosted.c: called by all, call nobody */
struct tacet_core *tacet_core_of(unsigned int cpu);
__printf(2, 3) void tacet_report(u32 level, const char *format, ...);
u64 tacet_report_count(void);
void tacet_report_read(u64 sequence, struct tacet_log_entry *entry);
const struct tacet_log *tacet_log_of(u32 cpu);
void tacet_log_capture(struct tacet_partition *partition);
void tacet_log_exit(void);
struct tacet_hosted *tacet_hosted_of(struct task_struct *task);	/* RCU */
struct tacet_hosted *tacet_hosted_get(struct task_struct *task);
void tacet_hosted_put(struct tacet_hosted *hosted);
struct tacet_hosted *tacet_hosted_new(struct task_struct *task, gfp_t gfp);
void tacet_hosted_enter(struct tacet_hosted *hosted);
void tacet_hosted_hide(struct tacet_hosted *hosted);
void tacet_hosted_leave(struct tacet_hosted *hosted);
bool tacet_hosted_ends(struct task_struct *task, bool whole);
unsigned int tacet_hosted_count(void);
void tacet_hosted_wake_all(void);
void tacet_for_each_hosted(void (*visit)(struct tacet_hosted *, void *), void *data);

#endif
