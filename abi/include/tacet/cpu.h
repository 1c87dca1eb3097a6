/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What Linux and one core share while the core belongs to the partition.
 *
 * Owns: the boot settings of a core, its doorbell, its two rings, its log, its
 * counters and its last words. Fields are grouped by their writer; each group has
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
	TACET_CPU_HALTED = 2,		/* it obeyed TACET_ATTENTION_HALT */
	TACET_CPU_DEAD = 3,		/* its last words are written */
};

/* `attention`: why the doorbell rang. Linux or another core sets a bit before it sends
 * the NMI; the core takes all bits at once. */
#define TACET_ATTENTION_INBOX (1u << 0)	/* a context was posted */
#define TACET_ATTENTION_RECALL (1u << 1)	/* some context has `recall` set */
#define TACET_ATTENTION_DROP (1u << 2)	/* leave the address space that is loaded */
#define TACET_ATTENTION_HALT (1u << 3)	/* stop permanently */
#define TACET_ATTENTION_TEST (1u << 4)	/* carry out `test` */
#define TACET_ATTENTION_WAKE (1u << 5)	/* wake the waiters that wake_* describes */
#define TACET_ATTENTION_WOKEN (1u << 6)	/* another core woke threads of this core */
#define TACET_ATTENTION_ASK (1u << 7)	/* answer the question in ask_* */

enum tacet_cpu_mode {
	TACET_MODE_KERNEL = 0,
	TACET_MODE_USER = 1,
	TACET_MODE_IDLE = 2,
	TACET_MODE_SPINNING = 3,	/* idle, and polling `attention`: needs no doorbell */
};

/*
 * Where a request of Linux to a core stands: the wake-up in wake_* and the question in ask_*
 * have a slot each, with a state:
 *
 *	          Linux asks           the core takes it         the core has answered
 *	 FREE --------------> OPEN -----------------------> TAKEN ----------------> ANSWERED
 *	  ^                    |                                                       |
 *	  '--------------------'  Linux withdraws it: the core has not seen it         |
 *	  '----------------------------------------------------------------------------'
 *	                          Linux has read the result
 *
 * Linux writes the request before OPEN, the core the result before ANSWERED. OPEN is left by
 * compare and exchange, so one side alone leaves it. Else only the side named changes it.
 */
enum tacet_slot_state {
	TACET_SLOT_FREE = 0,
	TACET_SLOT_OPEN = 1,
	TACET_SLOT_TAKEN = 2,
	TACET_SLOT_ANSWERED = 3,
};

/* `test`: failures on purpose. Linux writes it only if the module has test_hooks=1. */
enum tacet_test {
	TACET_TEST_NONE = 0,
	TACET_TEST_PANIC = 1,		/* a failed check in the co-kernel */
	TACET_TEST_FAULT = 2,		/* a wild pointer in the co-kernel */
	TACET_TEST_HANG = 3,		/* spin for ever, interrupts off */
	TACET_TEST_OUTBOX = 4,		/* corrupt the outbox index */
	TACET_TEST_ENTRY = 5,		/* a context number out of range in the outbox */
	TACET_TEST_FULL = 6,		/* fill the outbox without an interrupt: no damage */
	TACET_TEST_BUSY = 7,		/* work for 25 s without a look at attention: no damage */
	TACET_TEST_REGISTERS = 8,	/* give this core's threads registers that IRETQ refuses */
	TACET_TEST_SELECTORS = 9,	/* give its threads selectors that cannot be loaded; they
					   matter to those that do not run now */
	TACET_TEST_FLAGS = 10,		/* write a log record if the AC flag is set: no damage */
	TACET_TEST_FIND = 11,		/* not for the core: Linux counts TACET_TEST_MARK in all
					   memory of the partition, and logs the number */
	TACET_TEST_FIND_MAPPED = 12,	/* the same, in what the co-kernel's half of the root that the core
					   has loaded maps */
};
#define TACET_TEST_LAST TACET_TEST_FIND_MAPPED

/* By which register the processor is asked for a clock. */
enum tacet_performance {
	TACET_PERFORMANCE_NONE = 0,	/* by none, or it is not known */
	TACET_PERFORMANCE_HWP = 1,	/* IA32_HWP_REQUEST */
	TACET_PERFORMANCE_CPPC = 2,	/* AMD's CPPC_REQUEST */
	TACET_PERFORMANCE_RATIO = 3,	/* IA32_PERF_CTL */
	TACET_PERFORMANCE_STATE = 4,	/* AMD's PStateCtl */
};

/* Linux's own register settings and the core's addresses. Linux writes them before the
 * start; the core reads them once, but for `root`, and loads the registers, so that a program finds the
 * processor as Linux would have set it. */
struct tacet_cpu_boot {
	__u64 cr0, cr4, efer, pat, star, xcr0, xss;
	__u64 tsc_aux;			/* cpu | node << 12 */
	__u64 root;			/* physical address of the core's idle root. Linux writes another one
					   while the core has no thread, then asks TACET_ASK_DRAIN */
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
	__u32 apic_id;			/* of this core: where other cores send its doorbell */
	__u32 has_smap;
	__u32 core_count;		/* cores of the partition; struct tacet_cpu[core_count] */
	__u32 index;			/* of this core among them */
	__u32 space_count;
	__u64 spaces_base;		/* struct tacet_space_shared[space_count], virtual */
	__u64 tsc_khz;
	__u64 memory_base;		/* struct tacet_memory, virtual; 0: none for programs */
	__u64 performance_before;	/* the request that Linux had, before it lowered it */
	__u64 performance_highest;	/* the most that may be asked for; of _STATE, the lowest */
	__u32 performance;		/* enum tacet_performance */
	__u32 has_energy_bias;		/* IA32_ENERGY_PERF_BIAS exists */
	__u32 measures;			/* enum tacet_measure: those that this processor can take */
	__u32 look_ns;			/* how long it looks for the answer to a question before it halts */
	__u64 pico_base;		/* struct tacet_pico, virtual; 0: no device has a fast path */
};

