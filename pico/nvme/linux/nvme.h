/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NVMe controllers on PCI, in two modes. Shared: Linux's driver "nvme" has the controller, and the
 * cores get additional queue pairs beside the driver's own. Virtual: the module drives a virtual
 * function (SR-IOV) of such a controller, which only the cores use.
 *
 * pico/linux calls this folder through tacet_nvme_operations and tacet_nvme_virtual_operations. It
 * uses Linux's driver by exported functions, and its private structures by places that Linux's own
 * description of its types names. Must never change a field of the driver.
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

struct tacet_nvme_admin;

struct tacet_nvme {
	struct pci_dev *pci;
	struct tacet_nvme_admin *admin;	/* of a virtual function, else NULL. The next two: without one */
	struct device *controller;	/* its device of class "nvme", referenced */
	tacet_nvme_submit submit;
	int places;			/* of a virtual function: 1 and -1: the places of Linux's driver are
					   known, or not; 0: not looked for */
	u8 __iomem *registers;
	u64 capabilities;
	struct tacet_nvme_driver driver;
	u32 stride;			/* bytes from one doorbell to the next */
	u32 depth;
	u32 most_bytes;
	bool segments;			/* it takes lists of segments */
	bool cached;			/* what is written lasts only after a flush */
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

/* A controller that is off or gone uses no memory. */
static inline bool tacet_nvme_silent(const struct tacet_nvme *nvme)
{
	u32 status = readl(nvme->registers + NVME_REG_CSTS);

	return status == U32_MAX || !(status & NVME_CSTS_RDY);
}

/* admin.c: the admin queue of a controller that nobody else drives, of which the registers are
 * mapped. All sleep. _start: -errno, silently. _stop: -errno, it may still use memory */
#define TACET_NVME_ADMIN_REGISTERS (NVME_REG_DBS + PAGE_SIZE)
int tacet_nvme_admin_start(struct tacet_nvme *nvme);
int tacet_nvme_admin_stop(struct tacet_nvme *nvme);
void tacet_nvme_admin_free(struct tacet_nvme *nvme);
int tacet_nvme_admin_queues(struct tacet_nvme *nvme, u16 wanted, u16 *granted);
/* An admin command, by that queue or by Linux's. 0, a status, or -errno. */
int tacet_nvme_command(struct tacet_nvme *nvme, struct nvme_command *command, void *buffer,
		       unsigned int bytes);

/* virtual.c: whether the module drives a virtual function of @pci */
bool tacet_nvme_has_virtual(struct pci_dev *pci);

/* secondary.c: the physical function switches a virtual one on. -errno, silently; sleeps. */
int tacet_nvme_switch_on(struct tacet_nvme *nvme);

/* doorbells.c: -errno, after a line that says why */
int tacet_nvme_read_capabilities(struct tacet_nvme *nvme);
int tacet_nvme_map_doorbells(struct tacet_pico_unit *unit, struct tacet_nvme *nvme);

/* places.c; the first two sleep */
int tacet_nvme_places_find(struct pci_dev *pci);
void tacet_nvme_places_forget(void);		/* takes the control lock */
bool tacet_nvme_look(struct pci_dev *pci, struct device *controller,
		     struct tacet_nvme_driver *driver);
int tacet_nvme_is_controller(struct device *device, void *found);

/* identify.c: sleep; -errno, after a line that says why */
int tacet_nvme_identify(struct tacet_nvme *nvme);
int tacet_nvme_count_ids(struct tacet_nvme *nvme);

/* queues.c: sleep */
int tacet_nvme_make(struct tacet_pico_unit *unit, unsigned int core);
int tacet_nvme_end(struct tacet_pico_unit *unit, unsigned int core);

/* files.c: sleep */
bool tacet_nvme_eligible(struct tacet_pico_unit *unit, struct file *file,
			 struct tacet_pico_grant *grant);
bool tacet_nvme_virtual_eligible(struct tacet_pico_unit *unit, struct file *file,
				 struct tacet_pico_grant *grant);

#endif
