/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs' memory of the partition, as Linux sees it: a range for each process. Calls
 * border/, arch/ and base/ only; process/ and everything above it may call it.
 *
 * The files in the order of calls:
 *
 *	calls.c > answers.c; send_back.c, core_dump.c	what concerns a range and comes to Linux
 *	program.c > create.c, sanitizer.c > image.c	a new program gets a range, and its data into it
 *	handover.c > handover_room.c, handover_map.c, handover_waits.c	a range becomes ordinary Linux memory
 *	mapping.c > fork.c, mirror.c		the range's mapping on Linux, and its faults
 *	discard.c > held.c			what is given back past the cores
 *	policy.c				where memory comes from
 *	release.c > locked.c, names.c, resident.c, held.c > walk.c > range.c	ranges, their names, locks and tables
 *	inode.c, discards.c			what Linux finds a range's pages by; what was given back
 *
 * Locks: locks.h.
 */
#ifndef TACET_MEMORY_MEMORY_H
#define TACET_MEMORY_MEMORY_H

#include <linux/maple_tree.h>

#include "border/border.h"
#include "tacet.h"

struct tacet_spoiling;

/* What cores find at a range's addresses. */
enum tacet_range_visibility {
	TACET_RANGE_VISIBLE,		/* the range's own tables */
	TACET_RANGE_HIDDEN,		/* nothing: the range is being handed over */
	TACET_RANGE_HANDED_OVER,	/* Linux's tables, as everywhere */
};

/* The addresses at which a process has memory of the partition, as Linux sees them:
 * one mapping of a file, whose pages are the partition's. */
struct tacet_range {
	/* range.c; ranges_lock */
	struct hlist_node link;		/* by mm; RCU readers */
	bool listed;
	struct kref references;
	struct work_struct free_work;	/* without a reference */
	struct rcu_head rcu;
	struct mm_struct *mm;		/* the structure is referenced, not the memory */
	unsigned int number;		/* of shared; names.c */
	unsigned int job;		/* the number of its program's job, or 0 */
	struct tacet_range_shared *shared;
	u64 serial;			/* among all ranges there ever were */
	unsigned long base;		/* written before anybody maps it */
	bool partition_gone;		/* mmap lock, for writing */
	atomic_t mappings;		/* pieces of the mapping; one more while it is handed over */

	enum tacet_range_visibility visibility;	/* range mutex */
	struct mutex lock;		/* the range mutex: hand-over, unmirroring, rights */

	/* mapping.c, fork.c */
	struct address_space *mapping;	/* of the range's file, whose inode it holds; a child has its parent's */
	atomic_t forks;			/* in progress; one more while it is `discarding`: cores find nothing meanwhile */
	atomic_t to_copy;		/* calls that will copy it or do: no hand-over begins. More: range mutex */
	bool lost;			/* the content is lost: a fork's copy or a hand-over failed */

	/* locked.c; range mutex */
	struct maple_tree locks;	/* which pages are locked */
	unsigned long locked_pages;	/* that Linux counts as locked pages of mm */
	bool eager;			/* pages come with their mapping, whatever mlockall() says */

	/* discard.c, discards.c: what was given back past the cores */
	spinlock_t discards_lock;	/* the next two */
	struct list_head discards;
	bool discarding;		/* there are some, or one is being discarded */
	struct work_struct discard_work;

	/* resident.c */
	spinlock_t counted_lock;	/* the next three; innermost */
	long counted;			/* pages that Linux counts as resident memory of mm */
	long counted_most;		/* that there ever were, as its peak takes into account */
	bool counted_for_good;		/* none is, nor will be */

	/* handover.c, handover_room.c; range mutex */
	unsigned long no_room_at;	/* jiffies; 0: Linux has always had room */
	unsigned long booked;		/* mappings of the process that it is about to make */
	struct task_struct *handing_over;	/* the thread that does it */
	struct page *zero_page;		/* content of the pages without a frame */
	struct callback_head return_work;	/* hands over when a task returns to user mode */
	atomic_t handover_queued;	/* the next two are in use */
	struct work_struct handover_work;
	struct task_struct *handover_task;	/* a thread of the process, referenced */
};

