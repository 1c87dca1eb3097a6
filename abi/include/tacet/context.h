/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The context of a hosted thread: the thread's registers and settings, as they
 * travel between its proxy and a core.
 *
 * Owns: the user registers, in the only layout in which they are saved for a
 * system call, a fault, an interrupt or a decoupling. Exactly one side owns a
 * context at a time, and `state` says which: Linux writes the context and
 * releases TACET_CONTEXT_POSTED; the core acquires it, runs the thread, writes
 * the context and releases TACET_CONTEXT_RETURNED. While the core owns the
 * context, Linux writes only `recall` and `home`.
 *
 * A context must never be mapped into a program.
 */
#ifndef TACET_ABI_CONTEXT_H
#define TACET_ABI_CONTEXT_H

#include "memory.h"
#include "profile.h"
#include "types.h"

/*
 * When the core leaves user mode, its stack pointer is at the end of this
 * structure. The processor pushes ss..rip, and the entry code pushes the rest,
 * downwards, each straight to its place. The end must therefore be 16-byte
 * aligned (SDM vol. 3, 6.14.2). From r15 to rdi and from rip to ss the order is
 * that of Linux's struct pt_regs.
 */
struct tacet_registers {
	__u64 r15, r14, r13, r12, rbp, rbx;
	__u64 r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	__u64 vector;			/* exception, or TACET_VECTOR_SYSCALL */
	__u64 error;			/* the processor's error code, else 0 */
	__u64 rip, cs, rflags, rsp, ss;
};

static_assert(sizeof(struct tacet_registers) == 176, "register layout");

#define TACET_VECTOR_SYSCALL 0x100u

enum tacet_context_state {
	TACET_CONTEXT_LINUX = 0,	/* Linux owns the context */
	TACET_CONTEXT_POSTED = 1,	/* Linux handed it to the core */
	TACET_CONTEXT_RETURNED = 2,	/* the core handed it back; `event` says why */
};

enum tacet_event {
	TACET_EVENT_NONE = 0,
	TACET_EVENT_SYSCALL = 1,	/* rip is after the instruction */
	TACET_EVENT_EXCEPTION = 2,	/* registers.vector, .error, fault_address */
	TACET_EVENT_RECALLED = 3,	/* Linux recalled the thread */
	TACET_EVENT_WOKEN = 4,		/* its local wait ended while its core runs another thread */
	TACET_EVENT_WAITED = 5,		/* Linux recalled the thread in a local wait: rip is
					   after the instruction, rax is the call's number */
};

/* `recall`: whether Linux wants the thread back, and in which states of the thread. */
enum tacet_recall {
	TACET_RECALL_NOT = 0,
	TACET_RECALL_ALWAYS = 1,
	TACET_RECALL_TURN = 2,		/* others wait for the core: recall the thread if it
					   computes, not if it waits in a local call or in
					   the queue by now */
	TACET_RECALL_KILLED = 3,	/* as ALWAYS, and the thread executes nothing any more:
					   the core leaves a long call unfinished */
};

/*
 * `home`: how the proxy waits for the context, and so what the core does when it has given it back. Linux
 * writes it at any time. Any other value says where the CPU is that halts in the proxy's own context:
 * an interrupt is sent to it (TACET_HOME_DESTINATION, TACET_HOME_COMMAND), and nothing else is done.
 * Each side writes its word, then reads the other's, sequentially consistently: the core `state` and
 * then `home`, the proxy `home` and then `state`. So either finds what the other has written.
 */
#define TACET_HOME_ASLEEP 0ull		/* it sleeps, or will: the outbox and the core's interrupt */
#define TACET_HOME_LOOKS 1ull		/* it looks at `state`: nothing need be done */
#define TACET_HOME_DESTINATION(home) ((__u32)((home) >> 32))	/* APIC id */
#define TACET_HOME_COMMAND(home) ((__u32)(home))	/* what is written to the APIC's command register */

/* `local`: what the core may answer itself. If it is 0 the core forwards every call;
 * Linux sets 0 for a thread whose calls are traced, filtered, audited or redirected. */
#define TACET_LOCAL_CALLS (1u << 0)
#define TACET_LOCAL_FUTEXES (1u << 1)
#define TACET_LOCAL_MEMORY (1u << 2)	/* `range` and `range_serial` name the process's range */
#define TACET_LOCAL_STAYS (1u << 3)	/* the thread may run on this core alone */
#define TACET_LOCAL_SLEEPS (1u << 4)	/* its CLOCK_MONOTONIC is the node's, not that of a
					   time namespace (time_namespaces(7)) */
#define TACET_LOCAL_MOVES_SEVERAL (1u << 6)	/* mremap(2) moves several mappings by one call */

/* `refusal`: why the core does not serve a call about the process's range, or a fault in
 * it, and what Linux does about that. */
enum tacet_refusal {
	TACET_REFUSAL_NONE = 0,		/* not about the range: an ordinary call or fault */
	TACET_REFUSAL_MIRRORED = 1,	/* Linux has mirrors in refused_start..refused_end: it
					   unmaps them, and the thread tries again */
	TACET_REFUSAL_CLOSED = 2,	/* a hand-over is in progress: Linux serves it afterwards */
	TACET_REFUSAL_BEYOND = 3,	/* only Linux can serve it: the hand-over comes first */
	TACET_REFUSAL_RIGHTS = 4,	/* refused_start holds enum tacet_range_rights that the
					   process lacks: Linux grants them if its rules allow,
					   and the thread tries again */
};

