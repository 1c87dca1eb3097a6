/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which recalls a thread cannot outlive. process/recall.c waits for these alone. It uses nothing of
 * Linux's, so that tests/border/tests/recalls.rs can hold it against what the cores do
 * (kernel/core/src/base/place.rs).
 */
#ifndef TACET_PROCESS_RECALLED_H
#define TACET_PROCESS_RECALLED_H

#include <linux/types.h>

#include <tacet/context.h>

/* The core gives a thread with this recall (enum tacet_recall) back whatever the thread does there.
 * A recall that only ends a turn is no promise: a thread that waits by then has ended its turn, and
 * stays with the recall for as long as it waits. */
static inline int tacet_recall_returns(__u32 recall)
{
	return recall == TACET_RECALL_ALWAYS || recall == TACET_RECALL_KILLED;
}

#endif
