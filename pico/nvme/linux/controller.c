// SPDX-License-Identifier: GPL-2.0
/*
 * A controller is found, checked and opened for the cores; and Linux's resets and removals of it
 * are noticed.
 *
 * Called by pico/linux/devices.c, with the control lock held. Holds the functions of nvme-core
 * that it calls, and so that module, while a controller is open; it needs neither nvme nor
 * nvme-core to be loaded.
 */
#include <linux/slab.h>

#include "arch/arch.h"
#include "compat.h"
#include "pico/linux/probes.h"
#include "pico/nvme/linux/nvme.h"
#include "tacet.h"

#define ENTRY_SIZES (6u << 16 | 4u << 20)	/* log2 of a submission's and a completion's bytes */
#define ENTRY_SIZES_MASK (0xffu << 16)
#define PAGE_SIZE_MASK (15u << 7)		/* of the controller: 0 is 4 KiB */

static int refuse(struct tacet_nvme *nvme, const char *why)
{
	tacet_pico_refuse(&nvme->pci->dev, "%s", why);
	return -EOPNOTSUPP;
}

static bool is_driven(struct pci_dev *pci)
{
	struct device_driver *driver = READ_ONCE(pci->dev.driver);

	return driver && !strcmp(driver->name, "nvme");
}

static struct device *next(struct device *from)
{
	struct pci_dev *pci = from ? to_pci_dev(from) : NULL;

	while ((pci = pci_get_class(PCI_CLASS_STORAGE_EXPRESS, pci))) {
		if (is_driven(pci) && !tacet_nvme_has_virtual(pci))
			return &pci->dev;
	}
	return NULL;
}

/* What the controller's registers say. */
static int read_registers(struct tacet_nvme *nvme)
{
	u32 configuration;

	nvme->registers = ioremap(pci_resource_start(nvme->pci, 0), PAGE_SIZE);
	if (!nvme->registers)
		return refuse(nvme, "its registers cannot be mapped");
	nvme->capabilities = readq(nvme->registers + NVME_REG_CAP);
	configuration = readl(nvme->registers + NVME_REG_CC);
	if ((configuration & ENTRY_SIZES_MASK) != ENTRY_SIZES || configuration & PAGE_SIZE_MASK)
		return refuse(nvme, "its commands or pages have an unusual size");
	return tacet_nvme_read_capabilities(nvme);
}

static int examine(struct tacet_pico_unit *unit, struct tacet_nvme *nvme)
{
	int error;

	if (!is_driven(nvme->pci)) {
		refuse(nvme, "Linux took its driver away");
		return -ENODEV;
	}
	error = tacet_nvme_places_find(nvme->pci);
	if (error)
		return error;
	device_for_each_child(&nvme->pci->dev, &nvme->controller, tacet_nvme_is_controller);
	if (!nvme->controller || !tacet_nvme_look(nvme->pci, nvme->controller, &nvme->driver) ||
	    !nvme->driver.live) {
		refuse(nvme, "it does not work now, or Linux's driver has it in an unknown way");
		return -EAGAIN;
	}
	nvme->submit = symbol_get(nvme_submit_sync_cmd);
	if (!nvme->submit)
		return refuse(nvme, "Linux's driver does not let others send commands");
	error = read_registers(nvme);
	error = error ?: tacet_nvme_identify(nvme);
	error = error ?: tacet_nvme_count_ids(nvme);
	return error ?: tacet_nvme_map_doorbells(unit, nvme);
}

/* Linux is about to switch a controller off, which ends all of its queues. */
static void switched_off(unsigned long controller, unsigned long shutdown)
{
	tacet_pico_lost((void *)controller);
}

/* Linux is about to switch it on: it was off, or the driver would have given up. */
static void switched_on(unsigned long controller, unsigned long unused)
{
	tacet_pico_off((void *)controller);
}

static struct tacet_probe resets[] = {
	{ .symbol = "nvme_disable_ctrl", .entered = switched_off },
	{ .symbol = "nvme_enable_ctrl", .entered = switched_on },
};
static struct tacet_probes probes = { .probes = resets, .count = ARRAY_SIZE(resets) };