#define TACET_XSTATE_BYTES 12288u
#define TACET_CONTEXTS_LIMIT 2048u
#define TACET_CONTEXT_BYTES 16384u

struct tacet_context {
	struct tacet_registers registers;

	/* Written by Linux before it posts, read by the core. "both": the core writes it
	 * too, before it returns the context. */
	__u32 state;			/* both, see above */
	__u32 recall;			/* enum tacet_recall; Linux writes it at any time */
	__u64 root;			/* physical address for CR3 */
	__u64 fs_base;			/* both */
	__u64 gs_base;			/* both */
	__u64 xstate_save_mask;		/* requested-feature bitmap for XSAVE */
	__u64 xstate_restore_mask;	/* the same for XRSTOR, without PKRU */
	__u16 ds, es, fs, gs;		/* both; selectors, mostly null */
	__u64 xfd;			/* IA32_XFD: features whose first use faults */
	__u32 pkru;			/* both */
	__u32 cpu;			/* Linux's number of the core it is posted to */
	__u64 user;			/* whose it is: nothing needs to be done between threads
					   with the same number (enum tacet_measure); never 0 */
	__u64 spec_ctrl;		/* IA32_SPEC_CTRL, if the processor has it */

	/* Written by the core before it returns the context, read by Linux. */
	__u32 event;			/* enum tacet_event */
	__u32 refusal;			/* enum tacet_refusal, of a call or a page fault */
	__u64 fault_address;		/* CR2 of a page fault */

	/* Written by the core. Linux reads them at any time, for accounting only. */
	__u64 user_tsc;			/* ticks in user mode up to its last exit from there */
	__u64 entered_tsc;		/* when it entered user mode; 0 outside */
	__u64 syscalls;
	__u64 faults;			/* page faults */
	__u64 exceptions;		/* other exceptions */
	__u64 doorbells;		/* doorbells that interrupted its user mode */
	__u64 local_calls;		/* answered on the core */
	__u32 blocked;			/* 1: posted, and the thread waits in a local call;
					   2: its own core woke it and will run it; else 0 */

	/* Written by Linux before it posts: 1 if nothing but the general registers has changed since the core
	 * to which it is posted gave the context back: what that core still has in its registers is right. */
	__u32 state_stays;

	/* Written by Linux before it posts, read by the core: the facts that local calls
	 * answer from. */
	__u32 local;			/* TACET_LOCAL_* */
	__u32 space;			/* its entry in struct tacet_space_shared[] */
	__u32 core;			/* index of the core it is posted to */
	__u32 range;			/* its entry in struct tacet_range_shared[], memory.h */
	__s32 process_id;		/* both ids as the task itself sees them */
	__s32 thread_id;
	__u32 affinity_bytes;		/* the most that sched_getaffinity(2) returns */
	__u32 affinity_least_bytes;	/* and the smallest buffer that it accepts */
	__u64 affinity[TACET_CPU_WORDS];
	struct tacet_policy policy;	/* the thread's policy (set_mempolicy(2)) */
	__u32 nodes_allowed;		/* bit n: the thread may use node n (cpuset(7)) */
	__u32 goes_first;		/* 1: its turn is before those that are queued on the core */
	__u64 range_serial;		/* the core serves nothing in the entry `range` if its serial
					   is another one, which it compares under a piece's lock */

	/* Written by the core before it returns with TACET_REFUSAL_MIRRORED or _RIGHTS. */
	__u64 refused_start;
	__u64 refused_end;

	/* Written by the core before it returns a relative sleep with TACET_EVENT_WAITED. */
	__u64 sleep_left_ns;

	/* Written by Linux before it posts: 1 if the core keeps the account (profile.h). */
	__u32 profiled;
	/* Written by the core if `profiled`. Linux reads the account at any time. */
	__u16 spending_on;		/* enum tacet_spent_on: why it last left user mode */
	__u16 spending_detail;
	__u64 left_tsc;			/* when it left */
	struct tacet_spent spent[TACET_SPENT_ENTRIES];

	/* Written by Linux before it posts: the table of descriptors that the thread has, by which
	 * grants name it (pico.h). */
	__u64 descriptors;

	/* Written by Linux at any time: TACET_HOME_*. */
	__u64 home;

	/* The signals that the thread has blocked, bit n for signal n + 1. Linux writes them before it posts; the
	 * core when the thread changes them there, and Linux takes that over when it has the context back. */
	__u64 signal_mask;
	/* 1: a signal may be pending that the thread has blocked. Linux clears it before it posts, and sets
	 * it at any time. The core writes `signal_mask` and then looks here, Linux writes this and then
	 * looks there, sequentially consistently: so if the thread opens a signal, either the
	 * core leaves that to Linux, or Linux recalls the thread. */
	__u32 signal_waits;
	/* 1: the thread has named its list of robust futexes on the core (set_robust_list(2)). Linux clears it
	 * before it posts. */
	__u32 robust_list_named;
	__u64 robust_list;		/* then, by the core: its address */

	__u64 reserved3[116];
	__u8 xstate[TACET_XSTATE_BYTES];	/* both; XSAVE(S) format, 64-byte aligned */
};

static_assert(offsetof(struct tacet_context, xstate) == 4096, "xstate is page-aligned");
static_assert(sizeof(struct tacet_context) == TACET_CONTEXT_BYTES, "context layout");

#endif
