/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The border with the co-kernel: messages to and from cores, address spaces as cores see
 * them, and what happens when a core does not do its part. Calls arch/ and base/ only.
 */
#ifndef TACET_BORDER_BORDER_H
#define TACET_BORDER_BORDER_H

#include "tacet.h"

struct tacet_range;

/* The address space of a hosted process, as a core sees it. */
struct tacet_space {
	struct mmu_notifier notifier;
	struct mmu_notifier *follower;	/* unmaps.c's; with a range */
	struct hlist_node link;		/* by mm; border/space.c's lock, RCU readers */
	struct tacet_space_shared *shared;	/* or NULL: too many spaces */
	unsigned int job;		/* the number of the job of the thread that it was made for, or 0 */
	unsigned int last_core;		/* index: where a thread of it was posted last */
	raw_spinlock_t lock;		/* writers of the root's user half */
	struct page *root;
	bool complete;			/* the root repeats all of Linux's: border/space.c, by its first thread */
	u64 root_address;		/* physical */
	atomic_t users;			/* threads that may run in it */
	struct rcu_head rcu;
	struct tacet_range *range;	/* memory/'s, referenced; NULL: all its memory is Linux's */
	struct page *fourth;		/* with a range: tacet_tables_with_range() */
	bool locked;			/* delegate/populate.c: we have locked all its mappings */
	struct page **early;		/* delegate/populate.c: referenced until the space ends, */
	unsigned int early_count;	/* so many */
	bool rings;			/* delegate/ring_futex.c: io_uring may know its futexes */
	bool released;			/* the mm is going; under lock */
	atomic_t closing;		/* pico/linux/calls.c: calls that change descriptors */
	unsigned long next_grant[TACET_PICO_GRANTS];	/* pico/linux/ask.c: jiffies */
};

/* What memory/ knows of a process's range. Any context. */
struct tacet_space_operations {
	struct tacet_range *(*get_range)(struct mm_struct *mm);	/* a reference, or NULL */
	void (*put_range)(struct tacet_range *range);
	/* False: cores find Linux's tables at the range's addresses, as everywhere. Else the
	 * range begins at *@base, and *@frame has its tables, 0 for none. */
	bool (*range_tables)(const struct tacet_range *range, unsigned long *base, u64 *frame);
	unsigned int (*range_job)(const struct tacet_range *range);	/* its job's number, or 0 */
};

/* space.c. _tell: once, before there is any space; @gone: any context. _get takes the mmap lock; _get and _settle sleep. _put: any
 * context. _sync and _flush: also under page-table locks. _find: in an RCU read section. */
void tacet_space_tell(void (*gone)(struct tacet_space *space));
void tacet_space_use(const struct tacet_space_operations *operations);
struct tacet_space *tacet_space_get(struct mm_struct *mm);
void tacet_space_put(struct tacet_space *space);
void tacet_space_settle(void);
void tacet_space_sync(struct tacet_space *space, unsigned long start, unsigned long end);
struct tacet_space *tacet_space_find(struct mm_struct *mm);
void tacet_flush_cores(u64 root);

/* unmaps.c. _tell: once, before there is any space; @unmapped has the mmap lock, and may sleep, but not
 * reclaim memory. */
void tacet_unmaps_tell(void (*unmapped)(struct mm_struct *mm, unsigned long start, unsigned long end));
struct mmu_notifier *tacet_unmaps_follow(struct mm_struct *mm);
void tacet_unmaps_settle(void);

/* rings.c: any context. The thread's context is written before _post. */
void tacet_attention(struct tacet_core *core, u32 bits);
int tacet_post(struct tacet_core *core, struct tacet_hosted *hosted);
void tacet_retarget(struct tacet_core *core);
void tacet_recall(struct tacet_core *core, struct tacet_hosted *hosted);
void tacet_recall_killed(struct tacet_core *core, struct tacet_hosted *hosted);
void tacet_recall_turn(struct tacet_core *core, struct tacet_hosted *hosted);
irqreturn_t tacet_notified(int irq, void *core);

/* clock.c: the watch only */
void tacet_clock_tell(void);

