// SPDX-License-Identifier: GPL-2.0
/*
 * Virtual functions (SR-IOV) of NVMe controllers that an administrator gives to Tacet: the module is
 * their driver. A function has its own doorbells, and its own addresses behind an IOMMU: the
 * hardware lets it reach the partition's memory and nothing else. Linux keeps the physical function
 * and all files; a grant is of Linux's disk that is the same namespace.
 *
 * Called by pico/linux/devices.c, with the control lock held, and by PCI's core. A function is off,
 * without access to memory, unless a partition uses it.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "pico/nvme/linux/nvme.h"
#include "tacet.h"

static struct pci_driver driver;

static bool is_ours(struct pci_dev *pci)
{
	return READ_ONCE(pci->dev.driver) == &driver.driver;
}

static struct device *next(struct device *from)
{
	struct pci_dev *pci = from ? to_pci_dev(from) : NULL;

	while ((pci = pci_get_class(PCI_CLASS_STORAGE_EXPRESS, pci)))
		if (is_ours(pci))
			return &pci->dev;
	return NULL;
}

bool tacet_nvme_has_virtual(struct pci_dev *physical)
{
	struct pci_dev *pci = NULL;

	while ((pci = pci_get_class(PCI_CLASS_STORAGE_EXPRESS, pci))) {
		if (!is_ours(pci) || pci_physfn(pci) != physical)
			continue;
		pci_dev_put(pci);
		return true;
	}
	return false;
}

static int probe(struct pci_dev *pci, const struct pci_device_id *id)
{
	int error;

	if (!pci->is_virtfn || pci->class != PCI_CLASS_STORAGE_EXPRESS ||
	    pci_resource_len(pci, 0) < TACET_NVME_ADMIN_REGISTERS) {
		tacet_report(TACET_LOG_WARNING, "%s: not driven: it is no virtual function of an NVMe controller",
			     pci_name(pci));
		return -ENODEV;
	}
	error = pci_enable_device_mem(pci);
	if (error)
		return error;
	error = pci_request_mem_regions(pci, "tacet");
	if (error)
		goto disable;
	error = dma_set_mask_and_coherent(&pci->dev, DMA_BIT_MASK(64));
	if (!error)
		return 0;
	pci_release_mem_regions(pci);
disable:
	pci_disable_device(pci);
	return error;
}

/* controller.c has been told before, and has closed the device. */
static void remove(struct pci_dev *pci)
{
	pci_release_mem_regions(pci);
	pci_disable_device(pci);
}

static struct pci_driver driver = {
	.name = "tacet",	/* by this name, in driver_override, and never by an identifier */
	.probe = probe,
	.remove = remove,
};

static int load(void)
{
	return pci_register_driver(&driver);
}

static void unload(void)
{
	pci_unregister_driver(&driver);
}

static int begin(void)
{
	return 0;
}

static void finish(void)
{
}

/* A function that is off shows nothing of itself. */
static int switch_on(struct tacet_nvme *nvme)
{
	int error = 0;

	nvme->capabilities = readq(nvme->registers + NVME_REG_CAP);
	if (!nvme->capabilities) {
		error = tacet_nvme_switch_on(nvme);
		nvme->capabilities = readq(nvme->registers + NVME_REG_CAP);
	}
	if (!nvme->capabilities)
		return error ?: -ENODEV;
	return nvme->capabilities == U64_MAX ? -ENODEV : 0;
}

static int count_queues(struct tacet_nvme *nvme)
{
	int error = tacet_nvme_admin_queues(nvme, tacet_partition.core_count, &nvme->highest);

	if (error)
		tacet_pico_refuse(&nvme->pci->dev, "it does not say how many queues it has");
	nvme->count = min_t(u32, nvme->highest, tacet_partition.core_count);
	return error;
}

