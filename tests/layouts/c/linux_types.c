// SPDX-License-Identifier: Apache-2.0 OR MIT
/* For tests/dwarf.rs: stands for vmlinux. Its types look like those of nvme-core. */
#include <stddef.h>

typedef unsigned char u8;
typedef unsigned short u16;

struct device {
	int ready;
};

struct request_queue;
struct gendisk;
struct nvme_ctrl;
struct list {
	struct list *next, *previous;
};

struct nvme_ns_head {
	struct list siblings;
	struct list (*walk)(const struct nvme_ns_head *);
	union {
		unsigned int ns_id;
		struct {
			u8 low, high;
		};
	};
	u8 shared : 1, ready : 1;
	const u8 lba_shift;
	volatile u16 ms;
	u8 pi_type;
	struct gendisk *disk;
	char name[3][4];
	struct nvme_ns *paths[];
};

struct nvme_ns {
	struct nvme_ctrl *ctrl;
	struct gendisk *const disk;
	struct nvme_ns_head *head;
};

/* tests/dwarf.rs expects these places. */
_Static_assert(offsetof(struct nvme_ns_head, ns_id) == 24, "ns_id");
_Static_assert(offsetof(struct nvme_ns_head, lba_shift) == 29, "lba_shift");
_Static_assert(offsetof(struct nvme_ns_head, ms) == 30, "ms");
_Static_assert(offsetof(struct nvme_ns_head, pi_type) == 32, "pi_type");
_Static_assert(offsetof(struct nvme_ns_head, disk) == 40, "disk");

struct nvme_ns a_namespace;
struct nvme_ns_head a_head;
struct device a_device;
