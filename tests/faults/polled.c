/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * polled DISK: reads a block a few times by a call that polls (RWF_HIPRI): Linux uses its queues for polling, if it has
 * some.
 */
#include <sys/uio.h>

#include "granted.h"

int main(int argc, char **argv)
{
	int file = open_disk(argc > 1 ? argv[1] : "", O_RDONLY | O_DIRECT);
	struct iovec part = { memory(PIECE), PIECE };

	for (int i = 0; i < 20; i++)
		if (preadv2(file, &part, 1, i * PIECE, RWF_HIPRI) != PIECE)
			fail("%s: %s", argv[1], strerror(errno));
	return 0;
}