/* A program whose data go into a range, but for the first pages. Addresses are those of its file, in whole pages. */
struct tacet_image {
	struct file *file;
	struct elf64_phdr *headers;
	unsigned int header_count;
	u64 text, data, end;		/* its beginning, the first writable page, its end */
	u64 settled;			/* behind what its loader makes read-only; at least data */
	u64 border;			/* the first page in the range */
	u64 alignment;			/* of all segments; at least a page */
	u64 bias;			/* added to these addresses where the program is now, */
	u64 wanted;			/* and where it goes */
	u64 mapped;			/* there: up to here */
};

/* range.c: any context, but for _begin, which sleeps with the control lock held. _find: in
 * an RCU read section. */
void tacet_memory_init(void);
int tacet_ranges_begin(void);
void tacet_ranges_end(void);
unsigned int tacet_range_count(void);
bool tacet_range_any_of_all(void);
unsigned int tacet_range_count_of(unsigned int job);
struct tacet_range *tacet_range_new(struct mm_struct *mm, unsigned int job);	/* sleeps */
void tacet_range_publish(struct tacet_range *range);
void tacet_range_unlist(struct tacet_range *range, bool partition_gone);
struct tacet_range *tacet_range_find(struct mm_struct *mm);
struct tacet_range *tacet_range_get(struct mm_struct *mm);
struct tacet_range *tacet_range_any(void);
struct tacet_range *tacet_range_after(u64 serial);
void tacet_for_each_range(void (*visit)(struct tacet_range *range));	/* any context */
void tacet_range_put(struct tacet_range *range);
bool tacet_range_covers(const struct tacet_range *range, u64 start, u64 bytes);
bool tacet_range_unlimited(void);	/* the calling process */
void tacet_range_set_visibility(struct tacet_range *range, enum tacet_range_visibility visibility);
void tacet_range_sync(struct tacet_range *range);
void tacet_range_count_forks(struct tacet_range *range, int change);

/* The lock of a page's piece, which cores take too. _lock and _settle sleep; a holder is not
 * preempted and does not sleep. */
bool tacet_range_lock(struct tacet_range *range, unsigned long page);
void tacet_range_unlock(struct tacet_range *range, unsigned long page);
void tacet_range_settle(struct tacet_range *range);

/* walk.c: a range's tables. _leaf: with the piece's lock, or the range is closed; the other
 * two take it, and sleep. */
struct tacet_leaf {
	u64 *entry;
	u64 value;
	unsigned long page, pages;	/* of the range */
};
struct tacet_leaf tacet_range_leaf(const struct tacet_range *range, unsigned long page);
unsigned long tacet_leaf_end(const struct tacet_leaf *leaf);	/* as _leaf */
u64 tacet_leaf_frame(const struct tacet_leaf *leaf);	/* its first one, if it has frames */
bool tacet_leaf_has_frames(const struct tacet_leaf *leaf);
bool tacet_leaf_mapped(const struct tacet_leaf *leaf);
bool tacet_leaf_forbids(const struct tacet_leaf *leaf, bool write, bool execute);
struct tacet_run {		/* neighbouring pages that Linux has in one mapping */
	unsigned long page, pages;
	unsigned long protection;	/* PROT_* */
	bool undumped;			/* MADV_DONTDUMP */
	bool locked;			/* tacet_locked_run() only */
};
struct tacet_run tacet_range_run(struct tacet_range *range, unsigned long from);
unsigned long tacet_range_populated(struct tacet_range *range);
bool tacet_frames_have(u64 frame, unsigned long count);

/* holders.c: sleeps */
pid_t tacet_frames_holder(u64 first, unsigned long count);

/* bad.c: memory that the processor or Linux calls bad. Sleep; the last two under the control
 * lock. _used: the calling thread used it on a core. */
void tacet_bad_used(u64 address);
void tacet_bad_look(struct tacet_core *core);
bool tacet_bad_has(u64 frame);
void tacet_bad_start(void);
void tacet_bad_stop(void);

