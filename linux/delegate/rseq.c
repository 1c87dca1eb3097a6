// SPDX-License-Identifier: GPL-2.0
/*
 * Restartable sequences of a hosted thread (rseq(2)).
 *
 * Called in the thread's own context; sleeps on faults. While the thread is on a core, its
 * area has the core's CPU number, which no other running thread has. When it leaves user
 * mode without a call of its own, another thread may use the core: its critical section is
 * aborted, as by a preemption.
 *
 * TRICK restartable sequences: the numbers of the core are written to the thread's area, and to
 * Linux's copy of them.
 * BREAKS a kernel that keeps its copy elsewhere: it kills the task.
 * NOTICED it does not build where the fields have other names; `tests/user/rseq.c`.
 */
#include <linux/uaccess.h>
#include <uapi/linux/rseq.h>

#include "compat.h"
#include "delegate/delegate.h"
#include "tacet.h"

#define AREA_BYTES 32

/* The thread is about to be posted to @core. */
void tacet_rseq_enter(struct tacet_core *core)
{
	struct rseq __user *area = tacet_rseq_area(current);
	/* Linux numbers a process's running threads from 0. Cores count from the other
	 * end, so that no two running threads have the same number. */
	u32 concurrency = nr_cpu_ids - 1 - (core - tacet_partition.cores);

	/* As large as the smallest area that Linux takes. */
	if (!area || !user_write_access_begin(area, AREA_BYTES))
		return;
	unsafe_put_user(core->cpu, &area->cpu_id_start, fault);
	unsafe_put_user(core->cpu, &area->cpu_id, fault);
	if (TACET_RSEQ_HAS_NODE) {
		u32 __user *node = (u32 __user *)area + 5, *mm_cid = (u32 __user *)area + 6;

		unsafe_put_user(core->node, node, fault);
		unsafe_put_user(concurrency, mm_cid, fault);
	}
	user_write_access_end();
	tacet_rseq_written(core->cpu, core->node, concurrency);
	return;
fault:
	user_write_access_end();
}

/* @regs were interrupted. If that was in a critical section, they go to its abort handler. */
void tacet_rseq_abort(struct pt_regs *regs)
{
	struct rseq __user *area = tacet_rseq_area(current);
	struct rseq_cs section;
	u64 pointer;
	u32 signature;

	if (!area || get_user(pointer, (u64 __user *)&area->rseq_cs) || !pointer ||
	    pointer >= TASK_SIZE_MAX)
		return;
	if (copy_from_user(&section, (void __user *)pointer, sizeof(section)))
		return;
	if (regs->ip - section.start_ip >= section.post_commit_offset ||
	    section.abort_ip >= TASK_SIZE_MAX || section.version)
		return;
	/* Linux kills a program whose signature is wrong. */
	if (get_user(signature, (u32 __user *)(section.abort_ip - sizeof(u32))) ||
	    signature != tacet_rseq_signature(current))
		return;
	if (put_user(0, (u64 __user *)&area->rseq_cs))
		return;
	regs->ip = section.abort_ip;
}
