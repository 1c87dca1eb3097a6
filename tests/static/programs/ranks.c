/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Several processes of one job. Each adds its number to a file under a lock, waits until all have, and the
 * first one prints what the file says. The argument is the file; the number of processes is the second argument.
 */
#include <fcntl.h>

#include "../../user/check.h"

int main(int argc, char **argv)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	long state[2] = { 0 };
	int file, wanted = argc > 2 ? atoi(argv[2]) : 1, rank;

	CHECK(argc > 1);
	file = open(argv[1], O_RDWR | O_CREAT, 0600);
	CHECK(file >= 0 && fcntl(file, F_SETLKW, &lock) == 0);
	CHECK(pread(file, state, sizeof(state), 0) >= 0);
	rank = state[0]++;
	state[1] += getpid();
	CHECK(pwrite(file, state, sizeof(state), 0) == sizeof(state));
	lock.l_type = F_UNLCK;
	CHECK(fcntl(file, F_SETLK, &lock) == 0);
	while (state[0] < wanted) {
		usleep(1000);
		CHECK(pread(file, state, sizeof(state), 0) == sizeof(state));
	}
	if (rank == 0)
		say("%ld processes\n", state[0]);
	return rank == wanted - 1 ? 3 : 0;
}
