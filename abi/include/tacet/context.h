/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * One hosted thread, as it travels between its Linux task and a core.
 *
 * Owns: the user registers, in the only layout in which they are ever saved
 * for a system call, a fault, an interrupt or a decoupling. Exactly one side
 * owns a context at a time, and `state` says which: Linux writes the context
 * and releases TACET_CONTEXT_POSTED; the core acquires it, runs the thread,
 * writes the context and releases TACET_CONTEXT_RETURNED. Only `recall` is
 * written by Linux while the core owns the rest.
 *
 * A context is never mapped into a program.
 */
#ifndef TACET_ABI_CONTEXT_H
#define TACET_ABI_CONTEXT_H

#include "memory.h"
#include "profile.h"
#include "types.h"

/*
 * The core enters from user mode with its stack pointer at the end of this
 * structure, so that the processor itself pushes ss..rip and the entry code
 * pushes the rest, downwards, straight to their place. The end is therefore
 * 16-byte aligned (SDM vol. 3, 6.14.2). From r15 to rdi and from rip to ss the
 * order is Linux's struct pt_regs.
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
	TACET_CONTEXT_LINUX = 0,	/* the Linux task has it */
	TACET_CONTEXT_POSTED = 1,	/* handed to the core */
	TACET_CONTEXT_RETURNED = 2,	/* handed back, `event` says why */
};

enum tacet_event {
	TACET_EVENT_NONE = 0,
	TACET_EVENT_SYSCALL = 1,	/* rip is after the instruction */
	TACET_EVENT_EXCEPTION = 2,	/* registers.vector, .error, fault_address */
	TACET_EVENT_RECALLED = 3,	/* Linux asked for it */
	TACET_EVENT_WOKEN = 4,		/* its local wait has ended, and its core is taken */
	TACET_EVENT_WAITED = 5,		/* Linux asked for it in a local wait: rip is after
					   the instruction, rax is the call's number */
};

/* `recall`: whether Linux wants the thread back, and from where. */
enum tacet_recall {
	TACET_RECALL_NOT = 0,
	TACET_RECALL_ALWAYS = 1,
	TACET_RECALL_TURN = 2,		/* others wait for the core: if it computes, not if it
					   waits in a local call or in the queue by now */
};

/* `local`: what the core may answer itself. Without either every call is Linux's,
 * as it is for a thread that somebody watches or filters. */
#define TACET_LOCAL_CALLS (1u << 0)
#define TACET_LOCAL_FUTEXES (1u << 1)
#define TACET_LOCAL_MEMORY (1u << 2)	/* `range` names the process's own memory */
#define TACET_LOCAL_STAYS (1u << 3)	/* the thread may run on this core alone */
#define TACET_LOCAL_SLEEPS (1u << 4)	/* its CLOCK_MONOTONIC is the node's (time_namespaces(7)) */

/* `refusal`: why a call about the process's own memory, or a fault in it, comes to
 * Linux all the same. */
enum tacet_refusal {
	TACET_REFUSAL_NONE = 0,		/* it is not about such memory: Linux's as ever */
	TACET_REFUSAL_MIRRORED = 1,	/* Linux maps some of refused_start..refused_end: it
					   unmaps that and sends the thread to try again */
	TACET_REFUSAL_CLOSED = 2,	/* the memory is on its way to Linux: after that */
	TACET_REFUSAL_BEYOND = 3,	/* only Linux can do it: the memory becomes Linux's first */
	TACET_REFUSAL_RIGHTS = 4,	/* refused_start are enum tacet_range_rights that the process
					   has not: it gets them, if Linux lets it, and tries again */
};

#define TACET_XSTATE_BYTES 12288u
#define TACET_CONTEXTS_LIMIT 2048u
#define TACET_CONTEXT_BYTES 16384u

struct tacet_context {
	struct tacet_registers registers;

	/* Linux, before posting */
	__u32 state;			/* both, see above */
	__u32 recall;			/* enum tacet_recall; Linux, at any time */
	__u64 root;			/* physical address for CR3 */
	__u64 fs_base;			/* both */
	__u64 gs_base;			/* both */
	__u64 xstate_save_mask;		/* requested-feature bitmap for XSAVE */
	__u64 xstate_restore_mask;	/* and for XRSTOR: without PKRU */
	__u16 ds, es, fs, gs;		/* both; selectors, mostly null */
	__u64 xfd;			/* IA32_XFD: features whose first use faults */
	__u32 pkru;			/* both */
	__u32 cpu;			/* Linux's number of the core it is posted to */

	/* the core, before returning */
	__u32 event;			/* enum tacet_event */
	__u32 refusal;			/* enum tacet_refusal, of a call or a page fault */
	__u64 fault_address;		/* CR2 of a page fault */

	/* the core; Linux reads them at any time, for accounting only */
	__u64 user_tsc;			/* ticks in user mode up to the last exit */
	__u64 entered_tsc;		/* 0, or when user mode was entered */
	__u64 syscalls;
	__u64 faults;			/* page faults */
	__u64 exceptions;		/* other exceptions */
	__u64 doorbells;		/* doorbells that interrupted its user mode */
	__u64 local_calls;		/* answered on the core */
	__u32 blocked;			/* not 0: posted, but it waits in a local call; 2: its own
					   core has woken it, and it goes on there */
	__u32 reserved1;

	/* Linux, before posting: what local calls answer from */
	__u32 local;			/* TACET_LOCAL_* */
	__u32 space;			/* its entry in struct tacet_space_shared[] */
	__u32 core;			/* index of the core it is posted to */
	__u32 range;		/* its entry in struct tacet_range_shared[], memory.h */
	__s32 process_id;		/* as the task itself sees them */
	__s32 thread_id;
	__u32 affinity_bytes;		/* what sched_getaffinity(2) gives at most */
	__u32 affinity_least_bytes;	/* and the smallest buffer that it takes */
	__u64 affinity[TACET_CPU_WORDS];
	struct tacet_policy policy;	/* of the thread (set_mempolicy(2)) */
	__u32 nodes_allowed;		/* to it, bit by bit (cpuset(7)) */
	__u32 reserved2;

	/* the core, before returning with TACET_REFUSAL_MIRRORED or _RIGHTS */
	__u64 refused_start;
	__u64 refused_end;

	/* the core, before returning a sleep for a time with TACET_EVENT_WAITED */
	__u64 sleep_left_ns;

	/* Linux, before posting: keep the account */
	__u32 profiled;
	/* the core, if so; Linux reads the account at any time */
	__u16 spending_on;		/* enum tacet_spent_on, since it left user mode */
	__u16 spending_detail;
	__u64 left_tsc;			/* when that was */
	struct tacet_spent spent[TACET_SPENT_ENTRIES];

	__u64 reserved3[124];
	__u8 xstate[TACET_XSTATE_BYTES];	/* both; XSAVE(S) format, 64-byte aligned */
};

static_assert(offsetof(struct tacet_context, xstate) == 4096, "xstate is page-aligned");
static_assert(sizeof(struct tacet_context) == TACET_CONTEXT_BYTES, "context layout");

#endif
