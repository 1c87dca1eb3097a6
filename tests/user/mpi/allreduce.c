/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Every rank says hello; sums over all ranks and a ring of messages must be right. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define N 5000

static void check(int ok, const char *what)
{
	if (ok)
		return;
	printf("wrong: %s\n", what);
	fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
	static double mine[N], sum[N];
	int rank, size, token = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	printf("hello from %d of %d\n", rank, size);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < N; i++)
			mine[i] = (rank + 1) * (double)i + round;
		MPI_Allreduce(mine, sum, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < N; i++)
			check(sum[i] == size * (size + 1) / 2 * (double)i + (double)size * round, "allreduce");
	}
	for (int round = 1; round <= 10; round++) {
		int next = (rank + 1) % size, previous = (rank + size - 1) % size, got;

		token = round * 100 + rank;
		MPI_Sendrecv(&token, 1, MPI_INT, next, 0, &got, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		check(got == round * 100 + previous, "ring");
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("sum of the last element: %.0f\n", sum[N - 1]);
	MPI_Finalize();
	return 0;
}
