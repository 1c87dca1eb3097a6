// SPDX-License-Identifier: GPL-2.0
/*
 * Where a thread's memory comes from: its NUMA policy and the nodes of its cpuset, which a
 * core gets with the thread. The cores themselves know the policies of parts of a range
 * (kernel/core/src/syscall/policy.rs).
 *
 * Called in the context of the thread that wants the memory: only it changes its policy.
 * Nodes beyond TACET_NODES are ignored.
 */
#include <linux/cpuset.h>
#include <linux/mempolicy.h>
#include <linux/nodemask.h>
#include <linux/topology.h>

#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

static u32 low_nodes(const nodemask_t *nodes)
{
	return READ_ONCE(nodes->bits[0]);
}

/* The calling thread's policy. */
struct tacet_policy tacet_policy_mine(void)
{
	struct tacet_policy policy = { .mode = MPOL_LOCAL };
	nodemask_t nodes;

	if (tacet_task_policy(&policy.mode, &nodes))
		policy.nodes = low_nodes(&nodes);
	return policy;
}

/* The nodes with memory that the calling thread may use. */
u32 tacet_nodes_allowed(void)
{
	return low_nodes(&cpuset_current_mems_allowed) & low_nodes(&node_states[N_MEMORY]);
}

/* The calling thread may use none of the nodes on which the partition has memory. */
bool tacet_policy_excludes(void)
{
	struct tacet_policy policy = tacet_policy_mine();
	u32 nodes = tacet_nodes_allowed();
	unsigned int i;

	if (policy.mode == MPOL_BIND)
		nodes &= policy.nodes;
	for (i = 0; i < tacet_partition.block_count; i++)
		if (nodes & BIT(tacet_partition.blocks[i].node))
			return false;
	return true;
}

/* Before the first core starts. */
void tacet_policy_describe(struct tacet_memory *memory)
{
	unsigned int from, to;

	memory->node_ids = nr_node_ids;
	for (from = 0; from < TACET_NODES; from++)
		for (to = 0; to < TACET_NODES; to++)
			memory->distances[from][to] = from < nr_node_ids && to < nr_node_ids ?
						      min(node_distance(from, to), U8_MAX) : U8_MAX;
}
