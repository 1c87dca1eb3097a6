/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Two kernels after the description of the NAS Parallel Benchmarks, with OpenMP: EP (pairs of Gaussian deviates) and CG
 * (the smallest eigenvalue by inverse power iteration with conjugate gradients).
 *
 * nas THREADS [THREADS...]   one line for each number of threads; they differ in that number only, because partial sums
 * belong to parts of the work, not to threads, and are added in one order.
 */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>

#include "../../user/check.h"

#define MASK ((1ull << 46) - 1)
#define FACTOR 1220703125ull /* 5^13 */
#define SEED 271828183ull

#define BLOCKS 64
#define PAIRS 2048
#define ANNULI 10

#define ROWS 700
#define OTHERS 5 /* entries of a row that are drawn; symmetry doubles them */
#define WIDTH (8 * OTHERS)
#define PARTS 32
#define OUTER 5
#define INNER 25
#define SHIFT 10.0

struct ep {
	double x, y;
	long counts[ANNULI];
};

static int columns[ROWS][WIDTH], used[ROWS];
static double entries[ROWS][WIDTH];

static uint64_t times(uint64_t a, uint64_t b)
{
	return (unsigned __int128)a * b & MASK;
}

static uint64_t power(uint64_t base, uint64_t exponent)
{
	uint64_t result = 1;

	for (; exponent; exponent >>= 1, base = times(base, base))
		if (exponent & 1)
			result = times(result, base);
	return result;
}

static double next(uint64_t *state)
{
	*state = times(FACTOR, *state);
	return (double)*state / (double)(MASK + 1);
}

/* A block of pairs: it begins where the blocks before it have drawn their numbers. */
static struct ep deviates(int block)
{
	uint64_t state = times(SEED, power(FACTOR, 2ull * PAIRS * block));
	struct ep sum = {0};

	for (int pair = 0; pair < PAIRS; pair++) {
		double x = 2 * next(&state) - 1, y = 2 * next(&state) - 1, square = x * x + y * y;
		double scale, larger;

		if (square > 1)
			continue;
		scale = sqrt(-2 * log(square) / square);
		x *= scale;
		y *= scale;
		sum.x += x;
		sum.y += y;
		larger = fmax(fabs(x), fabs(y));
		sum.counts[(int)larger]++;
	}
	return sum;
}

static struct ep embarrassingly_parallel(void)
{
	static struct ep blocks[BLOCKS];
	struct ep sum = {0};

#pragma omp parallel for schedule(dynamic)
	for (int block = 0; block < BLOCKS; block++)
		blocks[block] = deviates(block);
	for (int block = 0; block < BLOCKS; block++) {
		sum.x += blocks[block].x;
		sum.y += blocks[block].y;
		for (int annulus = 0; annulus < ANNULI; annulus++)
			sum.counts[annulus] += blocks[block].counts[annulus];
	}
	return sum;
}

static void enter(int row, int column, double value)
{
	if (used[row] < WIDTH) {
		columns[row][used[row]] = column;
		entries[row][used[row]++] = value;
	}
}

/* Sparse, symmetric, and positive definite: the diagonal is larger than the sum of its row. */
static void make_matrix(void)
{
	uint64_t state = SEED;

	for (int row = 0; row < ROWS; row++)
		for (int other = 0; other < OTHERS; other++) {
			int column = (int)(next(&state) * ROWS);
			double value = next(&state) - 0.5;

			if (column == row || used[row] >= WIDTH - 1 || used[column] >= WIDTH - 1)
				continue;
			enter(row, column, value);
			enter(column, row, value);
		}
	for (int row = 0; row < ROWS; row++) {
		double sum = 0.1 + (double)row / ROWS;

		for (int at = 0; at < used[row]; at++)
			sum += fabs(entries[row][at]);
		enter(row, row, sum);
	}
}

/* Called by all threads of a region, as the functions below. */
static void multiply(const double *vector, double *product)
{
#pragma omp for
	for (int row = 0; row < ROWS; row++) {
		double sum = 0;

		for (int at = 0; at < used[row]; at++)
			sum += entries[row][at] * vector[columns[row][at]];
		product[row] = sum;
	}
}

static double dot(const double *left, const double *right)
{
	static double parts[PARTS];
	double sum = 0;

#pragma omp for
	for (int part = 0; part < PARTS; part++) {
		double of_part = 0;

		for (int row = part * ROWS / PARTS; row < (part + 1) * ROWS / PARTS; row++)
			of_part += left[row] * right[row];
		parts[part] = of_part;
	}
	for (int part = 0; part < PARTS; part++)
		sum += parts[part];
	/* nobody begins the next sum while others read this one */
#pragma omp barrier
	return sum;
}

/* to = from + factor * other */
static void combine(double *to, const double *from, double factor, const double *other)
{
#pragma omp for
	for (int row = 0; row < ROWS; row++)
		to[row] = from[row] + factor * other[row];
}

/* Solves for z: matrix * z = x. Gives the residual's norm. */
static double solve(const double *x, double *z)
{
	static double r[ROWS], p[ROWS], q[ROWS];
	double rho, before;

	combine(z, x, -1, x);
	combine(r, x, 0, x);
	combine(p, x, 0, x);
	rho = dot(r, r);
	for (int step = 0; step < INNER; step++) {
		double alpha;

		multiply(p, q);
		alpha = rho / dot(p, q);
		combine(z, z, alpha, p);
		combine(r, r, -alpha, q);
		before = rho;
		rho = dot(r, r);
		combine(p, r, rho / before, p);
	}
	multiply(z, q);
	combine(r, x, -1, q);
	return sqrt(dot(r, r));
}

static double conjugate_gradients(double *residual)
{
	static double x[ROWS], z[ROWS];
	double zeta = 0;

#pragma omp parallel
	{
		double of_thread = 0, norm = 0;

#pragma omp for
		for (int row = 0; row < ROWS; row++)
			x[row] = 1;
		for (int step = 0; step < OUTER; step++) {
			double length;

			norm = solve(x, z);
			of_thread = SHIFT + 1 / dot(x, z);
			length = 1 / sqrt(dot(z, z));
			combine(x, z, length - 1, z);
		}
#pragma omp single
		{
			zeta = of_thread;
			*residual = norm;
		}
	}
	return zeta;
}

int main(int count, char **words)
{
	make_matrix();
	for (int word = 1; word < count; word++) {
		int threads = atoi(words[word]);
		double residual, zeta;
		struct ep sum;

		omp_set_num_threads(threads);
		sum = embarrassingly_parallel();
		zeta = conjugate_gradients(&residual);
		say("threads %d: EP %.12f %.12f, %ld %ld %ld %ld; CG %.13f, residual %d\n", threads, sum.x, sum.y,
		    sum.counts[0], sum.counts[1], sum.counts[2], sum.counts[3], zeta, residual < 1e-6);
	}
	return 0;
}
