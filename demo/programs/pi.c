// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Pi by the midpoint rule, in several rounds: the ranks divide the intervals and add up by allreduce. Prints the result
 * to standard output, and the CPUs of the ranks to standard error.
 */
#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>

#define INTERVALS 400000
#define ROUNDS 10
#define MOST 64

int main(int argc, char **argv)
{
	int rank, ranks, cpu, cpus[MOST];
	double pi = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int round = 0; round < ROUNDS; round++) {
		double mine = 0;

		for (int i = rank; i < INTERVALS; i += ranks) {
			double x = (i + 0.5) / INTERVALS;

			mine += 4 / (1 + x * x) / INTERVALS;
		}
		MPI_Allreduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	cpu = sched_getcpu();
	if (ranks <= MOST)
		MPI_Gather(&cpu, 1, MPI_INT, cpus, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (rank == 0) {
		printf("%d ranks, pi = %.10f, %s\n", ranks, pi, fabs(pi - M_PI) < 1e-9 ? "right" : "wrong");
		fprintf(stderr, "cpus");
		for (int i = 0; i < ranks && ranks <= MOST; i++)
			fprintf(stderr, " %d", cpus[i]);
		fprintf(stderr, "\n");
	}
	MPI_Finalize();
	return 0;
}
