// SPDX-License-Identifier: GPL-2.0
/*
 * Which files a core may read and write directly: block devices of a controller's namespaces, and
 * what the controller says of the namespace.
 *
 * Called by pico/linux/grants.c, through devices.c, in the context of the program's thread; sleeps.
 * Whatever is unusual is not eligible: Linux serves it.
 */
#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/nvme_ioctl.h>
#include <linux/slab.h>

#include "compat.h"
#include "pico/nvme/linux/nvme.h"
#include "tacet.h"

/* The disk is a namespace that this controller alone has: a disk of several controllers has
 * another parent. */
static bool of_controller(const struct tacet_nvme *nvme, struct block_device *device)
{
	return disk_to_dev(device->bd_disk)->parent == nvme->controller;
}

/* Asks the driver for the number of the namespace. */
static u32 namespace_of(struct block_device *device)
{
	const struct block_device_operations *operations = device->bd_disk->fops;
	int id = operations->ioctl ? operations->ioctl(device, TACET_READS, NVME_IOCTL_ID, 0) : 0;

	return max(id, 0);
}

/* Whether a logical block is nothing but its data, as many bytes as Linux believes. */
static bool plain(const struct nvme_id_ns *namespace, struct block_device *device)
{
	const struct nvme_lbaf *format = &namespace->lbaf[nvme_lbaf_index(namespace->flbas)];
	unsigned int shift = format->ds;

	return (shift == 9 || shift == 12) && !format->ms && !namespace->dps &&
	       bdev_logical_block_size(device) == 1u << shift &&
	       le64_to_cpu(namespace->nsze) << (shift - 9) == get_capacity(device->bd_disk);
}

/* The disk is a namespace of the function's physical one: its disk, or that of the subsystem to
 * which Linux says that the controller belongs. */
static bool of_physical(const struct tacet_nvme *nvme, struct block_device *device)
{
	struct device *parent = disk_to_dev(device->bd_disk)->parent, *controller = NULL;
	struct kernfs_node *link = NULL;
	bool belongs;

	device_for_each_child(&pci_physfn(nvme->pci)->dev, &controller, tacet_nvme_is_controller);
	if (!controller || !parent) {
		put_device(controller);
		return false;
	}
	if (parent != controller)
		link = sysfs_get_dirent(parent->kobj.sd, dev_name(controller));
	belongs = parent == controller ||
		  (link && kernfs_type(link) == KERNFS_LINK &&
		   link->symlink.target_kn == controller->kobj.sd);
	sysfs_put(link);
	put_device(controller);
	return belongs;
}

/*
 * The function and Linux mean the same namespace, of the same number in the same subsystem: if its
 * own name, which is unique, is the same; or if Linux knows no name (it believes not every
 * controller's) and the namespace is one that controllers share, of which the subsystem has no two
 * with one number.
 */
static bool same(const struct nvme_id_ns *namespace, struct block_device *device)
{
	const struct block_device_operations *operations = device->bd_disk->fops;
	u8 name[16];
	int bytes = 0;

	if (operations->get_unique_id)
		bytes = operations->get_unique_id(device->bd_disk, name, BLK_UID_EUI64);
	if (bytes <= 0)
		return namespace->nmic & NVME_NS_NMIC_SHARED;
	return (bytes == sizeof(namespace->nguid) && !memcmp(name, namespace->nguid, bytes)) ||
	       (bytes == sizeof(namespace->eui64) && !memcmp(name, namespace->eui64, bytes));
}

/* Asks the controller about the namespace. */
static bool identify(struct tacet_nvme *nvme, struct block_device *device, u32 id)
{
	struct nvme_command command = {
		.identify = { .opcode = nvme_admin_identify, .nsid = cpu_to_le32(id),
			      .cns = NVME_ID_CNS_NS } };
	struct nvme_id_ns *namespace = kzalloc(NVME_IDENTIFY_DATA_SIZE, GFP_KERNEL);
	bool fits;

	fits = namespace &&
	       !tacet_nvme_command(nvme, &command, namespace, NVME_IDENTIFY_DATA_SIZE) &&
	       plain(namespace, device) && (!nvme->admin || same(namespace, device));
	kfree(namespace);
	return fits;
}

/* What the device says of a grant. */
static bool terms(struct tacet_nvme *nvme, struct file *file, struct tacet_pico_grant *grant)
{
	struct block_device *device = I_BDEV(file->f_mapping->host);
	unsigned int shift = ilog2(bdev_logical_block_size(device));
	sector_t mask = (1u << (shift - 9)) - 1;
	u32 id;

	/* A disk that goes has no inode that could be found. */
	if (inode_unhashed(file->f_mapping->host) || bdev_is_zoned(device) ||
	    (device->bd_start_sect | bdev_nr_sectors(device)) & mask)
		return false;
	id = namespace_of(device);
	if (!id || !identify(nvme, device, id))
		return false;
	grant->namespace_id = id;
	grant->block_shift = shift;
	grant->first = device->bd_start_sect >> (shift - 9);
	grant->count = bdev_nr_sectors(device) >> (shift - 9);
	grant->rights = (file->f_mode & FMODE_READ ? TACET_PICO_READ : 0) |
			(file->f_mode & FMODE_WRITE && !bdev_read_only(device) ? TACET_PICO_WRITE : 0);
	if (!grant->rights)
		return false;
	grant->rights |= (file->f_flags & O_DSYNC ? TACET_PICO_THROUGH : 0) |
			 (nvme->cached || bdev_write_cache(device) ? TACET_PICO_CACHE : 0);
	return true;
}

bool tacet_nvme_eligible(struct tacet_pico_unit *unit, struct file *file,
			 struct tacet_pico_grant *grant)
{
	struct block_device *device = I_BDEV(file->f_mapping->host);

	return of_controller(unit->own, device) && terms(unit->own, file, grant);
}

/* Of a virtual function: the disk is Linux's, and Linux's rights hold. */
bool tacet_nvme_virtual_eligible(struct tacet_pico_unit *unit, struct file *file,
				 struct tacet_pico_grant *grant)
{
	struct block_device *device = I_BDEV(file->f_mapping->host);

	return of_physical(unit->own, device) && terms(unit->own, file, grant);
}
