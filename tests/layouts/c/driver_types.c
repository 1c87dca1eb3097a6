// SPDX-License-Identifier: Apache-2.0 OR MIT
/* For tests/dwarf.rs: stands for nvme.ko. Compiled, never linked, so that its DWARF has relocations. */
#include <stddef.h>

typedef unsigned int u32;
typedef u32 le32;

struct device;
struct request_queue;

enum nvme_ctrl_state { NVME_CTRL_NEW, NVME_CTRL_LIVE, NVME_CTRL_LAST = 255, NVME_CTRL_NONE = -3 };

struct nvme_ctrl {
	struct request_queue *admin_q;
	enum nvme_ctrl_state state;
	u32 max_hw_sectors;
};

struct nvme_dev {
	struct device *dev;
	u32 max_qid, online_queues, db_stride;
	le32 *dbbuf_dbs;
	struct nvme_ctrl ctrl;
	le32 *const dbbuf_eis;
};

/* tests/dwarf.rs expects these places. */
_Static_assert(offsetof(struct nvme_dev, ctrl) == 32, "ctrl");
_Static_assert(offsetof(struct nvme_dev, dbbuf_eis) == 48, "dbbuf_eis");

struct nvme_dev a_dev;
