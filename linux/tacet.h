/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The order of the folders, and the structures that all of them share.
 *
 * The order of the folders is the order of calls:
 *
 *	main.c > doors/ > partition/ > delegate/ > view/ > process/ > memory/ > pico/ > border/ > arch/ > base/
 *
 * A file calls files of its own folder and of those to the right, and no two files call each other in a
 * circle. A call in the other direction goes through operations that the file to the left registers.
 *
 *	doors/		what user space asks for: the device, sysfs, /proc
 *	partition/	up, down and the end after a failure: starts and stops all that is to the right
 *	delegate/	entries from Linux in a hosted thread's own context: its calls, faults, signals, births
 *	view/		what Linux's files and calls tell hosted programs about their CPUs
 *	process/	hosted processes and threads: which cores they go to, which time they use
 *	memory/		ranges
 *	../pico/	fast paths of devices, and below it each kind of devices
 *	border/		messages to and from cores, address spaces, failure
 *	arch/		the processor
 *	base/		shared by all: the partition, the table of hosted threads, reports
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
#include <linux/percpu.h>
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
#include <tacet/pico.h>
#include <tacet/space.h>

#include "base/context.h"
#include "base/hosted.h"
#include "locks.h"

#define TACET_MAX_BLOCKS 256
#define TACET_CONTEXTS_PER_CPU 64
#define TACET_THREADS_PER_CPU 256	/* what a ring holds */

/* A physically contiguous piece of the partition. Written under the control
 * lock only. */
struct tacet_block {
	unsigned long pfn;
	unsigned long pages;		/* 0: none is here */
	int node;
	struct tacet_frame *records;	/* of a block that joined later, or NULL */
	bool joined;			/* the co-kernel has it, since it joined later */
};

/* What Linux asks of a core: each has a slot in the core's page. */
enum tacet_slot {
	TACET_SLOT_WAKE,		/* wake threads that wait for a futex */
	TACET_SLOT_ASK,			/* a question about ranges and frames */
	TACET_SLOTS,
};

/* The clock that a CPU asked for while it was Linux's; arch/x86/performance.c. */
struct tacet_performance_state {
	u32 control;			/* enum tacet_performance */
	u32 allowed_khz;		/* by cpufreq; 0: it does not manage this CPU */
	bool limited;			/* and that is not the most */
	bool has_bias;
	u64 before, highest, bias;
};

/* A CPU that the partition has or may have. Written under the control lock; the counters as noted. */
struct tacet_core {
	unsigned int cpu;
	u32 apicid;
	int node;
	int virq;			/* its interrupt into Linux, 0 if none */
	bool taken;			/* Linux has it offline for us */
	bool started;			/* it was sent into the co-kernel */
	struct tacet_cpu *shared;
	spinlock_t inbox_lock;		/* producers of shared->inbox */
	raw_spinlock_t bell_lock;	/* audible, and shared->doorbells_sent */
	bool audible;			/* it runs the co-kernel: it may be rung */
	int package, physical_core;	/* topology, read while it was online */
	struct tacet_performance_state performance;	/* as read while it was online */
	unsigned int threads;		/* hosted here; under tacet_hosted_lock */
	unsigned int job;		/* the number of the job that has it, or 0; control lock and hosted lock */
	bool lent;			/* it joined for a job, not for root; control lock */
	u64 kept_ns;			/* no job has it since then, and the next may; 0: it is not kept; control lock */
	unsigned int maps;		/* the number of the job whose memory alone it maps; 0: all. Control lock */
	atomic_t posted;		/* of them, posted and not returned */
	u64 last_return_ns;		/* when one returned; written by these threads */
	struct mutex slots[TACET_SLOTS];	/* the thread that uses the slot; border/slot.c */
	/* the watch's memory, under the watch's work item only */
	u64 watched_steps;
	unsigned int stuck_jiffies;
	bool turn_over;			/* a thread has waited for it for long enough */
	u64 bad_seen;			/* of shared->bad_count */
};

/* The partition; there is at most one. */
struct tacet_partition {
	enum tacet_partition_state state;	/* control lock; read with READ_ONCE */
	unsigned int failed;		/* enum tacet_failed; border/fail.c */
	bool unproven;			/* a core may still run: keep its memory; control lock */
	struct cpumask cpus;		/* that it has now; control lock and hosted lock */
	struct cpumask free;		/* of these: threads without a job may go there; hosted lock */
	struct cpumask reach;		/* that it has or may have; control lock */
	struct tacet_core *cores;	/* one for each CPU of `reach`, as long as it is up */
	unsigned int core_count;
	struct tacet_block blocks[TACET_MAX_BLOCKS];
	unsigned int block_count;
	unsigned int first_blocks;	/* so many of them came with the partition, and stay */
	void *image;			/* in block 0, as everything below */
	size_t image_bytes;
	size_t image_span;		/* with bss */
	void *cpu_pages;
	struct tacet_context *contexts;
	unsigned int context_count;
	struct tacet_space_shared *spaces;	/* as many as contexts */
	unsigned long *spaces_taken;	/* bits; border/space.c's lock */
	struct tacet_memory *memory;	/* NULL: programs get none */
	struct tacet_range_shared *ranges;	/* as many as contexts */
	struct tacet_frame *frames;	/* the records of frames */
	void *pico;			/* the area of fast paths; NULL: no device has one */
	size_t pico_bytes;
	void *private;
	void *tables;			/* struct tacet_tables of arch */
	void *apart[TACET_JOBS];	/* the same for cores of job n + 1, if that is kept apart; control lock */
	u8 *context_jobs;		/* by context number: the job that is kept apart and whose cores map
					   it, or 0; control lock or hosted lock */
	struct tacet_hosted **owners;	/* by context number; hosted lock, RCU readers */
	u32 measures, waived;		/* enum tacet_measure; before the cores start */
	u64 up_ns, down_ns;
	unsigned int up_count;
	char message[TACET_TEXT_BYTES];
};

/* Memory that a core may have cached is not reused before the core is silent. */
enum tacet_failed {
	TACET_FAILED_NOTICED = 1,
	TACET_FAILED_SILENT,
};

extern struct tacet_partition tacet_partition;

/* What cores of job number @job map: its memory alone, then this is @job; or that of all, then it is 0. */
static inline unsigned int tacet_job_maps(unsigned int job)
{
	return job && READ_ONCE(tacet_partition.apart[job - 1]) ? job : 0;
}

extern bool tacet_test_hooks;
extern struct workqueue_struct *tacet_workqueue;

/* Time that the CPU gave to hosted threads since it is in the partition, as far as it was
 * charged; process/time.c adds to it. */
DECLARE_PER_CPU(atomic64_t, tacet_core_user_ns);
DECLARE_PER_CPU(u64, tacet_core_taken_ns);	/* when it left Linux: CLOCK_MONOTONIC; control lock */

/* base/state.c, base/report.c: any context unless said otherwise */
struct tacet_core *tacet_core_of(unsigned int cpu);
bool tacet_core_is_here(const struct tacet_core *core);
u32 tacet_core_looks_ns(void);
__printf(2, 3) void tacet_report(u32 level, const char *format, ...);
u64 tacet_report_count(void);
void tacet_report_read(u64 sequence, struct tacet_log_entry *entry);
const struct tacet_log *tacet_log_of(u32 cpu);
void tacet_log_capture(struct tacet_partition *partition);
void tacet_log_exit(void);

#endif
