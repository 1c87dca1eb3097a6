/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Clocks go forward, sleeps last at least as long as asked, dates are right. */
#include <sys/time.h>

#include "../../user/check.h"

int main(void)
{
	struct timespec before, after, asked = { .tv_nsec = 30000000 };
	struct timeval day;
	time_t seconds = time(NULL);

	CHECK(clock_gettime(CLOCK_MONOTONIC, &before) == 0 && nanosleep(&asked, NULL) == 0);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &after) == 0);
	CHECK((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec >= 30000000);
	for (int i = 0; i < 1000; i++) {
		before = after;
		CHECK(clock_gettime(CLOCK_MONOTONIC, &after) == 0);
		CHECK(after.tv_sec > before.tv_sec || (after.tv_sec == before.tv_sec && after.tv_nsec >= before.tv_nsec));
	}
	CHECK(gettimeofday(&day, NULL) == 0 && day.tv_sec >= seconds && day.tv_sec < seconds + 60);
	CHECK(clock_gettime(CLOCK_REALTIME, &after) == 0 && after.tv_sec >= day.tv_sec);
	say("year %s\n", localtime(&seconds)->tm_year >= 125 ? "good" : "bad");
	CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after) == 0 && clock_getres(CLOCK_MONOTONIC, &before) == 0);
	say("clocks\n");
	return 0;
}
