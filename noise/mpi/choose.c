// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Chooses the nodes whose samples are stored and the CPU of each rank. */
#define _GNU_SOURCE
#include "choose.h"

#include <stdlib.h>
#include <string.h>

struct candidate {
	uint64_t noise_ns, node;
};

static int worse_first(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->noise_ns != b->noise_ns)
		return a->noise_ns < b->noise_ns ? 1 : -1;
	return (a->node > b->node) - (a->node < b->node);
}

int64_t choose_worst(const uint64_t *longest_noise_ns, uint64_t nodes, uint64_t worst, uint8_t *chosen)
{
	struct candidate *candidates = calloc(nodes + 1, sizeof(*candidates));

	if (!candidates)
		return -1;
	for (uint64_t i = 0; i < nodes; i++)
		candidates[i] = (struct candidate){ longest_noise_ns[i], i };
	qsort(candidates, nodes, sizeof(*candidates), worse_first);
	if (worst > nodes)
		worst = nodes;
	memset(chosen, 0, nodes);
	for (uint64_t i = 0; i < worst; i++)
		chosen[candidates[i].node] = 1;
	free(candidates);
	return (int64_t)worst;
}

/* The lowest CPU of the set after `skip` of them; counts through the set again at its end. */
static int nth_cpu(const cpu_set_t *set, int skip)
{
	int count = CPU_COUNT(set);

	if (!count)
		return -1;
	skip %= count;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, set) && skip-- == 0)
			return cpu;
	return -1;
}

void choose_cpus(const cpu_set_t *allowed, int ranks, int oversubscribe, int *cpus)
{
	cpu_set_t taken;

	CPU_ZERO(&taken);
	for (int choices = 0; choices <= CPU_SETSIZE; choices++) {
		for (int rank = 0; rank < ranks; rank++) {
			cpu_set_t left, both;

			if (CPU_COUNT(&allowed[rank]) != choices)
				continue;
			CPU_AND(&both, &allowed[rank], &taken);
			CPU_XOR(&left, &allowed[rank], &both);
			cpus[rank] = nth_cpu(&left, 0);
			if (cpus[rank] < 0 && oversubscribe)
				cpus[rank] = nth_cpu(&allowed[rank], rank);
			if (cpus[rank] >= 0)
				CPU_SET(cpus[rank], &taken);
		}
	}
}
