/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What Linux and one core share for as long as the core is taken.
 *
 * Owns: the boot settings of a core, its doorbell, its two rings, its log, its
 * counters and its last words. Fields are grouped by writer, each group on
 * cache lines of its own.
 */
#ifndef TACET_ABI_CPU_H
#define TACET_ABI_CPU_H

#include "types.h"
#include "ring.h"
#include "log.h"

enum tacet_cpu_state {
	TACET_CPU_OFF = 0,		/* not started */
	TACET_CPU_ONLINE = 1,
	TACET_CPU_HALTED = 2,		/* obeyed TACET_ATTENTION_HALT */
	TACET_CPU_DEAD = 3,		/* last words are written */
};

/* Why the doorbell rang: set by Linux or another core before the NMI, taken by
 * the core. */
#define TACET_ATTENTION_INBOX (1u << 0)	/* a context was posted */
#define TACET_ATTENTION_RECALL (1u << 1)	/* some context has `recall` set */
#define TACET_ATTENTION_DROP (1u << 2)	/* leave the address space you have loaded */
#define TACET_ATTENTION_HALT (1u << 3)	/* stop for good */
#define TACET_ATTENTION_TEST (1u << 4)	/* do what `test` says */
#define TACET_ATTENTION_WAKE (1u << 5)	/* wake whom wake_* describes */
#define TACET_ATTENTION_WOKEN (1u << 6)	/* another core woke threads of yours */
#define TACET_ATTENTION_ASK (1u << 7)	/* answer the question that ask_* describes */

enum tacet_cpu_mode {
	TACET_MODE_KERNEL = 0,
	TACET_MODE_USER = 1,
	TACET_MODE_IDLE = 2,
	TACET_MODE_SPINNING = 3,	/* idle, and still looking: no bell is needed */
};

/* `test`: deaths on purpose; the module sets them only with test_hooks=1. */
enum tacet_test {
	TACET_TEST_NONE = 0,
	TACET_TEST_PANIC = 1,		/* a failed check in the co-kernel */
	TACET_TEST_FAULT = 2,		/* a wild pointer in the co-kernel */
	TACET_TEST_HANG = 3,		/* spin for ever, interrupts off */
	TACET_TEST_OUTBOX = 4,		/* corrupt the outbox index */
	TACET_TEST_ENTRY = 5,		/* a context number out of range in the outbox */
	TACET_TEST_FULL = 6,		/* fill the outbox, and do not ring: no damage */
};

/* Registers that the core loads once at start: Linux's own settings, so that a
 * program finds the processor as Linux would have set it. Written by Linux
 * before start. */
struct tacet_cpu_boot {
	__u64 cr0, cr4, efer, pat, star, xcr0, xss;
	__u64 tsc_aux;			/* cpu | node << 12 */
	__u64 root;			/* physical address of the core's idle root */
	__u64 stack_top;		/* in the core's private region */
	__u64 private_base;		/* its private region, virtual */
	__u64 private_bytes;
	__u64 contexts_base;		/* struct tacet_context[context_count], virtual */
	__u32 context_count;
	__u32 cpu;			/* Linux's number of this core */
	__u32 node;
	__u32 has_xsaves;
	__u32 has_pku;
	__u32 has_x2apic;
	__u32 has_tsc_aux;
	__u32 has_xsave;
	__u64 lapic_base;		/* virtual address of the xAPIC page */
	__u64 spec_ctrl;		/* IA32_SPEC_CTRL */
	__u32 has_spec_ctrl;
	__u32 has_cet;			/* IA32_S_CET exists */
	__u32 has_xfd;			/* IA32_XFD exists */
	__u32 apic_id;			/* of this core, for the others' doorbells */
	__u32 has_smap;
	__u32 core_count;		/* of the partition; struct tacet_cpu[core_count] */
	__u32 index;			/* of this core among them */
	__u32 space_count;
	__u64 spaces_base;		/* struct tacet_space_shared[space_count], virtual */
	__u64 tsc_khz;
	__u64 memory_base;		/* struct tacet_memory, virtual; 0: programs get none */
};

/* What killed a core. Written by the core before TACET_CPU_DEAD. */
struct tacet_last_words {
	__u64 vector, error, rip, rsp, fault_address;
	__u8 text[TACET_TEXT_BYTES];
};

struct tacet_cpu {
	/* Linux, before start */
	__u32 revision;			/* TACET_ABI_REVISION */
	__u32 reserved0[15];
	struct tacet_cpu_boot boot;
	__u64 reserved1[64 - 8 - sizeof(struct tacet_cpu_boot) / 8];

