/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* OpenMP: loops, reductions, critical sections, tasks; the results do not depend on the threads. */
#include <math.h>
#include <omp.h>

#include "../../user/check.h"

#define SIZE 200000

static double left[SIZE], right[SIZE];

static long fibonacci(int n)
{
	long one, two;

	if (n < 2)
		return n;
#pragma omp task shared(one) if (n > 12)
	one = fibonacci(n - 1);
	two = fibonacci(n - 2);
#pragma omp taskwait
	return one + two;
}

int main(void)
{
	long sum = 0, order = 0, result = 0;
	double dot = 0;
	int threads = 0;

	omp_set_num_threads(4);
#pragma omp parallel for
	for (int i = 0; i < SIZE; i++) {
		left[i] = i % 10;
		right[i] = 2;
	}
#pragma omp parallel for reduction(+ : dot)
	for (int i = 0; i < SIZE; i++)
		dot += left[i] * right[i];
#pragma omp parallel for schedule(dynamic, 100) reduction(+ : sum)
	for (int i = 0; i < SIZE; i++)
		sum += i & 3;
#pragma omp parallel
	{
#pragma omp critical
		order++;
#pragma omp single
		threads = omp_get_num_threads();
	}
#pragma omp parallel
#pragma omp single
	result = fibonacci(18);
	say("dot %.1f, sum %ld, threads %d, order %ld, fibonacci %ld\n", dot, sum, threads, order, result);
	return 0;
}
