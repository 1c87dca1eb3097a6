// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Preloaded into HPC Challenge: time() always returns the same second. HPC Challenge seeds its random numbers with it,
 * and these choose in each run which rank computes alone and in which rings messages travel. The rings alone take 0.94
 * to 1.01 s of a job of 1.1 s on an idle node, so no scheduler could make such runs equal. HPC Challenge measures with
 * other clocks.
 */
#include <time.h>

#define SAME_SECOND 1000000000

time_t time(time_t *where)
{
	if (where)
		*where = SAME_SECOND;
	return SAME_SECOND;
}