	/* offset 512: Linux, while the core runs */
	__u64 flush_requested;		/* generation; the doorbell follows */
	__u32 attention;		/* Linux sets bits, the core takes them all at once */
	__u32 test;			/* enum tacet_test */
	__u32 notify_destination;	/* APIC id of the Linux CPU to interrupt */
	__u32 notify_command;		/* low word of the interrupt command register */
	__u32 doorbells_sent;
	__u32 audible;			/* 0: do not ring this core */

	/* Linux: a wake-up of private futexes; the next one only after the answer.
	 * Also wake_to below. */
	__u64 wake_root;
	__u64 wake_address;
	__u32 wake_bitset;
	__u32 wake_count;		/* at most so many threads */
	__u32 wake_requested;		/* ordinal of the request */
	__u32 wake_moved;		/* at most so many others wait for wake_to from then on */

	/* offset 576: the core */
	__u64 flush_acknowledged;	/* nothing older than this generation is cached */
	__u64 active_root;		/* user root loaded, 0 if only the idle root is */
	__u64 drops;			/* times it left an address space on request */
	__u32 state;			/* enum tacet_cpu_state, released last */
	__u32 mode;			/* enum tacet_cpu_mode */
	__u64 kernel_entries;		/* grows whenever the core comes from user mode, and
					   while it waits for another core's work */
	__u32 current_context;		/* number of the context entered last; a hint */
	__u32 blocked;			/* posted contexts that wait in local calls */
	__u32 wake_woken;		/* or moved: the answer to wake_requested == wake_answered */
	__u32 wake_answered;
	__u32 ask_answered;		/* the answer to ask_requested == ask_answered */
	__s32 ask_result;		/* 0 or a negative error number */

	/* offset 640: the core, counters */
	__u64 doorbells_user;		/* NMI that found user mode */
	__u64 doorbells_kernel;		/* NMI that found the co-kernel */
	__u64 doorbells_empty;		/* NMI whose request was served before it came */
	__u64 notifications;		/* interrupts sent to Linux */
	__u64 switches;			/* another context than before was entered */
	__u64 frames_taken;		/* of the partition's memory, for programs */
	__u64 frames_returned;		/* by programs; taken and returned by any core */
	__u64 alarms;			/* its own timer ended its sleep */
	__u32 foreign[256];		/* other interrupts, by vector */

	/* offset 1728 */
	struct tacet_last_words last_words;	/* 168 bytes */

	/* Linux, ten times a second: its CLOCK_MONOTONIC, and the time-stamp counter right
	 * after; 0 while the other one changes, or where the two do not keep step */
	__u64 clock_tsc;
	__u64 clock_monotonic_ns;
	/* the core: runs of frames that it has zeroed or copied; grows during long work */
	__u64 frames_filled;

	/* offset 1920: other cores, atomically */
	__u32 doorbells_from_cores;
	__u32 reserved6[15];

	/* offset 1984: Linux, a question; the next one only after the answer */
	__u64 ask_arguments[4];
	__u32 ask_kind;			/* enum tacet_ask, memory.h */
	__u32 ask_requested;		/* ordinal of the question */
	__u64 wake_to;
	__u32 reserved9[4];

	/* offset 2048 */
	struct tacet_ring inbox;	/* Linux produces, the core consumes */
	struct tacet_ring outbox;	/* the core produces, Linux consumes */
	__u64 reserved7[16 * 14];

	/* offset 6144 */
	struct tacet_log log;
	__u64 reserved8[240];
};

#define TACET_CPU_BYTES 16384u

static_assert(offsetof(struct tacet_cpu, flush_requested) == 512, "Linux's line");
static_assert(offsetof(struct tacet_cpu, flush_acknowledged) == 576, "the core's line");
static_assert(offsetof(struct tacet_cpu, doorbells_user) == 640, "counters");
static_assert(offsetof(struct tacet_cpu, doorbells_from_cores) == 1920, "the other cores' line");
static_assert(offsetof(struct tacet_cpu, ask_arguments) == 1984, "the questions' line");
static_assert(offsetof(struct tacet_cpu, inbox) == 2048, "inbox");
static_assert(offsetof(struct tacet_cpu, log) == 6144, "log");
static_assert(sizeof(struct tacet_cpu) == TACET_CPU_BYTES, "cpu layout");

#endif