/* Physical addresses that machine checks of a core called bad; Linux looks ten times a second. */
#define TACET_BAD_ADDRESSES 16u

/* The cause of a core's death. The core writes it before it releases TACET_CPU_DEAD. */
struct tacet_last_words {
	__u64 vector, error, rip, rsp, fault_address;
	__u8 text[TACET_TEXT_BYTES];
};

struct tacet_cpu {
	/* Written by Linux before the start. */
	__u32 revision;			/* TACET_ABI_REVISION */
	__u32 reserved0[15];
	struct tacet_cpu_boot boot;
	__u64 reserved1[64 - 8 - sizeof(struct tacet_cpu_boot) / 8];

	/* offset 512: written by Linux while the core runs. */
	__u64 flush_requested;		/* TLB generation; Linux or another core raises it by an
					   atomic addition, then sends the doorbell */
	__u32 attention;		/* TACET_ATTENTION_*, atomically; other cores set bits too */
	__u32 test;			/* enum tacet_test */
	__u32 notify_destination;	/* APIC id of the Linux CPU to interrupt */
	__u32 notify_command;		/* and what it writes to the APIC's command register */
	__u32 doorbells_sent;
	__u32 audible;			/* 0: nobody may ring this core */

	/* Written by Linux while wake_state is FREE: a wake-up of private futexes, and
	 * wake_to below. */
	__u64 wake_root;
	__u64 wake_address;
	__u32 wake_bitset;
	__u32 wake_count;		/* wake at most so many threads */
	__u32 wake_state;		/* enum tacet_slot_state */
	__u32 wake_moved;		/* then move at most so many others to wake_to */

	/* offset 576: written by the core, read by Linux. */
	__u64 flush_acknowledged;	/* the TLB holds nothing older than this generation */
	__u64 active_root;		/* the user root that is loaded; 0: the idle root */
	__u64 drops;			/* how often it obeyed TACET_ATTENTION_DROP */
	__u32 state;			/* enum tacet_cpu_state, released after all else */
	__u32 mode;			/* enum tacet_cpu_mode */
	__u64 kernel_entries;		/* grows when a thread leaves user mode */
	__u32 current_context;		/* number of the context that it last entered; a hint */
	__u32 blocked;			/* posted contexts whose threads wait in local calls */
	__u32 wake_woken;		/* threads woken or moved */
	__u32 stack_bytes;		/* the most that its main stack held when it was cleared
					   between two users; image.h says how the rest shows */
	__u32 reserved3;
	__s32 ask_result;		/* as memory.h says for each question */

	/* offset 640: counters, written by the core. */
	__u64 doorbells_user;		/* NMIs that interrupted user mode */
	__u64 doorbells_kernel;		/* NMIs that interrupted the co-kernel */
	__u64 doorbells_empty;		/* NMIs that came after their request was served */
	__u64 notifications;		/* interrupts sent to Linux */
	__u64 switches;			/* entered another context than the time before */
	__u64 frames_taken;		/* frames that this core gave to programs */
	__u64 frames_returned;		/* frames that it took back, also of other cores */
	__u64 alarms;			/* interrupts of its own timer */
	__u32 foreign[256];		/* other interrupts, by vector */

	/* offset 1728: written by the core. */
	struct tacet_last_words last_words;	/* 168 bytes */

	/* Written by Linux ten times a second: its CLOCK_MONOTONIC, and the time-stamp
	 * counter right after. clock_tsc is 0 while Linux changes clock_monotonic_ns, and
	 * where the two clocks do not keep step. */
	__u64 clock_tsc;
	__u64 clock_monotonic_ns;
	/* Written by this core alone: grows with each bounded portion of long work in the
	 * co-kernel, and while the core waits for another core's work. Linux has patience
	 * with a core for as long as this grows. */
	__u64 progress;

	/* offset 1920: written by other cores, atomically. */
	__u32 doorbells_from_cores;
	__u32 reserved6[15];

	/* offset 1984: written by Linux while ask_state is FREE: a question. */
	__u64 ask_arguments[4];
	__u32 ask_kind;			/* enum tacet_ask, memory.h */
	__u32 ask_state;		/* enum tacet_slot_state */
	__u64 wake_to;			/* the futex that wake_moved speaks of */
	__u32 reserved9[4];

	/* offset 2048 */
	struct tacet_ring inbox;	/* Linux produces, the core consumes */
	struct tacet_ring outbox;	/* the core produces, Linux consumes */
	__u64 reserved7[16 * 14];

	/* offset 6144: written by the core. */
	struct tacet_log log;
	__u64 machine_checks;		/* about bad memory, and survived */
	__u64 bad_count;		/* of addresses; written after each one */
	__u64 bad_addresses[TACET_BAD_ADDRESSES];	/* physical; number n is at n modulo their number */
	__u64 bad_status;		/* what the processor said of the last one */
	__u64 performance_now;		/* the clock that it asks for, read back at its start */
	__u64 reserved8[220];
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
