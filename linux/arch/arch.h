/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processor, as the rest of the module needs it; arch/<arch>/ offers it. Calls base/ only.
 */
#ifndef TACET_ARCH_ARCH_H
#define TACET_ARCH_ARCH_H

#include "tacet.h"

/* start.c: a core is started, rung and stopped. */
struct tacet_arch_start;

/* -EOPNOTSUPP, with the reason in @message: the machine lacks what a core needs. */
int tacet_arch_check(char *message, size_t size);
unsigned int tacet_arch_largest_page(void);	/* log2 of its bytes */

/*
 * One core at a time is started: _begin, _send until the core is online, _end. The control
 * lock is held; all sleep. _begin fills core->shared->boot with the settings of the CPU that
 * runs it. ERR_PTR: no memory.
 */
struct tacet_arch_start *tacet_arch_start_begin(struct tacet_partition *partition,
						struct tacet_core *core);
void tacet_arch_start_send(struct tacet_core *core);
void tacet_arch_start_end(struct tacet_arch_start *start);

/* Any context. After _listen the core may be rung; _kill resets it, which takes a moment. */
void tacet_arch_listen(struct tacet_core *core);
void tacet_arch_ring(struct tacet_core *core);
void tacet_arch_kill(struct tacet_core *core);
void tacet_arch_kill_in_panic(struct tacet_core *core);

/* The proof that a killed core executes nothing any more: _begin, _send until it is proven,
 * _end. The control lock is held; all sleep but the third. NULL: no memory. */
struct tacet_arch_proof;
struct tacet_arch_proof *tacet_arch_proof_begin(struct tacet_core *core);
void tacet_arch_proof_send(struct tacet_core *core);
bool tacet_arch_proven(void);
void tacet_arch_proof_end(struct tacet_arch_proof *proof, struct tacet_core *core);

/* The interrupt of Linux by which a core is heard. _open and _close sleep, under the control
 * lock; _target tells the core where it is now, under the core's inbox lock. */
int tacet_arch_notify_open(struct tacet_core *core, irq_handler_t handler);
void tacet_arch_notify_close(struct tacet_core *core);
void tacet_arch_notify_target(struct tacet_core *core);

/* home.c. _home: preemption off; _watch: interrupts off; the halts: interrupts off, and on when they return. */
bool tacet_arch_watches(void);
void tacet_arch_watch(const void *place);
void tacet_arch_halt_watching(void);
u64 tacet_arch_home(void);
void tacet_arch_halt(void);

/* performance.c: the clock. Sleep, under the control lock, while Linux has the CPU online. */
void tacet_arch_performance_save(struct tacet_core *core);
void tacet_arch_performance_restore(struct tacet_core *core);

/* tables.c: the partition's tables. The first three sleep, under the control lock;
 * _map adds a page for the cores that run. */
int tacet_tables_build(struct tacet_partition *partition);
void tacet_tables_free(struct tacet_partition *partition);
int tacet_tables_map_block(struct tacet_partition *partition, const struct tacet_block *block);
bool tacet_tables_unmap_block(struct tacet_partition *partition, const struct tacet_block *block);
int tacet_tables_map(struct tacet_partition *partition, u64 address, u64 physical, bool registers);
u64 tacet_tables_root(struct tacet_partition *partition, unsigned int job);
u64 tacet_tables_spaces(const struct tacet_partition *partition);

/* Entries of a root for a core. Any context. */
void tacet_tables_copy_kernel(struct tacet_partition *partition, struct page *root, unsigned int job);
u64 tacet_tables_user_entry(struct mm_struct *mm, unsigned int index);
u64 tacet_tables_with_range(struct page *fourth, u64 entry, unsigned long base, u64 range, unsigned long start,
			    unsigned long end);
u64 tacet_tables_range_entry(u64 frame);
unsigned int tacet_tables_index(unsigned long address);

/* job_tables.c: the tables of jobs that are kept apart (partition->apart). Sleep, under the control lock; _show: any
 * context, while the job has not ended. */
int tacet_tables_job_begin(struct tacet_partition *partition, unsigned int job, const struct cpumask *cpus);
void tacet_tables_job_end(struct tacet_partition *partition, unsigned int job);
void tacet_tables_jobs_free(struct tacet_partition *partition);
int tacet_tables_job_give(struct tacet_partition *partition, unsigned int job, u64 first, u64 pages);
void tacet_tables_job_show(struct tacet_partition *partition, unsigned int job, unsigned int number);
void tacet_tables_visit(u64 root, void (*visit)(u64 physical, u64 bytes, void *data), void *data);

/* abi.c: which call it is. Any context; the second one in the calling task's own call. */
long tacet_call_number(unsigned long ax);
struct pt_regs *tacet_call_as_64_bit(struct pt_regs *regs, long number, struct pt_regs *other);

/* state.c: the calling thread's registers, at its boundary to user mode; _take: anywhere. The last one reads
 * user memory. */
bool tacet_state_hostable(struct pt_regs *regs);
bool tacet_state_save(struct tacet_context *context, struct pt_regs *regs);
void tacet_state_give(struct tacet_context *context);
void tacet_state_load(const struct tacet_context *context, struct pt_regs *regs);
void tacet_state_take(const struct tacet_context *context);
void tacet_state_repeat_call(struct pt_regs *regs);
void tacet_state_repeat_exception(struct pt_regs *regs, u64 vector);

/* speculation.c. _learn: the control lock is held; the last four: the calling thread's */
u32 tacet_arch_measures(u32 wanted);
u64 tacet_speculation_learn(void);
bool tacet_speculation_hostable(void);
bool tacet_state_apart(void);
u64 tacet_state_program(void);
u64 tacet_state_spec_ctrl(void);

#endif
