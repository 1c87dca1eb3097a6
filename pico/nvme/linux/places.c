// SPDX-License-Identifier: GPL-2.0
/*
 * What Linux's NVMe driver has for a controller, read from its private structures.
 *
 * Called by controller.c and queues.c, with the control lock held. Finds each field by its name
 * and its type in Linux's description of its types, anew whenever the driver may have been loaded
 * again. Reads only.
 */
#include <linux/slab.h>

#include "pico/linux/kernel_types.h"
#include "pico/nvme/linux/fields.h"
#include "pico/nvme/linux/nvme.h"
#include "tacet.h"

static struct tacet_field_place places[TACET_NVME_CONTROLLER_FIELDS];
static bool found;	/* they are those of the driver that is loaded */

/* @refusal has room for TACET_LAYOUT_REFUSAL bytes. */
static int find(struct tacet_btf *types, char *refusal)
{
	void *base = NULL, *driver = NULL;
	size_t base_bytes = 0, driver_bytes = 0;
	int error = tacet_kernel_types("vmlinux", &base, &base_bytes);

	strscpy(refusal, "this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)",
		TACET_LAYOUT_REFUSAL);
	if (!error)
		error = tacet_kernel_types("nvme", &driver, &driver_bytes);
	if (error == -ENOENT && base)
		error = 0;	/* the driver is built in */
	error = error ?: tacet_layout_open(types, base, base_bytes, driver, driver_bytes, refusal);
	error = error ?: tacet_layout_find(types, tacet_nvme_controller_fields,
					   TACET_NVME_CONTROLLER_FIELDS, places, refusal);
	kvfree(base);
	kvfree(driver);
	return error;
}

/* -errno, after a line about @pci that says why. Sleeps. */
int tacet_nvme_places_find(struct pci_dev *pci)
{
	struct tacet_btf *types;
	char *refusal;
	int error;

	if (found)
		return 0;
	types = kmalloc(sizeof(*types), GFP_KERNEL);
	refusal = kmalloc(TACET_LAYOUT_REFUSAL, GFP_KERNEL);
	error = types && refusal ? find(types, refusal) : -ENOMEM;
	found = !error;
	if (error)
		tacet_pico_refuse(&pci->dev, "%s", error == -ENOMEM ? "no memory" : refusal);
	kfree(refusal);
	kfree(types);
	return error;
}

void tacet_nvme_places_forget(void)
{
	mutex_lock(&tacet_control_lock);
	found = false;
	mutex_unlock(&tacet_control_lock);
}

static void *field(void *structure, enum tacet_nvme_controller_field which)
{
	return structure + places[which].offset;
}

/* False: the driver does not have the controller as expected. */
bool tacet_nvme_look(struct pci_dev *pci, struct device *controller,
		     struct tacet_nvme_driver *driver)
{
	void *device = pci_get_drvdata(pci), *control = dev_get_drvdata(controller);

	if (!device || control != field(device, TACET_NVME_DEV_CTRL) ||
	    READ_ONCE(*(struct device **)field(device, TACET_NVME_DEV_DEV)) != &pci->dev)
		return false;
	driver->controller = control;
	driver->admin = READ_ONCE(*(struct request_queue **)field(control, TACET_NVME_CTRL_ADMIN_Q));
	driver->shadows = READ_ONCE(*(u32 **)field(device, TACET_NVME_DEV_DBBUF_DBS));
	driver->events = READ_ONCE(*(u32 **)field(device, TACET_NVME_DEV_DBBUF_EIS));
	driver->max_id = READ_ONCE(*(u32 *)field(device, TACET_NVME_DEV_MAX_QID));
	driver->live = READ_ONCE(*(u32 *)field(control, TACET_NVME_CTRL_STATE)) ==
		       (u32)places[TACET_NVME_CTRL_LIVE].value;
	return driver->admin;
}

/* Linux's device for the controller, a child of the function. */
int tacet_nvme_is_controller(struct device *device, void *found)
{
	if (!device->class || strcmp(device->class->name, "nvme"))
		return 0;
	*(struct device **)found = get_device(device);
	return 1;
}
