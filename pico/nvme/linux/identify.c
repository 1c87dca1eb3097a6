// SPDX-License-Identifier: GPL-2.0
/*
 * What a controller says of itself: how much one command may move, how many queues it has.
 *
 * Called by controller.c, which holds the control lock; sleeps.
 */
#include <linux/slab.h>

#include "pico/nvme/linux/nvme.h"
#include "tacet.h"

/* Bytes 77 of what Identify Controller returns: log2 of the largest transfer, in units of the
 * smallest page; 0: no limit. */
#define IDENTIFIED_MDTS 77
/* Byte 525: bit 0, what is written lasts only after a flush. */
#define IDENTIFIED_VWC 525
/* Byte 536: bits 0 and 1, lists of segments (SGL): 1 takes any, 2 those of whole words; 0 takes
 * none. Ours have whole words. */
#define IDENTIFIED_SGLS 536

int tacet_nvme_identify(struct tacet_nvme *nvme)
{
	struct nvme_command command = {
		.identify = { .opcode = nvme_admin_identify, .cns = NVME_ID_CNS_CTRL } };
	unsigned int page_shift = 12 + (nvme->capabilities >> 48 & 15);
	u8 *identified = kzalloc(NVME_IDENTIFY_DATA_SIZE, GFP_KERNEL);
	int error = -ENOMEM;

	if (!identified)
		return error;
	error = tacet_nvme_command(nvme, &command, identified, NVME_IDENTIFY_DATA_SIZE);
	if (!error) {
		unsigned int shift = page_shift + identified[IDENTIFIED_MDTS];
		u8 segments = identified[IDENTIFIED_SGLS] & 3;

		nvme->segments = segments == 1 || segments == 2;
		nvme->most_bytes = nvme->segments ? TACET_PICO_MOST_SEGMENT_BYTES : TACET_PICO_MOST_BYTES;
		if (identified[IDENTIFIED_MDTS] && shift < ilog2(nvme->most_bytes))
			nvme->most_bytes = 1u << shift;
		nvme->cached = identified[IDENTIFIED_VWC] & 1;
	} else {
		tacet_pico_refuse(&nvme->pci->dev, "it does not identify itself: error %d", error);
		error = -EIO;
	}
	kfree(identified);
	return error;
}

/* Linux has the low ids. The controller granted it more than it uses, or all there are. */
int tacet_nvme_count_ids(struct tacet_nvme *nvme)
{
	tacet_nvme_features features = symbol_get(nvme_get_features);
	u32 result = 0, granted, reach = PAGE_SIZE / (2 * nvme->stride) - 1;
	int error = -ENOENT;

	if (features) {
		error = features(nvme->driver.controller, NVME_FEAT_NUM_QUEUES, 0, NULL, 0, &result);
		symbol_put(nvme_get_features);
	}
	if (error) {
		tacet_pico_refuse(&nvme->pci->dev, "it does not say how many queues it has");
		return -EIO;
	}
	granted = min(result & 0xffff, result >> 16) + 1;
	nvme->highest = nvme->driver.shadows ? min(granted, reach) : granted;
	if (nvme->highest <= nvme->driver.max_id) {
		tacet_pico_refuse(&nvme->pci->dev,
				  "Linux uses all %u queues; it leaves some with nvme.poll_queues or fewer CPUs",
				  granted);
		return -ENOSPC;
	}
	nvme->count = min_t(u32, nvme->highest - nvme->driver.max_id, tacet_partition.core_count);
	return 0;
}
