// SPDX-License-Identifier: GPL-2.0
/*
 * mbind() on memory of the partition that is where the policy wants it already: Linux
 * checks and answers the call on a page of its own (paths.c), and the memory stays.
 *
 * Where the partition has memory of one node only, that is what nearly every call asks
 * for: libraries say of each buffer that it may be wherever it is used. Everything else
 * is Linux's to do (own_calls.c).
 *
 * Called in the thread's own context before Linux executes the call; undone at the
 * call's end by births.c.
 */
#include <linux/mempolicy.h>
#include <linux/nodemask.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>

#include "compat.h"
#include "tacet.h"

/* The node of all memory of the partition, or NUMA_NO_NODE. */
static int only_node(void)
{
	int node = tacet_partition.blocks[0].node;
	unsigned int i;

	for (i = 1; i < tacet_partition.block_count; i++)
		if (tacet_partition.blocks[i].node != node)
			return NUMA_NO_NODE;
	return node;
}

/* The nodes that the call names; false: Linux knows better. */
static bool read_nodes(nodemask_t *nodes, const struct pt_regs *regs)
{
	unsigned long bits = regs->r8 ? regs->r8 - 1 : 0;	/* as Linux counts */
	size_t bytes = BITS_TO_LONGS(bits) * sizeof(long);

	nodes_clear(*nodes);
	if (!regs->r10 || !bytes)
		return true;
	if (bits > MAX_NUMNODES || copy_from_user(nodes, (void __user *)regs->r10, bytes))
		return false;
	if (bits % BITS_PER_LONG)
		nodes->bits[bits / BITS_PER_LONG] &= BIT(bits % BITS_PER_LONG) - 1;
	return true;
}

/* What is on @node is where the policy wants it. */
static bool satisfied(const struct pt_regs *regs, int node)
{
	int mode = regs->dx;
	nodemask_t nodes;

	/* Strictly: where the page is that Linux looks at counts. */
	if (regs->r9 & MPOL_MF_STRICT || node == NUMA_NO_NODE || mode & MPOL_F_RELATIVE_NODES || !read_nodes(&nodes, regs))
		return false;
	switch (mode & ~MPOL_MODE_FLAGS) {
	case MPOL_BIND:
	case MPOL_PREFERRED:
	case MPOL_PREFERRED_MANY:
		return nodes_empty(nodes) || node_isset(node, nodes);
	default:
		return nodes_empty(nodes) || (node_isset(node, nodes) && nodes_weight(nodes) == 1);
	}
}

/* All pages of [page, end) are mapped. */
static bool without_holes(struct tacet_range *range, unsigned long page, unsigned long end)
{
	bool open;

	mutex_lock(&range->lock);
	open = READ_ONCE(range->state) == TACET_RANGE_OPEN && !range->dead;
	while (open && page < end) {
		struct tacet_run run = tacet_range_run(range, page);

		open = run.pages && run.page == page;
		page += run.pages;
	}
	mutex_unlock(&range->lock);
	return open;
}

/* regs->ax is mbind's number. True: Linux will answer, and the memory may stay. */
bool tacet_policy_before_call(struct tacet_hosted *hosted, struct tacet_range *range,
			      struct pt_regs *regs)
{
	u64 start = regs->di, bytes = regs->si, end = PAGE_ALIGN(start + bytes);
	unsigned long page;

	if (start < range->base || bytes > TACET_OWN_BYTES || end > range->base + TACET_OWN_BYTES ||
	    !satisfied(regs, only_node()) ||
	    !without_holes(range, (start - range->base) >> PAGE_SHIFT, (end - range->base) >> PAGE_SHIFT))
		return false;
	page = tacet_paths_page(hosted->space);
	if (!page)
		return false;
	hosted->policy_start = start;
	hosted->policy_bytes = bytes;
	hosted->policy_given = page + offset_in_page(start);
	hosted->policy_replaced = true;
	regs->di = hosted->policy_given;
	regs->si = bytes ? 1 : 0;
	return true;
}

/* The call is done: its arguments are again what the program passed. */
void tacet_policy_after_call(struct tacet_hosted *hosted, struct pt_regs *regs)
{
	if (!hosted->policy_replaced)
		return;
	hosted->policy_replaced = false;
	/* A signal may have come before it, and its handler have called something else. */
	if (regs->orig_ax != __NR_mbind || regs->di != hosted->policy_given)
		return;
	regs->di = hosted->policy_start;
	regs->si = hosted->policy_bytes;
}