/* held.c: sleep */
void tacet_range_unmirror(struct tacet_range *range, u64 start, u64 end);
void tacet_range_unmirror_locked(struct tacet_range *range, unsigned long page, unsigned long end);
void tacet_held_mark(struct tacet_range *range, unsigned long page, unsigned long pages);
bool tacet_held_await(struct tacet_range *range);
bool tacet_held_any(void);
bool tacet_held_has(u64 frame);
void tacet_held_exit(void);

/* locked.c: sleep; with the range mutex, but for _end, _hand_over and _refuses */
void tacet_locked_end(struct tacet_range *range);
int tacet_locked_add(struct tacet_range *range, unsigned long page, unsigned long end, unsigned long mapped_end,
		     bool on_fault);
void tacet_locked_all(struct tacet_range *range, unsigned int flags);
int tacet_locked_remove(struct tacet_range *range, unsigned long page, unsigned long end);
bool tacet_locked_any(struct tacet_range *range, unsigned long page, unsigned long end);
struct tacet_run tacet_locked_run(struct tacet_range *range, unsigned long from);
void tacet_locked_hand_over(struct tacet_range *range);
bool tacet_locked_refuses(struct tacet_range *range, const struct pt_regs *regs, u64 start, u64 end);

/* inode.c: sleep, but for _get and _zaps. _zap: Linux maps these pages no more, nor do relatives of
 * the process; @bytes 0: all from @start on. _zaps: the calling task is in _zap. */
struct address_space *tacet_range_inode_new(void);
struct address_space *tacet_range_inode_get(struct address_space *mapping);
void tacet_range_inode_put(struct address_space *mapping);
void tacet_range_zap(struct tacet_range *range, loff_t start, loff_t bytes);
bool tacet_range_zaps(void);

/* discards.c: where no spinlock is held */
void tacet_discards_init(struct tacet_range *range);
void tacet_discards_free(struct tacet_range *range);
bool tacet_discards_any(const struct tacet_range *range);
bool tacet_discards_add(struct tacet_range *range, unsigned long first, unsigned long pages,
			void (*begin)(struct tacet_range *range));
bool tacet_discards_take(struct tacet_range *range, unsigned long *first, unsigned long *pages,
			 void (*end)(struct tacet_range *range));

/* discard.c: sleep, but for _init and _begin; _settle_locked with the range mutex */
void tacet_discard_init(void);
void tacet_discard_begin(struct tacet_range *range);
void tacet_discard_settle(struct tacet_range *range);
void tacet_discard_settle_locked(struct tacet_range *range);

/* resident.c: any context */
void tacet_range_account(struct tacet_range *range);
void tacet_range_account_end(struct tacet_range *range);

/* names.c: _name and _unname by the thread; _withdraw sleeps */
bool tacet_range_name(struct tacet_hosted *hosted);
void tacet_range_unname(struct tacet_hosted *hosted);
void tacet_range_withdraw(struct tacet_range *range);

/* release.c: sleep; _end with the control lock held */
void tacet_range_mapping_gone(struct tacet_range *range);
void tacet_memory_end(void);

/* policy.c: the context of the thread that wants memory; _describe before the cores start */
struct tacet_policy tacet_policy_mine(void);
u32 tacet_nodes_allowed(void);
bool tacet_policy_excludes(void);
void tacet_policy_describe(struct tacet_memory *memory);

/* mirror.c: faults, with the mmap lock held; _signal: a thread of the process */
vm_fault_t tacet_mirror(struct vm_fault *vmf);
vm_fault_t tacet_mirror_to_write(struct vm_fault *vmf);
void tacet_range_signal(unsigned long address, u64 error);

/* fork.c: _fork inside fork(), with both mmap locks; _forked: any context; the others sleep */
void tacet_range_fork(struct vm_area_struct *area, struct tacet_range *from);
void tacet_range_will_fork(struct tacet_hosted *hosted, struct tacet_range *range);
void tacet_range_await_forks(const struct tacet_range *range);
void tacet_range_forked(struct tacet_hosted *hosted);

