/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NVMe controllers on PCI that Linux's driver "nvme" has: additional queue pairs for the cores,
 * beside the driver's own.
 *
 * pico/linux calls this folder through tacet_nvme_operations. It uses Linux's driver by exported
 * functions, and its private structures by places that Linux's own description of its types
 * names. Must never change a field of the driver.
 */
#ifndef TACET_PICO_NVME_H
#define TACET_PICO_NVME_H

#include <linux/nvme.h>
#include <linux/pci.h>

#include "pico/linux/pico.h"

/* Of Linux's nvme-core, which may not be loaded: called by symbol_get() alone. */
extern int nvme_submit_sync_cmd(struct request_queue *queue, struct nvme_command *command,
				void *buffer, unsigned int bytes);
extern int nvme_get_features(void *controller, unsigned int feature, unsigned int word,
			     void *buffer, size_t bytes, u32 *result);
typedef int (*tacet_nvme_submit)(struct request_queue *queue, struct nvme_command *command,
				 void *buffer, unsigned int bytes);
typedef int (*tacet_nvme_features)(void *controller, unsigned int feature, unsigned int word,
				   void *buffer, size_t bytes, u32 *result);

/* What Linux's driver has for a controller. places.c */
struct tacet_nvme_driver {
	void *controller;		/* struct nvme_ctrl */
	struct request_queue *admin;
	u32 *shadows, *events;		/* shadow doorbells and event indices, or NULL */
	u32 max_id;			/* of Linux's own queues */
	bool live;
};

struct tacet_nvme {
	struct pci_dev *pci;
	struct device *controller;	/* its device of class "nvme", referenced */
	tacet_nvme_submit submit;
	u8 __iomem *registers;
	u64 capabilities;
	struct tacet_nvme_driver driver;
	u32 stride;			/* bytes from one doorbell to the next */
	u32 depth;
	u32 most_bytes;
	u16 highest, count;		/* ids for cores: so many, from the highest down */
	u64 doorbells;			/* the address for cores of page @first_page of the doorbells */
	u32 first_page;
	u64 shadows, events;		/* addresses for cores, or 0 */
};

/* The id of the queue for @core, or 0: there are not enough. */
static inline u16 tacet_nvme_id(const struct tacet_nvme *nvme, unsigned int core)
{
	return core < nvme->count ? nvme->highest - core : 0;
}

/* places.c; the first sleeps */
int tacet_nvme_places_find(struct pci_dev *pci);
bool tacet_nvme_look(struct pci_dev *pci, struct device *controller,
		     struct tacet_nvme_driver *driver);

/* identify.c: sleep; -errno, after a line that says why */
int tacet_nvme_identify(struct tacet_nvme *nvme);
int tacet_nvme_count_ids(struct tacet_nvme *nvme);

/* queues.c: sleep */
int tacet_nvme_make(struct tacet_pico_unit *unit, unsigned int core);
int tacet_nvme_end(struct tacet_pico_unit *unit, unsigned int core);
bool tacet_nvme_silent(struct tacet_nvme *nvme);

/* files.c: sleeps */
bool tacet_nvme_eligible(struct tacet_pico_unit *unit, struct file *file,
			 struct tacet_pico_grant *grant);

#endif