/* The device's lock is held. */
static int changed(struct notifier_block *block, unsigned long action, void *data)
{
	struct device *device = data;

	if (to_pci_dev(device)->class != PCI_CLASS_STORAGE_EXPRESS)
		return NOTIFY_DONE;
	if (action == BUS_NOTIFY_UNBIND_DRIVER) {
		tacet_pico_unbound(device);
		tacet_nvme_places_forget();
	} else if (action == BUS_NOTIFY_BOUND_DRIVER) {
		tacet_pico_bound(device);
	} else if (action == BUS_NOTIFY_REMOVED_DEVICE) {
		tacet_pico_removed(device);
	}
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = changed };

/* Loading and unloading; the control lock is not held. */
static int load(void)
{
	return bus_register_notifier(&pci_bus_type, &notifier);
}

static void unload(void)
{
	bus_unregister_notifier(&pci_bus_type, &notifier);
}

static int begin(void)
{
	int error = tacet_probes_on(&probes);

	if (error)
		tacet_report(TACET_LOG_INFO,
			     "NVMe: no fast path: this kernel does not tell when it resets a controller");
	return error;
}

static void end(void)
{
	tacet_probes_off(&probes);
}

static void release(struct tacet_nvme *nvme)
{
	if (nvme->registers)
		iounmap(nvme->registers);
	if (nvme->submit)
		symbol_put(nvme_submit_sync_cmd);
	put_device(nvme->controller);
	kfree(nvme);
}

static int open(struct tacet_pico_unit *unit)
{
	struct tacet_nvme *nvme = kzalloc(sizeof(*nvme), GFP_KERNEL);
	int error;

	if (!nvme)
		return -ENOMEM;
	nvme->pci = to_pci_dev(unit->device);
	/* Who takes the driver away holds this lock, and may wait for the control lock. */
	if (!device_trylock(unit->device)) {
		refuse(nvme, "Linux changes its driver now");
		kfree(nvme);
		return -EAGAIN;
	}
	error = examine(unit, nvme);
	device_unlock(unit->device);
	if (error) {
		release(nvme);
		return error;
	}
	unit->own = nvme;
	unit->key = nvme->driver.controller;
	return 0;
}

static void close(struct tacet_pico_unit *unit)
{
	struct tacet_nvme *nvme = unit->own;

	release(nvme);
	unit->own = NULL;
}

static int make(struct tacet_pico_unit *unit, unsigned int core)
{
	struct tacet_nvme *nvme = unit->own;
	struct tacet_nvme_driver now;

	if (!tacet_nvme_look(nvme->pci, nvme->controller, &now) || !now.live ||
	    now.shadows != nvme->driver.shadows || now.max_id >= tacet_nvme_id(nvme, core))
		return -ENOSPC;
	return tacet_nvme_make(unit, core);
}

/* After a reset Linux may have more queues than before: then the number is that of one of them, and ours
 * is gone. */
static int end_queue(struct tacet_pico_unit *unit, unsigned int core)
{
	struct tacet_nvme *nvme = unit->own;
	struct tacet_nvme_driver now;

	if (tacet_nvme_look(nvme->pci, nvme->controller, &now) && now.max_id >= tacet_nvme_id(nvme, core))
		return 0;
	return tacet_nvme_end(unit, core);
}

static bool silent(struct tacet_pico_unit *unit)
{
	return tacet_nvme_silent(unit->own);
}

static bool works(struct tacet_pico_unit *unit)
{
	struct tacet_nvme *nvme = unit->own;
	struct tacet_nvme_driver now;

	/* Linux takes one that was pulled out for alive until it is told. */
	return !tacet_nvme_silent(nvme) && tacet_nvme_look(nvme->pci, nvme->controller, &now) &&
	       now.live;
}

const struct tacet_pico_operations tacet_nvme_operations = {
	.kind = TACET_PICO_NVME,
	.name = "O_DIRECT reads and writes of its block devices",
	.word = "nvme",
	.mode = "shared",
	.init = load,
	.exit = unload,
	.begin = begin,
	.finish = end,
	.next = next,
	.open = open,
	.close = close,
	.make = make,
	.end = end_queue,
	.silent = silent,
	.works = works,
	.eligible = tacet_nvme_eligible,
};
