/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that sleep say so here. Stock kernels do not look whether they may: the module does,
 * in every scenario, since probes and RCU walkers reach far down.
 */
#ifndef TACET_BASE_CONTEXT_H
#define TACET_BASE_CONTEXT_H

#include <linux/kernel.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>

static inline void tacet_sleeps(void)
{
	might_sleep();
	WARN_ON_ONCE(in_atomic() || irqs_disabled() || rcu_preempt_depth());
}

#endif
