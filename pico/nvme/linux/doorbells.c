// SPDX-License-Identifier: GPL-2.0
/*
 * The doorbells of the cores' queue pairs, mapped for the cores: pages of the function's registers,
 * and the shadow doorbells that Linux's driver keeps in memory, if it does.
 *
 * Called by controller.c and virtual.c, with the control lock held. Must never map another page of
 * the registers.
 */
#include "arch/arch.h"
#include "pico/nvme/linux/nvme.h"
#include "tacet.h"

#define SHADOW_PAGE (TACET_PICO_WINDOW_PAGES - 2)
#define EVENT_PAGE (TACET_PICO_WINDOW_PAGES - 1)

/* Of queues, from the register of capabilities. -errno, after a line that says why. */
int tacet_nvme_read_capabilities(struct tacet_nvme *nvme)
{
	nvme->stride = 4u << (nvme->capabilities >> 32 & 15);
	nvme->depth = min_t(u32, TACET_PICO_DEPTH, (nvme->capabilities & 0xffff) + 1);
	if (nvme->depth >= 4 && nvme->stride <= PAGE_SIZE / 8)
		return 0;
	tacet_pico_refuse(&nvme->pci->dev, "its queues are too short");
	return -EOPNOTSUPP;
}

static u64 physical(const void *memory)
{
	if (is_vmalloc_addr(memory))
		return page_to_phys(vmalloc_to_page(memory)) + offset_in_page(memory);
	return virt_to_phys((void *)memory);
}

/* Maps the pages of registers with our queues' doorbells for the cores, and shadow doorbells. */
int tacet_nvme_map_doorbells(struct tacet_pico_unit *unit, struct tacet_nvme *nvme)
{
	u32 first = tacet_nvme_id(nvme, nvme->count - 1) * 2 * nvme->stride / PAGE_SIZE;
	u32 last = ((nvme->highest + 1) * 2 * nvme->stride - 1) / PAGE_SIZE, page;
	u64 window;
	phys_addr_t registers = pci_resource_start(nvme->pci, 0) + NVME_REG_DBS;
	int error = 0;

	if (last - first >= SHADOW_PAGE ||
	    NVME_REG_DBS + (last + 1) * PAGE_SIZE > PAGE_ALIGN(pci_resource_len(nvme->pci, 0))) {
		tacet_pico_refuse(&nvme->pci->dev, "its doorbells lie too far apart");
		return -EOPNOTSUPP;
	}
	window = tacet_pico_window();
	if (!window) {
		tacet_pico_refuse(&nvme->pci->dev, "devices have come and gone too often: the next `tacet up` looks again");
		return -ENOSPC;
	}
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
