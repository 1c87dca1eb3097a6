/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * admin CONTROLLER OPCODE NAMESPACE WORD10 WORD11: one command without data for an NVMe controller.
 */
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

int main(int argc, char **argv)
{
	int file = argc == 6 ? open(argv[1], O_RDWR) : -1, status;
	struct nvme_admin_cmd command = {};

	if (file < 0) {
		fprintf(stderr, "admin CONTROLLER OPCODE NAMESPACE WORD10 WORD11\n");
		return 2;
	}
	command.opcode = strtoul(argv[2], NULL, 0);
	command.nsid = strtoul(argv[3], NULL, 0);
	command.cdw10 = strtoul(argv[4], NULL, 0);
	command.cdw11 = strtoul(argv[5], NULL, 0);
	status = ioctl(file, NVME_IOCTL_ADMIN_CMD, &command);
	if (status)
		fprintf(stderr, "admin %s: status %#x\n", argv[2], status);
	return !!status;
}