/*
 * slot.c: requests that a core answers. _read is called once a core has answered. Sleeps.
 */
struct tacet_request {
	enum tacet_slot slot;
	bool killable;			/* a thread that is killed does not wait for a busy core */
	void (*write)(struct tacet_cpu *shared, const struct tacet_request *request);
	void (*read)(const struct tacet_cpu *shared, struct tacet_request *request);
	struct tacet_core *first;	/* one of the asking process, or NULL */
	struct tacet_core *only;	/* no other one, or NULL */
	unsigned int job;		/* the number of the job that it is about, or 0 */
	bool no_content;		/* it touches no program's memory: any core can serve it */
	const char *failure;		/* why the co-kernel fails if a core begins and does not end */
	struct tacet_core *core;	/* border/slot.c's own: the core that was asked last */
};
int tacet_request(struct tacet_request *request);
void tacet_requests_settle(struct tacet_core *core);

/* wake.c: sleeps. What a core does with threads that wait at an address. */
struct tacet_wake {
	u64 root;			/* the address space's */
	unsigned int core;		/* index: of one of the process */
	unsigned int job;		/* its job's number, or 0 */
	unsigned long address;
	u32 bitset;
	u32 woken, moved;		/* at most, in this order */
	unsigned long to;		/* where the moved ones wait from then on */
};
u32 tacet_wake(const struct tacet_wake *wake);

/*
 * ask.c: questions to the co-kernel about ranges and frames. Sleep; with a range's mutex or
 * the mmap lock held, never with a lock that cores take. -EIO: no core answers any more.
 * -EINTR: the calling thread is killed; not for TACET_ASK_CLEAR and _FREE, which are done.
 * Frames come from where @policy and @nodes, those allowed to the calling thread, say.
 */
int tacet_ask(enum tacet_ask kind, u64 first, u64 second);
int tacet_ask_join(u32 place, u64 first, u64 order, u64 node);
int tacet_ask_drain(struct tacet_core *core);
int tacet_ask_give(struct tacet_core *core, u64 job, u64 order);
int tacet_ask_discard(u64 number, u64 first, u64 pages);
int tacet_ask_map(u64 number, u64 first, u64 pages, struct tacet_policy policy, u32 nodes);
int tacet_ask_touch(u64 number, u64 page, bool write, struct tacet_policy policy, u32 nodes);

/* wait.c */
enum tacet_pause {
	TACET_PAUSE_SPIN,		/* any context */
	TACET_PAUSE_SLEEP,		/* spins for 20 us, then sleeps 20 us at a time */
};

/*
 * A wait for a core. May serve for several waits in a row, which then share the patience.
 *
 * A core may be busy for long with what a program wants of it, and shows that by its progress:
 * that renews the patience, since a core that works is not hung. Not so where a core answers
 * whatever it is doing, in the handler of its doorbell.
 */
struct tacet_wait {
	struct tacet_core *core;	/* NULL: for whichever core it is, so for all of them */
	/* 1: done, 0: not yet, negative: never. Called in the waiting thread. */
	int (*done)(const struct tacet_wait *wait);
	void *subject;			/* what done() looks at: these two are its own */
	u64 wanted;
	enum tacet_pause pause;
	wait_queue_head_t *queue;	/* sleeps here instead; or NULL */
	u64 patience_ns;		/* 0: without end */
	bool whatever_it_does;		/* the core's progress does not renew the patience */
	bool killable;			/* a fatal signal of the waiting thread ends it; sleeps */
	bool while_online;		/* the core is lost once it is not online */
	bool until_silent;		/* and not before it is silent, once the co-kernel has failed */
	bool killed;			/* the core was reset: no failure ends the wait */
	const char *failure;		/* why the co-kernel fails after the patience, or NULL */
	u64 since_ns, progress;		/* border/wait.c's own; zero at first */
};
int tacet_await(struct tacet_wait *wait);	/* the context: as @wait->pause says */

/* fail.c: any context, any number of times. The first call stops all cores before it returns;
 * then @failed is called, in a work item. */
void tacet_partition_fail(const char *reason);
int tacet_fail_init(void (*failed)(const char *reason));
void tacet_fail_exit(void);

#endif
