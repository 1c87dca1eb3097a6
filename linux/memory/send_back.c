// SPDX-License-Identifier: GPL-2.0
/*
 * Calls about memory that a hosted thread makes while it is on Linux for a moment: until a
 * tick has found it there, or its core has room. Only a core can perform them on the range
 * (memory/calls.c). So the call is spoiled: it gets an invalid argument, Linux refuses it at
 * once, and the thread makes it again, on its core. The same is done for tasks that have the
 * memory of a hosted process, but are not hosted.
 *
 * Called by delegate/calls.c around each call of a hosted thread: before Linux reads the
 * arguments, and before the program sees them again. For other tasks: before.
 *
 * TRICK spoilt calls: a call that a core has to perform is given an argument with which Linux refuses
 * it, and is made again.
 * BREAKS a kernel that accepts the argument.
 * NOTICED `tests/user/given.c`, `moved.c`, `vfork.c`.
 */
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/userfaultfd.h>
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
	SPOIL(__NR_get_mempolicy, r8, -1ul),		/* flags */
	SPOIL(NR_SET_MEMPOLICY_HOME_NODE, di, 1),
	SPOIL(__NR_move_pages, r9, -1ul),
	SPOIL(__NR_migrate_pages, si, 0),
	SPOIL(__NR_mincore, di, 1),
	SPOIL(__NR_mlock, di, 1),			/* nothing is mapped there */
	SPOIL(__NR_mlock2, di, 1),
	SPOIL(__NR_munlock, di, 1),
	SPOIL(__NR_mlockall, di, 0),
	SPOIL(__NR_munlockall, di, 0),			/* has none: Linux does it, and it is done again on the core */
	SPOIL(__NR_msync, dx, -1ul),
	SPOIL(NR_MSEAL, dx, 1),
	SPOIL(__NR_remap_file_pages, dx, 1),
	SPOIL(__NR_shmat, di, -1ul),
	SPOIL(NR_MAP_SHADOW_STACK, dx, -1ul),
	SPOIL(__NR_userfaultfd, di, -1ul),
	SPOIL(__NR_ioctl, si, -1ul),			/* USERFAULTFD_IOC_NEW only */
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

static const struct tacet_spoiling *spoiling_of(const struct pt_regs *regs, long number)
{
	unsigned int i;

	if (number == __NR_ioctl && (u32)regs->si != USERFAULTFD_IOC_NEW)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(spoilings); i++)
		if (spoilings[i].number == number)
			return &spoilings[i];
	return NULL;
}

/* The calling thread has just made the call again: gives it its argument back, and has it
 * make the call once more. */
static void repeat(struct pt_regs *regs, const struct tacet_spoiling *spoiling, unsigned long spoilt)
{
	*spoiled(regs, spoiling) = spoilt;
	regs->ax = regs->orig_ax;
	tacet_state_repeat_call(regs);
}

/* The range of the calling thread's memory, unless it is Linux's by now. In an RCU read section. */
static const struct tacet_range *range_of_caller(void)
{
	const struct tacet_range *range = current->mm ? tacet_range_find(current->mm) : NULL;

	return range && READ_ONCE(range->visibility) != TACET_RANGE_HANDED_OVER ? range : NULL;
}

/* A call begins that does not come from a core: spoils it if a core has to perform it. In an
 * RCU read section. */
void tacet_send_back_before_call(struct tacet_hosted *hosted, struct pt_regs *regs, long number)
{
	const struct tacet_spoiling *spoiling = in_ia32_syscall() ? NULL : spoiling_of(regs, number);

	if (!spoiling || !range_of_caller())
		return;
	hosted->memory.spoilt = *spoiled(regs, spoiling);
	*spoiled(regs, spoiling) = spoiling->value;
	WRITE_ONCE(hosted->memory.spoiling, spoiling);
}

/* The call has ended. If it was spoiled, the thread is about to make it again. */
void tacet_send_back_after_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	if (!hosted->memory.spoiling)
		return;
	repeat(regs, hosted->memory.spoiling, hosted->memory.spoilt);
	WRITE_ONCE(hosted->memory.spoiling, NULL);
	hosted->memory.sent_back++;
}

