// SPDX-License-Identifier: GPL-2.0
/*
 * Calls about memory that a hosted thread makes while it is on Linux for a moment: until a
 * tick has found it there, or its core has room. Only a core can perform them on the range
 * (memory/calls.c). So the call is spoiled: it gets an invalid argument, Linux refuses it at
 * once, and the thread makes it again, on its core.
 *
 * Called by delegate/calls.c around each call of a hosted thread: before Linux reads the
 * arguments, and before the program sees them again.
 */
#include <uapi/linux/sched.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "arch/arch.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

/* A thread that is sent back so often gets no core. */
#define SENT_BACK_LIMIT 64

/* With this argument the call has no effect, whatever its others are. */
struct tacet_spoiling {
	unsigned int number;
	unsigned int offset;		/* in pt_regs */
	unsigned long value;
};

#define SPOIL(name, argument, wrong) { name, offsetof(struct pt_regs, argument), wrong }

static const struct tacet_spoiling spoilings[] = {
	SPOIL(__NR_mmap, r9, 1),			/* offset: not of whole pages */
	SPOIL(__NR_munmap, si, 0),
	SPOIL(__NR_mprotect, di, 1),			/* address: the same */
	SPOIL(__NR_pkey_mprotect, di, 1),
	SPOIL(__NR_brk, di, 0),				/* says where it is */
	SPOIL(__NR_mremap, di, 1),
	SPOIL(__NR_madvise, dx, -1ul),
	SPOIL(__NR_process_madvise, r8, 1),		/* flags */
	SPOIL(__NR_mbind, di, 1),
	SPOIL(NR_SET_MEMPOLICY_HOME_NODE, di, 1),
	SPOIL(__NR_move_pages, r9, -1ul),
	SPOIL(__NR_migrate_pages, si, 0),
	SPOIL(__NR_mincore, di, 1),
	SPOIL(__NR_mlock, di, 1),			/* nothing is mapped there */
	SPOIL(__NR_mlock2, di, 1),
	SPOIL(__NR_munlock, di, 1),
	SPOIL(__NR_mlockall, di, 0),
	SPOIL(__NR_msync, dx, -1ul),
	SPOIL(NR_MSEAL, dx, 1),
	SPOIL(__NR_remap_file_pages, dx, 1),
	SPOIL(__NR_shmat, di, -1ul),
	SPOIL(NR_MAP_SHADOW_STACK, dx, -1ul),
	SPOIL(__NR_userfaultfd, di, -1ul),
	SPOIL(__NR_personality, di, U32_MAX),		/* says what it is */
	SPOIL(__NR_prctl, di, -1ul),
	SPOIL(__NR_io_uring_register, si, U32_MAX >> 1),
	SPOIL(__NR_setrlimit, di, -1ul),
	SPOIL(__NR_prlimit64, si, -1ul),
	SPOIL(__NR_clone, di, CLONE_THREAD),		/* without what that needs; fork() has nothing */
	SPOIL(__NR_clone3, si, 0),
};

static unsigned long *spoiled(struct pt_regs *regs, const struct tacet_spoiling *spoiling)
{
	return (void *)regs + spoiling->offset;
}

/* A call begins that does not come from a core: spoils it if a core has to perform it. In an
 * RCU read section. */
void tacet_send_back_before_call(struct tacet_hosted *hosted, struct pt_regs *regs, long number)
{
	const struct tacet_range *range;
	unsigned int i;

	if (in_ia32_syscall())
		return;
	for (i = 0; i < ARRAY_SIZE(spoilings); i++)
		if (spoilings[i].number == number)
			break;
	range = i < ARRAY_SIZE(spoilings) && current->mm ? tacet_range_find(current->mm) : NULL;
	if (!range || READ_ONCE(range->visibility) == TACET_RANGE_HANDED_OVER)
		return;
	hosted->memory.spoilt = *spoiled(regs, &spoilings[i]);
	*spoiled(regs, &spoilings[i]) = spoilings[i].value;
	WRITE_ONCE(hosted->memory.spoiling, &spoilings[i]);
}

/* The call has ended. If it was spoiled, the thread is about to make it again. */
void tacet_send_back_after_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	if (!hosted->memory.spoiling)
		return;
	*spoiled(regs, hosted->memory.spoiling) = hosted->memory.spoilt;
	WRITE_ONCE(hosted->memory.spoiling, NULL);
	hosted->memory.sent_back++;
	regs->ax = regs->orig_ax;
	tacet_state_repeat_call(regs);
}

/* The thread has to continue on Linux, and so needs its memory there. */
bool tacet_sent_back_too_often(const struct tacet_hosted *hosted)
{
	return hosted->memory.sent_back > SENT_BACK_LIMIT;
}
