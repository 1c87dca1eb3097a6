/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which tasks' system calls our probes see: those of hosted threads, of tasks with the memory of one, and of
 * everyone while somebody needs that. base/probed.c.
 */
#ifndef TACET_BASE_PROBED_H
#define TACET_BASE_PROBED_H

#include <linux/types.h>

struct mm_struct;
struct task_struct;

/* Any context. A task that is in a call is seen at its end. What makes a task matter is published before. */
void tacet_probe_task(struct task_struct *task);
void tacet_probe_memory(struct mm_struct *mm);	/* each task that has it */
void tacet_probe_everyone(void);		/* until tacet_probe_relax() */
bool tacet_probes_everyone(void);

/* Not everyone's any more, unless somebody has asked for that less than @ticks ago: then false. The caller
 * then looks whether everyone's are needed, and asks again. */
bool tacet_probe_relax(unsigned long ticks);

#endif