/* The call, whose arguments are in @regs, changes something of the range, or asks about it. */
static bool concerns(const struct tacet_range *range, const struct pt_regs *regs, long number)
{
	switch (number) {
	case __NR_brk:			/* the program's break is in its range */
	case __NR_ioctl:		/* USERFAULTFD_IOC_NEW */
	case __NR_mlockall:
	case __NR_userfaultfd:
	case __NR_process_madvise:
	case __NR_move_pages:
	case __NR_migrate_pages:
		return true;
	case __NR_mmap:
		return regs->r10 & (MAP_FIXED | MAP_FIXED_NOREPLACE) &&
		       tacet_range_covers(range, regs->di, regs->si);
	case __NR_mremap:
		return tacet_range_covers(range, regs->di, regs->si + 1) ||
		       (regs->r10 & MREMAP_FIXED && tacet_range_covers(range, regs->r8, regs->dx));
	case __NR_munmap:
	case __NR_mprotect:
	case __NR_pkey_mprotect:
	case __NR_madvise:
	case __NR_mbind:
	case NR_SET_MEMPOLICY_HOME_NODE:
	case __NR_mincore:
	case __NR_mlock:
	case __NR_mlock2:
	case __NR_munlock:
	case __NR_msync:
	case NR_MSEAL:
	case __NR_remap_file_pages:
	case NR_MAP_SHADOW_STACK:
		return tacet_range_covers(range, regs->di, regs->si);
	case __NR_shmat:
		return regs->si && tacet_range_covers(range, regs->si, TACET_RANGE_BYTES);
	}
	return false;
}

struct tacet_stranger {
	struct callback_head work;
	int (*settle)(void);
	const struct tacet_spoiling *spoiling;
	unsigned long spoilt;
};

/* Nobody can perform the call: ends it with an error. */
static void end(struct pt_regs *regs, const struct tacet_stranger *stranger, int error)
{
	const struct tacet_range *range;

	*spoiled(regs, stranger->spoiling) = stranger->spoilt;
	rcu_read_lock();
	range = range_of_caller();
	regs->ax = range ? tacet_range_refuse(range, stranger->spoiling->number, error) : error;
	rcu_read_unlock();
}

/* The call has ended; the task is about to return to user mode, or it ends. */
static void make_again(struct callback_head *work)
{
	struct tacet_stranger *stranger = container_of(work, struct tacet_stranger, work);
	struct pt_regs *regs = task_pt_regs(current);
	int error = current->mm ? stranger->settle() : 0;

	if (error)
		end(regs, stranger, error);
	else
		repeat(regs, stranger->spoiling, stranger->spoilt);
	kfree(stranger);
	module_put(THIS_MODULE);
}

/*
 * A task begins a call that no core has seen or will see. If the call concerns the range of a
 * hosted process whose memory the task has (a child of vfork(), for instance), it is spoiled
 * too: @settle sees to it that somebody can perform it, and the task makes it again; or the
 * call fails. @settle sleeps. If there is no memory for that the call fails. In an RCU read
 * section.
 */
void tacet_stranger_before_call(struct pt_regs *regs, long number, int (*settle)(void))
{
	const struct tacet_range *range = in_ia32_syscall() ? NULL : range_of_caller();
	const struct tacet_spoiling *spoiling = range ? spoiling_of(regs, number) : NULL;
	struct tacet_stranger *stranger;

	if (!spoiling || !concerns(range, regs, number))
		return;
	stranger = kmalloc(sizeof(*stranger), GFP_ATOMIC | __GFP_NOWARN);
	if (stranger) {
		*stranger = (struct tacet_stranger){
			.settle = settle,
			.spoiling = spoiling,
			.spoilt = *spoiled(regs, spoiling),
		};
		__module_get(THIS_MODULE);
		init_task_work(&stranger->work, make_again);
		if (task_work_add(current, &stranger->work, TWA_RESUME)) {	/* it ends */
			kfree(stranger);
			module_put(THIS_MODULE);
		}
	}
	*spoiled(regs, spoiling) = spoiling->value;
}

/* The thread has to continue on Linux, and so needs its memory there. */
bool tacet_sent_back_too_often(const struct tacet_hosted *hosted)
{
	return hosted->memory.sent_back > SENT_BACK_LIMIT;
}
