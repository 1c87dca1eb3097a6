// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Binds each rank to one CPU: the one that the launcher chose, or one of several that it allows. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

#include "choose.h"
#include "fwq.h"

void find_place(struct place *place, uint64_t split)
{
	MPI_Comm_rank(MPI_COMM_WORLD, &place->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &place->ranks);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, place->rank, MPI_INFO_NULL, &place->machine);
	MPI_Comm_rank(place->machine, &place->on_node);
	MPI_Comm_split(place->machine, split ? (int)((uint64_t)place->on_node / split) : 0, place->rank, &place->node);
	MPI_Comm_rank(place->node, &place->on_node);
	MPI_Comm_size(place->node, &place->node_ranks);
	MPI_Comm_split(MPI_COMM_WORLD, place->on_node ? MPI_UNDEFINED : 0, place->rank, &place->leaders);
	if (!place->on_node)
		MPI_Comm_size(place->leaders, &place->nodes);
	MPI_Bcast(&place->nodes, 1, MPI_INT, 0, place->node);
}

const char *bind_rank(struct place *place, bool oversubscribe)
{
	static char wrong[256];
	cpu_set_t allowed, one;
	int ranks, own;

	MPI_Comm_size(place->machine, &ranks);
	MPI_Comm_rank(place->machine, &own);
	cpu_set_t *all = calloc((size_t)ranks, sizeof(*all));
	int *cpus = calloc((size_t)ranks, sizeof(*cpus));
	int failed = sched_getaffinity(0, sizeof(allowed), &allowed) ? errno : 0;

	if (!all || !cpus)
		failed = ENOMEM;
	/* The calls below are collective: either all ranks take part or none. */
	MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, place->machine);
	if (failed) {
		snprintf(wrong, sizeof(wrong), "cpus: cannot read what the launcher allows: %s", strerror(failed));
		goto out;
	}
	MPI_Allgather(&allowed, sizeof(allowed), MPI_BYTE, all, sizeof(allowed), MPI_BYTE, place->machine);
	choose_cpus(all, ranks, oversubscribe, cpus);
	place->cpu = cpus[own];
	if (place->cpu < 0) {
		snprintf(wrong, sizeof(wrong),
			 "cpus: no CPU is left for this rank: %d ranks run on the node, and others have all of the %d CPUs "
			 "that it may use: start fewer ranks, or give --oversubscribe", ranks, CPU_COUNT(&allowed));
		goto out;
	}
	CPU_ZERO(&one);
	CPU_SET(place->cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		snprintf(wrong, sizeof(wrong), "cpu %d: cannot run there: %s", place->cpu, strerror(errno));
out:
	free(all);
	free(cpus);
	return wrong[0] ? wrong : NULL;
}
