// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Preloaded into HPC Challenge: time() gives the same second always. It draws by it, for each run anew, which rank computes
 * alone and the rings in which messages go, and the latter take 0.94 to 1.01 s of a job of 1.1 s on an idle node: no
 * scheduler could make such runs alike. What it measures it measures by other clocks.
 */
#include <time.h>

#define SAME_SECOND 1000000000

time_t time(time_t *where)
{
	if (where)
		*where = SAME_SECOND;
	return SAME_SECOND;
}