/* mapping.c: sleep; _opened and _closed with the mmap lock held */
struct file *tacet_mapping_open_file(struct tacet_range *range);
void tacet_mapping_opened(struct vm_area_struct *area);	/* one more piece, or a child's */
void tacet_mapping_closed(struct vm_area_struct *area);
void tacet_mapping_grant(struct tacet_range *range, u32 rights);

/* handover_room.c: sleeps; the range is closed */
int tacet_handover_book(struct tacet_range *range);
void tacet_handover_unbook(struct tacet_range *range, unsigned long mappings);

/* handover_waits.c: sleeps */
void tacet_handover_restart_waits(struct tacet_range *range);

/* handover_map.c: sleep; the range is closed */
struct tacet_handover_map {
	struct tacet_range *range;
	const struct tacet_run *run;	/* that is being mapped */
	struct file *file;		/* what is mapped at first */
	struct file *zeros;		/* by which the mappings are found, to remove what they map of it */
};
int tacet_handover_map_begin(struct tacet_handover_map *handover);
int tacet_handover_map_run(struct tacet_handover_map *handover, const struct tacet_run *run);
void tacet_handover_map_end(struct tacet_handover_map *handover, bool all);

/* handover.c: the first two sleep, in a thread of the process; the other two: any context. @why
 * stands in the log. -ENOMEM: Linux has no room for the range, which stays the partition's. */
int tacet_handover(struct tacet_range *range, const char *why);
int tacet_handover_mine(const char *why);
void tacet_handover_queue(struct tacet_range *range, struct task_struct *task);
void tacet_handover_on_return(struct tacet_range *range, struct task_struct *task);

/* sanitizer.c, image.c, create.c, program.c: a thread whose program is about to begin; sleep */
bool tacet_image_has_sanitizer(const struct tacet_image *image);
u64 tacet_auxiliary(u64 type);
bool tacet_image_read(struct file *file, void *to, size_t bytes, loff_t from);
bool tacet_segment_writable(const struct elf64_phdr *segment);
const char *tacet_image_find(struct tacet_image *image, const struct pt_regs *regs);
int tacet_image_map_below(struct tacet_image *image, u64 base);
void tacet_image_unmap_below(struct tacet_image *image);
u64 tacet_image_pages(const struct tacet_image *image);
const char *tacet_range_divide(struct tacet_image *image);
int tacet_range_create(bool eager, struct tacet_image *image);
void tacet_program_begin(bool eager, struct pt_regs *regs);

/* answers.c: the thread's own context; sleeps. False: it is not one of its calls. */
bool tacet_range_answers(struct tacet_range *range, struct pt_regs *regs);
bool tacet_range_locks_without_limit(void);
void tacet_range_locks_all(struct tacet_range *range, const struct pt_regs *regs);

/* calls.c: the thread's own context; sleep */
enum tacet_served {
	TACET_SERVED_BY_LINUX,		/* Linux performs the call */
	TACET_SERVED_BY_CORE,		/* the core tries it again */
	TACET_SERVED,			/* regs->ax has the result */
};
enum tacet_served tacet_range_before_call(struct tacet_hosted *hosted, struct pt_regs *regs, bool matters);
unsigned long tacet_range_refuse(const struct tacet_range *range, long number, int error);
void tacet_range_before_post(struct tacet_hosted *hosted, bool looked_at);
int tacet_range_fault(struct tacet_hosted *hosted, unsigned long address, u64 error);

/* send_back.c: around a call on Linux; in an RCU read section */
void tacet_send_back_before_call(struct tacet_hosted *hosted, struct pt_regs *regs, long number);
void tacet_send_back_after_call(struct tacet_hosted *hosted, struct pt_regs *regs);
bool tacet_sent_back_too_often(const struct tacet_hosted *hosted);
void tacet_stranger_before_call(struct pt_regs *regs, long number, int (*settle)(void));

/* core_dump.c: the thread's own context; sleep */
void tacet_range_before_signals(void);
void tacet_range_before_exception(unsigned int vector);

#endif
