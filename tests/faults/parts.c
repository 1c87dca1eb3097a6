/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * parts DISK add|resize|delete NUMBER [FIRST BYTES]: changes the partitions that Linux knows of a disk, not its
 * content.
 */
#include <linux/blkpg.h>
#include <sys/ioctl.h>

#include "door.h"

int main(int argc, char **argv)
{
	struct blkpg_partition partition = {};
	struct blkpg_ioctl_arg request = { .datalen = sizeof(partition), .data = &partition };
	int disk = argc > 3 ? open(argv[1], O_RDONLY) : -1;

	if (disk < 0)
		fail("parts: DISK add|resize|delete NUMBER [FIRST BYTES]");
	partition.pno = atoi(argv[3]);
	partition.start = argc > 4 ? atoll(argv[4]) : 0;
	partition.length = argc > 5 ? atoll(argv[5]) : 0;
	request.op = !strcmp(argv[2], "add") ? BLKPG_ADD_PARTITION :
		     !strcmp(argv[2], "resize") ? BLKPG_RESIZE_PARTITION : BLKPG_DEL_PARTITION;
	if (ioctl(disk, BLKPG, &request))
		fail("%s %s %s: %s", argv[1], argv[2], argv[3], strerror(errno));
	return 0;
}
