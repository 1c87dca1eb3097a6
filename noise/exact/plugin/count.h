/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Shared by the parts of the plugin: count.c counts, record.c keeps what happens between markers, names.c reads the
 * running task's name from the guest's kernel.
 *
 * Owns: the structures. Each virtual CPU writes its own counters only; others may read them, a little late.
 */
#ifndef TACET_EXACT_COUNT_H
#define TACET_EXACT_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_CPUS 64

struct counters {
	uint64_t own;		/* instructions of the measured program: in user mode, in its address range */
	uint64_t other;		/* other instructions in user mode */
	uint64_t kernel;	/* instructions outside user mode */
	uint64_t interrupts;	/* interrupts that this CPU took, with nested ones and NMIs; interface 6 and later */
	uint64_t exceptions;	/* the same for faults, traps and software interrupts */
	uint64_t switches;	/* of tasks, by Linux */
	uint64_t halts;		/* HLT of a module of Linux */
	uint64_t looks;		/* of `kernel`: instructions of blocks with a PAUSE, and of the loops around them */
	const struct site *looked;	/* the last such block, and `kernel` before it */
	uint64_t looked_at;
	uint64_t measured;	/* 1 between MARK_BEGIN and MARK_END */
	uint64_t was_user;	/* the last block was user code: if the next one is the kernel's, it is an entry */
};

struct site {			/* one translated kernel block, never freed */
	uint64_t address;
	uint64_t instructions;
	unsigned char switches, halts, looks;	/* it switches tasks, or has a HLT of a module, a PAUSE */
	struct site *next;
	uint32_t times[MAX_CPUS];	/* executed while measured, by CPU; not atomic: each CPU has its own element */
};

struct task {			/* a task of the guest; an empty name means unknown */
	char name[16];
	uint32_t pid;
};

struct counters *counters_of(unsigned cpu);
bool sees_interrupts(void);

extern bool region_sites;	/* regions too list the kernel code that ran: slower */

void record_start(unsigned cpus);
void record_marker(unsigned cpu, unsigned kind, unsigned label);
void record_kernel_block(unsigned cpu, struct site *site);
void record_other_block(unsigned cpu, size_t instructions);
struct site *record_site(uint64_t address, size_t instructions);

void names_begin(unsigned cpu);
void names_current(unsigned cpu, struct task *task);

#endif
