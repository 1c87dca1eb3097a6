// SPDX-License-Identifier: GPL-2.0
/*
 * The admin queue of a controller that nobody else drives: the module enables the controller, gives
 * it commands one at a time and polls for the answer. A controller that Linux's driver has gets its
 * commands through Linux's.
 *
 * Called by virtual.c and by all files of this folder that give commands, with the control lock held;
 * sleeps. The queue lies in memory of Linux that the device alone shares. Must never free it while
 * the controller is on.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "pico/nvme/linux/nvme.h"
#include "tacet.h"

#define DEPTH 16u
#define COMPLETIONS_AT PAGE_SIZE
#define DATA_AT (2 * PAGE_SIZE)
#define MEMORY_BYTES (3 * PAGE_SIZE)
#define COMMAND_PATIENCE_MS 5000

struct tacet_nvme_admin {
	void *memory;		/* submissions, completions, and a page of data */
	dma_addr_t address;	/* for the device */
	u32 result;		/* of the last command */
	u16 tail, head, phase, number;
	bool broken;		/* a command was not done: stop it */
};

/* Waits until the controller is on, or off. A controller that is gone is off. */
static int await_ready(struct tacet_nvme *nvme, bool on)
{
	unsigned int halves = (nvme->capabilities >> 24 & 0xff) + 1;
	unsigned long end = jiffies + msecs_to_jiffies(halves * 500);

	for (;;) {
		u32 status = readl(nvme->registers + NVME_REG_CSTS);

		if (status == U32_MAX)
			return on ? -ENODEV : 0;
		if (on && (status & NVME_CSTS_CFS))
			return -EIO;
		if (!!(status & NVME_CSTS_RDY) == on)
			return 0;
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		usleep_range(100, 500);
	}
}

static int switch_off(struct tacet_nvme *nvme)
{
	u32 configuration = readl(nvme->registers + NVME_REG_CC);

	if (configuration != U32_MAX)
		writel(configuration & ~NVME_CC_ENABLE, nvme->registers + NVME_REG_CC);
	return await_ready(nvme, false);
}

static struct tacet_nvme_admin *allocate(struct tacet_nvme *nvme)
{
	struct tacet_nvme_admin *admin = kzalloc(sizeof(*admin), GFP_KERNEL);

	if (!admin)
		return NULL;
	admin->memory = dma_alloc_coherent(&nvme->pci->dev, MEMORY_BYTES, &admin->address, GFP_KERNEL);
	if (admin->memory)
		return admin;
	kfree(admin);
	return NULL;
}

/* Enables the controller with an empty queue; if it was on it is off in between. */
int tacet_nvme_admin_start(struct tacet_nvme *nvme)
{
	struct tacet_nvme_admin *admin = nvme->admin ?: allocate(nvme);
	int error;

	if (!admin)
		return -ENOMEM;
	nvme->admin = admin;
	error = switch_off(nvme);
	if (error)
		return error;
	memset(admin->memory, 0, MEMORY_BYTES);
	admin->tail = admin->head = 0;
	admin->phase = 1;
	admin->broken = false;
	pci_set_master(nvme->pci);
	writel(U32_MAX, nvme->registers + NVME_REG_INTMS);
	writel((DEPTH - 1) << 16 | (DEPTH - 1), nvme->registers + NVME_REG_AQA);
	lo_hi_writeq(admin->address, nvme->registers + NVME_REG_ASQ);
	lo_hi_writeq(admin->address + COMPLETIONS_AT, nvme->registers + NVME_REG_ACQ);
	writel(NVME_CC_ENABLE | NVME_CC_IOSQES | NVME_CC_IOCQES, nvme->registers + NVME_REG_CC);
	return await_ready(nvme, true);
}

/* Ends all queues. The device cannot reach memory any more, whatever it does. */
int tacet_nvme_admin_stop(struct tacet_nvme *nvme)
{
	int error = switch_off(nvme);

	pci_clear_master(nvme->pci);
	return error;
}

void tacet_nvme_admin_free(struct tacet_nvme *nvme)
{
	struct tacet_nvme_admin *admin = nvme->admin;

	if (!admin)
		return;
	dma_free_coherent(&nvme->pci->dev, MEMORY_BYTES, admin->memory, admin->address);
	kfree(admin);
	nvme->admin = NULL;
}

/* The completion of the one command in flight. */
static int await_completion(struct tacet_nvme *nvme)
{
	struct tacet_nvme_admin *admin = nvme->admin;
	const struct nvme_completion *done = admin->memory + COMPLETIONS_AT;
	unsigned long end = jiffies + msecs_to_jiffies(COMMAND_PATIENCE_MS);
	u16 status;

	done += admin->head;
	for (;;) {
		status = le16_to_cpu(READ_ONCE(done->status));
		if ((status & 1) == admin->phase)
			break;
		if (tacet_nvme_silent(nvme) || time_after(jiffies, end)) {
			admin->broken = true;
			return -EIO;
		}
		usleep_range(20, 100);
	}
	dma_rmb();
	admin->result = le32_to_cpu(done->result.u32);
	admin->head = (admin->head + 1) % DEPTH;
	admin->phase ^= !admin->head;
	writel(admin->head, nvme->registers + NVME_REG_DBS + nvme->stride);
	return status >> 1;
}

static int submit(struct tacet_nvme *nvme, struct nvme_command *command, void *buffer,
		  unsigned int bytes)
{
	struct tacet_nvme_admin *admin = nvme->admin;
	struct nvme_command *submissions = admin->memory;
	int status;

	if (admin->broken || bytes > PAGE_SIZE)
		return -EIO;
	if (buffer) {
		memset(admin->memory + DATA_AT, 0, PAGE_SIZE);
		command->common.dptr.prp1 = cpu_to_le64(admin->address + DATA_AT);
	}
	command->common.command_id = ++admin->number;
	submissions[admin->tail] = *command;
	admin->tail = (admin->tail + 1) % DEPTH;
	/* the entry before the doorbell */
	dma_wmb();
	writel(admin->tail, nvme->registers + NVME_REG_DBS);
	status = await_completion(nvme);
	if (!status && buffer)
		memcpy(buffer, admin->memory + DATA_AT, bytes);
	return status;
}

int tacet_nvme_command(struct tacet_nvme *nvme, struct nvme_command *command, void *buffer,
		       unsigned int bytes)
{
	if (nvme->admin)
		return submit(nvme, command, buffer, bytes);
	/* Linux would wait a minute for one that was pulled out, and others for our lock. */
	if (!pci_device_is_present(nvme->pci) || (nvme->registers && tacet_nvme_silent(nvme)))
		return -ENODEV;
	return nvme->submit(nvme->driver.admin, command, buffer, bytes);
}

/* Asks for so many queue pairs. */
int tacet_nvme_admin_queues(struct tacet_nvme *nvme, u16 wanted, u16 *granted)
{
	struct nvme_command command = { .features = {
		.opcode = nvme_admin_set_features,
		.fid = cpu_to_le32(NVME_FEAT_NUM_QUEUES),
		.dword11 = cpu_to_le32((wanted - 1) | (wanted - 1) << 16),
	} };
	u32 result;

	if (submit(nvme, &command, NULL, 0))
		return -EIO;
	result = nvme->admin->result;
	*granted = min(result & 0xffff, result >> 16) + 1;
	return 0;
}
