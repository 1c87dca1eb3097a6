// SPDX-License-Identifier: GPL-2.0
/*
 * A virtual function is off until the controller of its physical function switches it on, and again
 * after each reset of that controller. Linux has that controller: the command goes through its admin
 * queue, if the places of the driver's fields are known. Otherwise an administrator gives it
 * (`nvme virt-mgmt`).
 *
 * Called by virtual.c, with the control lock held; sleeps. Must never take queues that another
 * function has.
 */
#include <linux/slab.h>

#include "pico/nvme/linux/nvme.h"
#include "tacet.h"

enum { ASSIGN = 8, SWITCH_ON = 9 };		/* actions of virtualization management */
enum { QUEUES = 0, INTERRUPTS = 1 };		/* resources */
#define LEAST_QUEUES 2				/* its admin queue and another one */

/* What Identify says with NVME_ID_CNS_SCNDRY_CTRL_LIST. */
struct secondary {
	__le16 controller, primary;
	u8 state, reserved[3];
	__le16 function;			/* the number of the virtual function, from 1 on */
	__le16 queues, interrupts;
	u8 reserved2[18];
};

struct secondaries {
	u8 count, reserved[31];
	struct secondary entry[127];
};

static int manage(struct tacet_nvme *primary, const struct secondary *secondary, u32 action,
		  u32 resource, u32 number)
{
	struct nvme_command command = { .common = {
		.opcode = nvme_admin_virtual_mgmt,
		.cdw10 = cpu_to_le32(action | resource << 8 | le16_to_cpu(secondary->controller) << 16),
		.cdw11 = cpu_to_le32(number),
	} };

	return tacet_nvme_command(primary, &command, NULL, 0) ? -EIO : 0;
}

/* A function without queues gets one for each core and its admin queue, of those that nobody has. */
static int switch_on(struct tacet_nvme *primary, const struct secondary *secondary)
{
	int error = 0;

	if (secondary->state)
		return 0;
	if (le16_to_cpu(secondary->queues) < LEAST_QUEUES)
		error = manage(primary, secondary, ASSIGN, QUEUES, tacet_partition.core_count + 1);
	if (!error && !secondary->interrupts)
		error = manage(primary, secondary, ASSIGN, INTERRUPTS, 1);
	return error ?: manage(primary, secondary, SWITCH_ON, 0, 0);
}

static int find_and_switch_on(struct tacet_nvme *primary, u16 function)
{
	struct nvme_command command = { .identify = {
		.opcode = nvme_admin_identify, .cns = NVME_ID_CNS_SCNDRY_CTRL_LIST } };
	struct secondaries *all = kzalloc(NVME_IDENTIFY_DATA_SIZE, GFP_KERNEL);
	int error = -ENOMEM;
	unsigned int i;

	BUILD_BUG_ON(sizeof(*all) != NVME_IDENTIFY_DATA_SIZE);
	if (!all)
		return error;
	error = tacet_nvme_command(primary, &command, all, NVME_IDENTIFY_DATA_SIZE) ? -EIO : -ENOENT;
	for (i = 0; error == -ENOENT && i < min_t(u32, all->count, ARRAY_SIZE(all->entry)); i++)
		if (le16_to_cpu(all->entry[i].function) == function)
			error = switch_on(primary, &all->entry[i]);
	kfree(all);
	return error;
}

/* @physical is locked, so its driver stays. */
static int by_physical(struct pci_dev *physical, u16 function)
{
	struct tacet_nvme primary = { .pci = physical };
	int error = -ENODEV;

	device_for_each_child(&physical->dev, &primary.controller, tacet_nvme_is_controller);
	primary.submit = symbol_get(nvme_submit_sync_cmd);
	if (primary.controller && primary.submit &&
	    tacet_nvme_look(physical, primary.controller, &primary.driver) && primary.driver.live)
		error = find_and_switch_on(&primary, function);
	if (primary.submit)
		symbol_put(nvme_submit_sync_cmd);
	put_device(primary.controller);
	return error;
}

/* Asks once for each partition: if they are not known, one line about the physical function says why. */
static int need_places(struct tacet_nvme *nvme, struct pci_dev *physical)
{
	struct device_driver *driver = physical->dev.driver;

	if (!driver || strcmp(driver->name, "nvme"))
		return -ENODEV;
	if (!nvme->places)
		nvme->places = tacet_nvme_places_find(physical) ? -1 : 1;
	return nvme->places > 0 ? 0 : -EOPNOTSUPP;
}

int tacet_nvme_switch_on(struct tacet_nvme *nvme)
{
	struct pci_dev *physical = pci_physfn(nvme->pci);
	int function = pci_iov_vf_id(nvme->pci), error;

	if (function < 0)
		return function;
	/* Who takes the driver away holds this lock, and may wait for the control lock. */
	if (!device_trylock(&physical->dev))
		return -EBUSY;
	error = need_places(nvme, physical) ?: by_physical(physical, function + 1);
	device_unlock(&physical->dev);
	return error;
}
