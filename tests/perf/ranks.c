/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Two MPI programs like those of the NAS benchmarks, with checked results. In `ep`, each rank computes alone, and the
 * ranks add up their results at the end. `cg` solves a system of equations, with two sums over all ranks and an
 * exchange with both neighbours in each round.
 *
 * usage: mpiexec -n RANKS ranks ep|cg SIZE
 * SIZE: thousands of random pairs, or rounds, of each rank. The first rank prints `seconds`, from barrier to barrier, so
 * without the start of the job. Built with the MPI of the node.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Unknowns of each rank; few, so that a round is short. */
#define ROWS 512
#define DIAGONAL 2.5

static int rank, size;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "ranks: wrong: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Polls, however the library itself would wait: polling executes instructions, so it takes time in the node's clock. */
static void wait_for(MPI_Request request)
{
	for (int done = 0; !done;)
		MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

static double sum_over_ranks(double mine)
{
	MPI_Request request;
	double all;

	MPI_Iallreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
	wait_for(request);
	return all;
}

static void barrier(void)
{
	MPI_Request request;

	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	wait_for(request);
}

static double random_number(unsigned long *state)
{
	*state = *state * 6364136223846793005UL + 1442695040888963407UL;
	return (double)(*state >> 11) / (1UL << 53) * 2 - 1;
}

/* Pairs in the unit circle make normal deviates; about pi/4 of all are. */
static void ep(long thousands)
{
	unsigned long state = 271828183UL + rank;
	double inside = 0, mean = 0, all = thousands * 1000.0;

	for (long i = 0; i < thousands * 1000; i++) {
		double x = random_number(&state), y = random_number(&state), square = x * x + y * y;

		if (square > 1 || square == 0)
			continue;
		inside++;
		mean += x * sqrt(-2 * log(square) / square);
	}
	inside = sum_over_ranks(inside) / (all * size);
	mean = sum_over_ranks(mean) / (all * size);
	check(fabs(inside - 0.785398) < 0.01, "pairs in the circle");
	check(fabs(mean) < 0.02, "the mean of the deviates");
}

/* Fetches the neighbours' adjacent rows into [0] and [ROWS + 1]. */
static void exchange(double *v)
{
	int before = rank ? rank - 1 : MPI_PROC_NULL, behind = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
	MPI_Request requests[4];

	MPI_Irecv(&v[ROWS + 1], 1, MPI_DOUBLE, behind, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(&v[0], 1, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(&v[1], 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(&v[ROWS], 1, MPI_DOUBLE, behind, 1, MPI_COMM_WORLD, &requests[3]);
	for (int i = 0; i < 4; i++)
		wait_for(requests[i]);
}

static double dot(const double *a, const double *b)
{
	double mine = 0;

	for (int i = 1; i <= ROWS; i++)
		mine += a[i] * b[i];
	return sum_over_ranks(mine);
}

/* Conjugate gradients on a tridiagonal system whose solution is 1 everywhere. Starts again every 25 rounds. */
static void cg(long rounds)
{
	static double x[ROWS + 2], r[ROWS + 2], p[ROWS + 2], q[ROWS + 2];
	double rho = 0, next, alpha;

	for (long round = 0; round < rounds; round++) {
		if (round % 25 == 0) {
			memset(x, 0, sizeof(x));
			memset(p, 0, sizeof(p));
			for (int i = 1; i <= ROWS; i++)
				r[i] = p[i] = DIAGONAL - 2 + (rank == 0 && i == 1) + (rank == size - 1 && i == ROWS);
			rho = dot(r, r);
		}
		exchange(p);
		for (int i = 1; i <= ROWS; i++)
			q[i] = DIAGONAL * p[i] - p[i - 1] - p[i + 1];
		alpha = rho / dot(p, q);
		for (int i = 1; i <= ROWS; i++) {
			x[i] += alpha * p[i];
			r[i] -= alpha * q[i];
		}
		next = dot(r, r);
		for (int i = 1; i <= ROWS; i++)
			p[i] = r[i] + next / rho * p[i];
		rho = next;
	}
	if (rounds % 25 == 0)
		check(fabs(x[ROWS / 2] - 1) < 1e-4, "the solution");
}

int main(int argc, char **argv)
{
	double begin, seconds;
	long work = argc == 3 ? atol(argv[2]) : 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (work <= 0 || (strcmp(argv[1], "ep") && strcmp(argv[1], "cg"))) {
		fprintf(stderr, "usage: ranks ep|cg SIZE\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	barrier();
	begin = MPI_Wtime();
	if (!strcmp(argv[1], "ep"))
		ep(work);
	else
		cg(work);
	barrier();
	seconds = MPI_Wtime() - begin;
	if (rank == 0)
		printf("seconds %.6f\n", seconds);
	MPI_Finalize();
	return 0;
}
