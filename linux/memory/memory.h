/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs' memory of the partition, as Linux sees it: a range for each process, and what
 * the files of memory/ offer each other and the rest of the module.
 *
 * Lock order: a range's mutex > mmap lock > the lock of asking (mutex) > the locks of a
 * range's pieces, which cores take too; here never two of them.
 */
#ifndef TACET_MEMORY_MEMORY_H
#define TACET_MEMORY_MEMORY_H

#include "border/border.h"
#include "tacet.h"

/* Where a core's own entry of a range points, and why not. */
enum tacet_range_visibility {
	TACET_RANGE_VISIBLE,
	TACET_RANGE_HIDDEN,		/* cores find nothing: it is being copied or given up */
	TACET_RANGE_HANDED_OVER,		/* its addresses are Linux's like all others */
};

/* The addresses at which a process has memory of the partition, as Linux sees them:
 * one mapping of a file, whose pages are the partition's. memory/range.c */
struct tacet_range {
	struct hlist_node link;		/* by mm; memory/range.c's lock, RCU readers */
	struct kref references;
	struct rcu_head rcu;
	struct mm_struct *mm;		/* its structure is held, not its memory */
	struct address_space *mapping;
	unsigned long base;
	unsigned int number;		/* of shared */
	struct tacet_range_shared *shared;
	u64 serial;			/* of all ranges there ever were */
	enum tacet_range_visibility state;
	struct mutex lock;		/* leaving, retiring */
	atomic_t forks;			/* under way: cores find nothing */
	atomic_t areas;			/* pieces of the mapping, and who leaves */
	bool listed;			/* memory/range.c's lock */
	bool dead;			/* the partition is gone; mmap lock, to write */
	bool lost;			/* a fork's copy failed */
	struct task_struct *leaver;	/* who gives it up */
	struct page *blank;		/* while it is handed over: what has no frame */
	atomic_t leave_queued;
	struct callback_head leave_soon;
	struct work_struct leave_work;
	struct task_struct *leave_task;	/* of leave_work: a thread of it, referenced */
};

/* A program whose data are to be in a range, by the addresses of its file, in whole pages. memory/image.c */
struct tacet_image {
	struct file *file;
	struct elf64_phdr *headers;
	unsigned int header_count;
	u64 text, data, end;		/* where it begins, what it may write begins, it ends */
	u64 alignment;
	u64 bias;			/* is added to them where it is, */
	u64 wanted;			/* and where it is to be */
	u64 mapped;			/* there: up to here */
};

/* memory/range.c */
void tacet_memory_init(void);
int tacet_range_init(void);
void tacet_range_exit(void);
unsigned int tacet_range_count(void);
int tacet_range_create(bool eager, struct tacet_image *image);
bool tacet_range_unlimited(void);	/* the calling process */
struct tacet_range *tacet_range_new(struct mm_struct *mm);
void tacet_range_publish(struct tacet_range *range);
struct tacet_range *tacet_range_find(struct mm_struct *mm);	/* RCU */
struct tacet_range *tacet_range_get(struct mm_struct *mm);
void tacet_range_put(struct tacet_range *range);
void tacet_range_set_state(struct tacet_range *range, enum tacet_range_visibility state);
void tacet_range_sync(struct tacet_range *range);
void tacet_range_area_gone(struct tacet_range *range);
bool tacet_range_lock(struct tacet_range *range, unsigned long page);
void tacet_range_unlock(struct tacet_range *range, unsigned long page);
void tacet_range_settle(struct tacet_range *range);
bool tacet_range_covers(const struct tacet_range *range, u64 start, u64 bytes);

/* memory/image.c: the context of a thread whose program is about to begin; sleep */
int tacet_image_map_text(struct tacet_image *image, u64 base);
void tacet_image_unmap_text(struct tacet_image *image);
u64 tacet_image_pages(const struct tacet_image *image, u64 base);
void tacet_image_host(bool eager, struct pt_regs *regs);

/* memory/mirror.c: the mmap lock held */
vm_fault_t tacet_mirror(struct vm_fault *vmf);
vm_fault_t tacet_mirror_to_write(struct vm_fault *vmf);

/* memory/area.c */
struct file *tacet_range_open_file(struct tacet_range *range);
void tacet_range_open_area(struct vm_area_struct *area);	/* a piece more, or a child's */
void tacet_range_close_area(struct vm_area_struct *area);
void tacet_range_forked(struct tacet_hosted *hosted);	/* any context */
void tacet_range_grant(struct tacet_range *range, u32 rights);	/* sleeps */

/* memory/tables.c: a range's tables; under its lock, or closed */
struct tacet_leaf {
	u64 *entry;
	u64 value;
	unsigned long page, pages;	/* of the range */
};
struct tacet_leaf tacet_range_leaf(const struct tacet_range *range, unsigned long page);
bool tacet_leaf_forbids(const struct tacet_leaf *leaf, bool write, bool execute);
struct tacet_run {		/* neighbouring pages with one protection, PROT_* */
	unsigned long page, pages;
	unsigned long protection;
};
struct tacet_run tacet_range_run(struct tacet_range *range, unsigned long from);
unsigned long tacet_range_populated(struct tacet_range *range);
bool tacet_frames_have(u64 frame, unsigned long count);

/* memory/leave.c: sleep */
void tacet_range_leave(struct tacet_range *range);
void tacet_range_leave_mine(void);
void tacet_range_leave_soon(struct tacet_range *range, struct task_struct *task);
void tacet_range_leave_elsewhere(struct tacet_range *range, struct task_struct *task);

/* memory/handover.c: sleep */
struct tacet_handover {
	struct tacet_range *range;
	unsigned long protection;	/* of the run that is being mapped, PROT_* */
	struct file *file;		/* what is mapped at first */
	struct file *zeros;		/* what the mappings have in the end */
};
int tacet_handover_begin(struct tacet_handover *handover);
int tacet_handover_run(struct tacet_handover *handover, const struct tacet_run *run);
void tacet_handover_end(struct tacet_handover *handover, bool all);

/* memory/policy.c: the thread's own context; the last one before the cores start */
struct tacet_policy tacet_policy_mine(void);
u32 tacet_nodes_allowed(void);
bool tacet_policy_excludes(void);
void tacet_policy_describe(struct tacet_memory *memory);

/* memory/maps.c */
int tacet_maps_init(void);
void tacet_maps_exit(void);

/* memory/waits.c: sleeps */
void tacet_range_wait_anew(struct tacet_range *range);

/* memory/kept.c: sleep */
void tacet_range_retire(struct tacet_range *range, u64 start, u64 end);
void tacet_range_keep(struct tacet_range *range, unsigned long page, unsigned long pages);
void tacet_kept_exit(void);

/* memory/calls.c: the thread's own context */
bool tacet_range_before_call(struct tacet_hosted *hosted, struct pt_regs *regs);
void tacet_range_before_post(struct tacet_hosted *hosted, bool looked_at);
void tacet_range_signal(unsigned long address, u64 error);
int tacet_range_fault(struct tacet_hosted *hosted, unsigned long address, u64 error);

/* memory/native.c: around a call on Linux; RCU */
void tacet_native_before_call(struct tacet_hosted *hosted, struct pt_regs *regs, long number);
void tacet_native_after_call(struct tacet_hosted *hosted, struct pt_regs *regs);
bool tacet_native_for_long(const struct tacet_hosted *hosted);	/* the thread's own context */

/* memory/core_dump.c: the thread's own context */
void tacet_range_before_signals(void);
void tacet_range_before_exception(unsigned int vector);

#endif
