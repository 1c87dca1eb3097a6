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
#include "pico/nvme/linux/nvme.h"
#include "tacet.h"

#define ENTRY_SIZES (6u << 16 | 4u << 20)	/* log2 of a submission's and a completion's bytes */
#define ENTRY_SIZES_MASK (0xffu << 16)
#define PAGE_SIZE_MASK (15u << 7)		/* of the controller: 0 is 4 KiB */
#define SHADOW_PAGE (TACET_PICO_WINDOW_PAGES - 2)
#define EVENT_PAGE (TACET_PICO_WINDOW_PAGES - 1)

static int refuse(struct tacet_nvme *nvme, const char *why)
{
	tacet_pico_refuse(&nvme->pci->dev, "%s", why);
	return -EOPNOTSUPP;
}

static struct device *next(struct device *from)
{
	struct pci_dev *pci = from ? to_pci_dev(from) : NULL;

	while ((pci = pci_get_class(PCI_CLASS_STORAGE_EXPRESS, pci))) {
		struct device_driver *driver = READ_ONCE(pci->dev.driver);

		if (driver && !strcmp(driver->name, "nvme"))
			return &pci->dev;
	}
	return NULL;
}

static int is_controller(struct device *device, void *found)
{
	if (!device->class || strcmp(device->class->name, "nvme"))
		return 0;
	*(struct device **)found = get_device(device);
	return 1;
}

static u64 physical(const void *memory)
{
	if (is_vmalloc_addr(memory))
		return page_to_phys(vmalloc_to_page(memory)) + offset_in_page(memory);
	return virt_to_phys((void *)memory);
}

/* Maps the pages of registers with our queues' doorbells for the cores, and shadow doorbells. */
static int map_doorbells(struct tacet_pico_unit *unit, struct tacet_nvme *nvme)
{
	u64 window = tacet_pico_window(unit->index);
	u32 first = tacet_nvme_id(nvme, nvme->count - 1) * 2 * nvme->stride / PAGE_SIZE;
	u32 last = ((nvme->highest + 1) * 2 * nvme->stride - 1) / PAGE_SIZE, page;
	phys_addr_t registers = pci_resource_start(nvme->pci, 0) + NVME_REG_DBS;
	int error = 0;

	if (last - first >= SHADOW_PAGE ||
	    NVME_REG_DBS + (last + 1) * PAGE_SIZE > PAGE_ALIGN(pci_resource_len(nvme->pci, 0)))
		return refuse(nvme, "its doorbells lie too far apart");
	nvme->first_page = first;
	nvme->doorbells = window;
	for (page = first; page <= last && !error; page++)
		error = tacet_tables_map(&tacet_partition, window + (page - first) * PAGE_SIZE,
					 registers + page * PAGE_SIZE, true);
	if (error || !nvme->driver.shadows)
		return error;
	nvme->shadows = window + SHADOW_PAGE * PAGE_SIZE;
	nvme->events = window + EVENT_PAGE * PAGE_SIZE;
	error = tacet_tables_map(&tacet_partition, nvme->shadows,
				 physical(nvme->driver.shadows), false);
	return error ?: tacet_tables_map(&tacet_partition, nvme->events,
					 physical(nvme->driver.events), false);
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
	nvme->stride = 4u << (nvme->capabilities >> 32 & 15);
	nvme->depth = min_t(u32, TACET_PICO_DEPTH, (nvme->capabilities & 0xffff) + 1);
	if (nvme->depth < 4 || nvme->stride > PAGE_SIZE / 8)
		return refuse(nvme, "its queues are too short");
	return 0;
}

static int examine(struct tacet_pico_unit *unit, struct tacet_nvme *nvme)
{
	int error = tacet_nvme_places_find(nvme->pci);

	if (error)
		return error;
	device_for_each_child(&nvme->pci->dev, &nvme->controller, is_controller);
	if (!nvme->controller || !tacet_nvme_look(nvme->pci, nvme->controller, &nvme->driver))
		return refuse(nvme, "Linux's driver has it in an unknown way");
	if (!nvme->driver.live)
		return refuse(nvme, "it does not work now");
	nvme->submit = symbol_get(nvme_submit_sync_cmd);
	if (!nvme->submit)
		return refuse(nvme, "Linux's driver does not let others send commands");
	error = read_registers(nvme);
	error = error ?: tacet_nvme_identify(nvme);
	error = error ?: tacet_nvme_count_ids(nvme);
	return error ?: map_doorbells(unit, nvme);
}

/* Linux is about to switch a controller off, which ends all of its queues. */
static void switched_off(unsigned long controller, unsigned long shutdown)
{
	tacet_pico_lost((void *)controller);
}

static struct tacet_probe probe = { .symbol = "nvme_disable_ctrl", .entered = switched_off };

static int changed(struct notifier_block *block, unsigned long action, void *device)
{
	if (action == BUS_NOTIFY_UNBIND_DRIVER)
		tacet_pico_unbound(device);
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
	int error = tacet_probe_on(&probe);

	if (error)
		tacet_report(TACET_LOG_INFO,
			     "NVMe: no fast path: this kernel does not tell when it resets a controller");
	return error;
}

static void end(void)
{
	tacet_probe_off(&probe);
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
		return -EBUSY;
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

static bool silent(struct tacet_pico_unit *unit)
{
	return tacet_nvme_silent(unit->own);
}

static bool works(struct tacet_pico_unit *unit)
{
	struct tacet_nvme *nvme = unit->own;
	struct tacet_nvme_driver now;

	return tacet_nvme_look(nvme->pci, nvme->controller, &now) && now.live;
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
	.make = tacet_nvme_make,
	.end = tacet_nvme_end,
	.silent = silent,
	.works = works,
	.eligible = tacet_nvme_eligible,
};
