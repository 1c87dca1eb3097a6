/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the parts of the plugin share: count.c counts, record.c keeps what lies between markers, names.c asks the guest's
 * kernel what runs.
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
	uint64_t interrupts;	/* interface 6 and later: taken by this CPU, nested ones and NMIs too */
	uint64_t exceptions;	/* the same for faults, traps and software interrupts */
	uint64_t measured;	/* between MARK_BEGIN and MARK_END */
	uint64_t was_user;	/* the last block was user code: a kernel block now is an entry */
};

struct place {			/* one translated kernel address, never freed */
	uint64_t address;
	uint64_t instructions;
	struct place *next;
	uint32_t times[MAX_CPUS];	/* executed while measured, by CPU; atomic is not needed: own CPU only */
};

struct task {			/* what the guest's kernel calls what runs; a name of no characters is an unknown one */
	char name[16];
	uint32_t pid;
};

struct counters *counters_of(unsigned cpu);
bool sees_interrupts(void);

extern bool region_sites;	/* regions too say which kernel code ran: slower */

void record_start(unsigned cpus);
void record_marker(unsigned cpu, unsigned kind, unsigned label);
void record_kernel_block(unsigned cpu, struct place *place);
void record_other_block(unsigned cpu, size_t instructions);
struct place *record_place(uint64_t address, size_t instructions);

void names_begin(unsigned cpu);
void names_current(unsigned cpu, struct task *task);

#endif
