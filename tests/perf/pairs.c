/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Two MPI ranks that wait for each other, N rounds.
 *
 * usage: mpiexec -n 2 pairs ping_pong|allreduce N [CPU CPU]
 * ping_pong: 8 bytes there and back. allreduce: the sum of one number of each rank, checked. With CPUs the ranks pin
 * themselves there; this is for Linux, since the co-kernel places hosted ranks. Region 1 covers the rounds of the first
 * rank, which prints `call_ns`, the time of a round. Built with the MPI of the node.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <string.h>

#include "clock.h"
#include "marker.h"
#include "pin.h"

#define WARM 100

static int rank;

static void ping_pong(long round)
{
	long there = round, back = -1;

	if (rank == 0) {
		MPI_Send(&there, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD);
		MPI_Recv(&back, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else {
		MPI_Recv(&back, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(&there, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD);
	}
	if (back != round)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

static void allreduce(long round)
{
	double mine = round + rank, all = 0;

	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	if (all != 2 * round + 1)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

static double measure(void (*once)(long), long count)
{
	uint64_t start;

	for (long i = 0; i < WARM; i++)
		once(i);
	if (rank == 0)
		MARK(MARK_REGION, 1);
	start = ticks();
	for (long i = 0; i < count; i++)
		once(i);
	start = ticks() - start;
	if (rank == 0)
		MARK(MARK_REGION_END, 1);
	return (double)start / count;
}

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : 0;
	struct clock clock;
	double round;
	int size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (count < 1 || size != 2 || (strcmp(argv[1], "ping_pong") && strcmp(argv[1], "allreduce"))) {
		fprintf(stderr, "usage: mpiexec -n 2 pairs ping_pong|allreduce N [CPU CPU]\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	pin(argc > 4 ? atoi(argv[3 + rank]) : -1);
	clock_start(&clock);
	round = measure(strcmp(argv[1], "ping_pong") ? allreduce : ping_pong, count);
	clock_stop(&clock);
	if (rank == 0)
		printf("call_ns %.1f\n", nanoseconds(&clock, 1) * round);
	MPI_Finalize();
	return 0;
}
