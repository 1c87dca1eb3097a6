/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * virtual DEVICE primary|assign|offline|online CONTROLLER RESOURCE NUMBER: one command of NVMe's
 * virtualization management, as `nvme virt-mgmt` gives it. RESOURCE is 0 for queues, 1 for
 * interrupts.
 *
 * virtual DEVICE attach|detach CONTROLLER 0 NAMESPACE: as `nvme attach-ns` and `nvme detach-ns` do.
 */
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define VIRTUALIZATION_MANAGEMENT 0x1c
#define NAMESPACE_ATTACHMENT 0x15
#define MANAGEMENT 0x100	/* these actions are of virtualization management */

static const struct { const char *name; unsigned int number; } actions[] = {
	{ "primary", MANAGEMENT | 1 }, { "offline", MANAGEMENT | 7 }, { "assign", MANAGEMENT | 8 },
	{ "online", MANAGEMENT | 9 }, { "attach", 0 }, { "detach", 1 } };

/* How many controllers, and their numbers. */
static uint16_t controllers[2048] = { 1 };

static int action(const char *name)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(actions[i].name, name))
			return actions[i].number;
	return -1;
}

int main(int argc, char **argv)
{
	int file = argc == 6 ? open(argv[1], O_RDWR) : -1, status;
	struct nvme_admin_cmd command = { .opcode = VIRTUALIZATION_MANAGEMENT };
	int what = argc == 6 ? action(argv[2]) : -1;

	if (file < 0 || what < 0) {
		fprintf(stderr, "virtual DEVICE primary|assign|offline|online|attach|detach CONTROLLER RESOURCE NUMBER\n");
		return 2;
	}
	command.cdw10 = (what & ~MANAGEMENT) | atoi(argv[4]) << 8 | (unsigned int)atoi(argv[3]) << 16;
	command.cdw11 = atoi(argv[5]);
	if (!(what & MANAGEMENT)) {
		controllers[1] = atoi(argv[3]);
		command = (struct nvme_admin_cmd){ .opcode = NAMESPACE_ATTACHMENT, .nsid = atoi(argv[5]), .cdw10 = what,
			.addr = (uintptr_t)controllers, .data_len = sizeof(controllers) };
	}
	status = ioctl(file, NVME_IOCTL_ADMIN_CMD, &command);
	if (status)
		fprintf(stderr, "virtual %s: status %#x\n", argv[2], status);
	return !!status;
}
