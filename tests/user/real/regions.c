/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An OpenMP runtime's use of threads: regions, barriers, locks, tasks, schedules. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 20000, REGIONS = 200 };

static long fibonacci(int n)
{
	long left, right;

	if (n < 2)
		return n;
#pragma omp task shared(left) if (n > 8)
	left = fibonacci(n - 1);
	right = fibonacci(n - 2);
#pragma omp taskwait
	return left + right;
}

/* Many short regions: threads that wait for work, and for each other. */
static long regions(void)
{
	long sum = 0;

	for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel for reduction(+ : sum)
		for (int i = 0; i < 1000; i++)
			sum += i % (region + 1);
	}
	return sum;
}

static long phases(void)
{
	long *a = calloc(SIZE, sizeof(*a)), *b = calloc(SIZE, sizeof(*b)), sum = 0;

#pragma omp parallel
	for (int phase = 0; phase < 20; phase++) {
#pragma omp for schedule(dynamic, 100)
		for (int i = 0; i < SIZE; i++)
			b[i] = a[i] + a[(i + 1) % SIZE] % 7 + i;
#pragma omp for schedule(guided)
		for (int i = 0; i < SIZE; i++)
			a[i] = b[(i + SIZE - 1) % SIZE] % 1000;
	}
	for (int i = 0; i < SIZE; i++)
		sum += a[i];
	free(a);
	free(b);
	return sum;
}

static long locked(void)
{
	omp_lock_t lock;
	long critical = 0, atomic = 0, inside = 0;

	omp_init_lock(&lock);
#pragma omp parallel for
	for (int i = 0; i < 2000; i++) {
#pragma omp critical
		critical += i;
#pragma omp atomic
		atomic += i;
		omp_set_lock(&lock);
		inside += i;
		omp_unset_lock(&lock);
	}
	omp_destroy_lock(&lock);
	return critical == atomic && atomic == inside ? inside : -1;
}

int main(void)
{
	long tasks = 0;

#pragma omp parallel
#pragma omp single
	tasks = fibonacci(20);
	printf("%ld %ld %ld %ld\n", regions(), phases(), locked(), tasks);
	return 0;
}
