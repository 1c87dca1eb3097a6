// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A kernel like LINPACK's: solves a dense system by LU factorisation with partial pivoting, between two markers.
 *
 * usage: linpack ORDER
 * Prints the largest error of the solution, which is known. The matrix is the same in every run.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "marker.h"

#define MOST 400

static double a[MOST][MOST], b[MOST];

static void fill(int n)
{
	unsigned seed = 1325;

	for (int i = 0; i < n; i++) {
		b[i] = 0;
		for (int j = 0; j < n; j++) {
			seed = 3125 * seed % 65536;
			a[i][j] = ((double)seed - 32768) / 16384;
			b[i] += a[i][j];
		}
	}
}

/* The order in which rows are used is in `row`. */
static void solve(int n, int *row)
{
	for (int i = 0; i < n; i++)
		row[i] = i;
	for (int k = 0; k < n; k++) {
		int best = k;

		for (int i = k + 1; i < n; i++)
			if (fabs(a[row[i]][k]) > fabs(a[row[best]][k]))
				best = i;
		int pivot = row[best];

		row[best] = row[k];
		row[k] = pivot;
		for (int i = k + 1; i < n; i++) {
			double factor = a[row[i]][k] / a[pivot][k];

			for (int j = k; j < n; j++)
				a[row[i]][j] -= factor * a[pivot][j];
			b[row[i]] -= factor * b[pivot];
		}
	}
	for (int k = n - 1; k >= 0; k--) {
		for (int j = k + 1; j < n; j++)
			b[row[k]] -= a[row[k]][j] * b[row[j]];
		b[row[k]] /= a[row[k]][k];
	}
}

int main(int count, char **words)
{
	static int row[MOST];
	int n = count == 2 ? atoi(words[1]) : 0;
	double worst = 0;

	if (n < 2 || n > MOST) {
		fprintf(stderr, "usage: linpack ORDER (2 to %d)\n", MOST);
		return 2;
	}
	fill(n);
	MARK(MARK_REGION, 2);
	solve(n, row);
	MARK(MARK_REGION_END, 2);
	for (int i = 0; i < n; i++)
		worst = fmax(worst, fabs(b[row[i]] - 1));
	printf("error %s\n", worst < 1e-8 ? "small" : "large");
	return 0;
}
