/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fields of Linux's NVMe driver that the module reads. Owns the two tables; the files of
 * this folder give them to tacet_layout_find once and keep the places. No field of these is
 * ever written.
 *
 * A field belongs here only if the module cannot do without it: each one is a reason to
 * refuse a kernel.
 */
#ifndef TACET_PICO_NVME_FIELDS_H
#define TACET_PICO_NVME_FIELDS_H

#include "../../linux/layout.h"

/* Of the module that drives controllers on PCIe (nvme). */
enum tacet_nvme_controller_field {
	TACET_NVME_DEV_DEV,		/* &pci_dev->dev: tells that the driver data is a nvme_dev */
	TACET_NVME_DEV_CTRL,
	TACET_NVME_DEV_MAX_QID,
	TACET_NVME_DEV_ONLINE_QUEUES,
	TACET_NVME_DEV_DB_STRIDE,
	TACET_NVME_DEV_DBBUF_DBS,
	TACET_NVME_DEV_DBBUF_EIS,
	TACET_NVME_CTRL_STATE,
	TACET_NVME_CTRL_ADMIN_Q,
	TACET_NVME_CTRL_MAX_HW_SECTORS,
	TACET_NVME_CTRL_LIVE,		/* a value of nvme_ctrl.state */
	TACET_NVME_CONTROLLER_FIELDS
};

/* Of the module that all transports share (nvme_core). A disk's private_data is a nvme_ns, or
 * a nvme_ns_head if the disk stands for several paths. */
enum tacet_nvme_namespace_field {
	TACET_NVME_NS_CTRL,
	TACET_NVME_NS_DISK,		/* the gendisk: tells that private_data is a nvme_ns */
	TACET_NVME_NS_HEAD,
	TACET_NVME_NS_ID,
	TACET_NVME_HEAD_DISK,		/* the gendisk: tells that it is a nvme_ns_head */
	TACET_NVME_LBA_SHIFT,		/* these three moved from nvme_ns to nvme_ns_head */
	TACET_NVME_METADATA_BYTES,
	TACET_NVME_PI_TYPE,
	TACET_NVME_NAMESPACE_FIELDS
};

extern const struct tacet_field tacet_nvme_controller_fields[TACET_NVME_CONTROLLER_FIELDS];
extern const struct tacet_field tacet_nvme_namespace_fields[TACET_NVME_NAMESPACE_FIELDS];

#endif