static int start(struct tacet_pico_unit *unit, struct tacet_nvme *nvme)
{
	int error;

	if (!is_ours(nvme->pci)) {
		tacet_pico_refuse(unit->device, "Linux took its driver away");
		return -ENODEV;
	}
	nvme->registers = ioremap(pci_resource_start(nvme->pci, 0), TACET_NVME_ADMIN_REGISTERS);
	if (!nvme->registers)
		return -ENOMEM;
	error = switch_on(nvme);
	if (error) {
		tacet_pico_refuse(unit->device,
				  "its physical function does not switch it on (error %d): perhaps no queues are left for it",
				  error);
		return error == -ENODEV || error == -EBUSY ? -EAGAIN : error;
	}
	if (nvme->capabilities >> 48 & 15) {
		tacet_pico_refuse(unit->device, "its smallest page is larger than 4 KiB");
		return -EOPNOTSUPP;
	}
	error = tacet_nvme_read_capabilities(nvme);
	if (error)
		return error;
	error = tacet_nvme_admin_start(nvme);
	if (error) {
		tacet_pico_refuse(unit->device, "it does not start: error %d", error);
		return error;
	}
	error = tacet_nvme_identify(nvme);
	error = error ?: count_queues(nvme);
	return error ?: tacet_nvme_map_doorbells(unit, nvme);
}

static void release(struct tacet_nvme *nvme)
{
	if (nvme->admin && tacet_nvme_admin_stop(nvme))
		tacet_report(TACET_LOG_WARNING, "%s: it stays on, without access to memory",
			     pci_name(nvme->pci));
	tacet_nvme_admin_free(nvme);
	if (nvme->registers)
		iounmap(nvme->registers);
	kfree(nvme);
}

static int open(struct tacet_pico_unit *unit)
{
	struct tacet_nvme *nvme;
	int error;

	/* Who takes the driver away holds this lock, and may wait for the control lock. */
	if (!device_trylock(unit->device)) {
		tacet_pico_refuse(unit->device, "Linux changes its driver now");
		return -EAGAIN;
	}
	nvme = kzalloc(sizeof(*nvme), GFP_KERNEL);
	error = -ENOMEM;
	if (nvme) {
		nvme->pci = to_pci_dev(unit->device);
		error = start(unit, nvme);
	}
	if (error && nvme)
		release(nvme);
	device_unlock(unit->device);
	if (error)
		return error;
	unit->own = nvme;
	unit->key = nvme;	/* Linux's driver does not know it */
	unit->files_of = &pci_physfn(nvme->pci)->dev;
	return 0;
}

static void close(struct tacet_pico_unit *unit)
{
	release(unit->own);
	unit->own = NULL;
}

/* A controller that does not delete a queue is switched off, and all of its queues with it. */
static int end(struct tacet_pico_unit *unit, unsigned int core)
{
	return tacet_nvme_end(unit, core) ? tacet_nvme_admin_stop(unit->own) : 0;
}

static bool silent(struct tacet_pico_unit *unit)
{
	return tacet_nvme_silent(unit->own);
}

/* A reset of the physical function has switched it off: it starts again. */
static bool works(struct tacet_pico_unit *unit)
{
	struct tacet_nvme *nvme = unit->own;
	u16 granted;

	if (!unit->lost)
		return !tacet_nvme_silent(nvme);
	if (switch_on(nvme) || tacet_nvme_admin_start(nvme) ||
	    tacet_nvme_admin_queues(nvme, nvme->count, &granted) || granted < nvme->count)
		return false;
	unit->over = true;	/* it has been off since it was lost */
	return true;
}

const struct tacet_pico_operations tacet_nvme_virtual_operations = {
	.kind = TACET_PICO_NVME,
	.name = "O_DIRECT reads and writes, by a virtual function",
	.word = "nvme",
	.mode = "virtual",
	.init = load,
	.exit = unload,
	.begin = begin,
	.finish = finish,
	.next = next,
	.open = open,
	.close = close,
	.make = tacet_nvme_make,
	.end = end,
	.silent = silent,
	.works = works,
	.eligible = tacet_nvme_virtual_eligible,
};
