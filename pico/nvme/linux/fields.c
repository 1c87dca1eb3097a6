// SPDX-License-Identifier: GPL-2.0
/*
 * The wanted fields of Linux's NVMe driver, with the types that the module expects. Only data:
 * the reader of types (pico/linux/layout.c) finds them, this folder's files use them.
 */
#include "fields.h"

const struct tacet_field tacet_nvme_controller_fields[TACET_NVME_CONTROLLER_FIELDS] = {
	[TACET_NVME_DEV_DEV] = { TACET_FIELD_POINTER, 0, "device", { { "nvme_dev", "dev" } } },
	[TACET_NVME_DEV_CTRL] = { TACET_FIELD_STRUCT, 0, "nvme_ctrl", { { "nvme_dev", "ctrl" } } },
	[TACET_NVME_DEV_MAX_QID] = { TACET_FIELD_INTEGER, 4, NULL, { { "nvme_dev", "max_qid" } } },
	[TACET_NVME_DEV_ONLINE_QUEUES] = { TACET_FIELD_INTEGER, 4, NULL, { { "nvme_dev", "online_queues" } } },
	[TACET_NVME_DEV_DB_STRIDE] = { TACET_FIELD_INTEGER, 4, NULL, { { "nvme_dev", "db_stride" } } },
	[TACET_NVME_DEV_DBBUF_DBS] = { TACET_FIELD_POINTER, 4, NULL, { { "nvme_dev", "dbbuf_dbs" } } },
	[TACET_NVME_DEV_DBBUF_EIS] = { TACET_FIELD_POINTER, 4, NULL, { { "nvme_dev", "dbbuf_eis" } } },
	[TACET_NVME_CTRL_STATE] = { TACET_FIELD_ENUM, 0, "nvme_ctrl_state", { { "nvme_ctrl", "state" } } },
	[TACET_NVME_CTRL_ADMIN_Q] = { TACET_FIELD_POINTER, 0, "request_queue", { { "nvme_ctrl", "admin_q" } } },
	[TACET_NVME_CTRL_MAX_HW_SECTORS] = { TACET_FIELD_INTEGER, 4, NULL, { { "nvme_ctrl", "max_hw_sectors" } } },
	[TACET_NVME_CTRL_LIVE] = { TACET_FIELD_ENUMERATOR, 0, NULL, { { "nvme_ctrl_state", "NVME_CTRL_LIVE" } } },
};

const struct tacet_field tacet_nvme_namespace_fields[TACET_NVME_NAMESPACE_FIELDS] = {
	[TACET_NVME_NS_CTRL] = { TACET_FIELD_POINTER, 0, "nvme_ctrl", { { "nvme_ns", "ctrl" } } },
	[TACET_NVME_NS_DISK] = { TACET_FIELD_POINTER, 0, "gendisk", { { "nvme_ns", "disk" } } },
	[TACET_NVME_NS_HEAD] = { TACET_FIELD_POINTER, 0, "nvme_ns_head", { { "nvme_ns", "head" } } },
	[TACET_NVME_NS_ID] = { TACET_FIELD_INTEGER, 4, NULL, { { "nvme_ns_head", "ns_id" } } },
	[TACET_NVME_HEAD_DISK] = { TACET_FIELD_POINTER, 0, "gendisk", { { "nvme_ns_head", "disk" } } },
	[TACET_NVME_LBA_SHIFT] = { TACET_FIELD_INTEGER, 0, NULL,
				   { { "nvme_ns_head", "lba_shift" }, { "nvme_ns", "lba_shift" } } },
	[TACET_NVME_METADATA_BYTES] = { TACET_FIELD_INTEGER, 2, NULL,
					{ { "nvme_ns_head", "ms" }, { "nvme_ns", "ms" } } },
	[TACET_NVME_PI_TYPE] = { TACET_FIELD_INTEGER, 1, NULL,
				 { { "nvme_ns_head", "pi_type" }, { "nvme_ns", "pi_type" } } },
};
