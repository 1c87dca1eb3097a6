/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * virtual DEVICE primary|assign|offline|online CONTROLLER RESOURCE NUMBER: one command of NVMe's
 * virtualization management, as `nvme virt-mgmt` gives it. RESOURCE is 0 for queues, 1 for
 * interrupts.
 */
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define VIRTUALIZATION_MANAGEMENT 0x1c

static const struct { const char *name; unsigned int number; } actions[] = {
	{ "primary", 1 }, { "offline", 7 }, { "assign", 8 }, { "online", 9 } };

static unsigned int action(const char *name)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(actions[i].name, name))
			return actions[i].number;
	return 0;
}

int main(int argc, char **argv)
{
	int file = argc == 6 ? open(argv[1], O_RDWR) : -1, status;
	struct nvme_admin_cmd command = { .opcode = VIRTUALIZATION_MANAGEMENT };

	if (file < 0 || !action(argv[2])) {
		fprintf(stderr, "virtual DEVICE primary|assign|offline|online CONTROLLER RESOURCE NUMBER\n");
		return 2;
	}
	command.cdw10 = action(argv[2]) | atoi(argv[4]) << 8 | (unsigned int)atoi(argv[3]) << 16;
	command.cdw11 = atoi(argv[5]);
	status = ioctl(file, NVME_IOCTL_ADMIN_CMD, &command);
	if (status)
		fprintf(stderr, "virtual %s: status %#x\n", argv[2], status);
	return !!status;
}
