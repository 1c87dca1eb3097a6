// SPDX-License-Identifier: GPL-2.0
/*
 * Copies the kernel's description of its types (BTF) out of the kernel's memory. Linux offers
 * it to programs as /sys/kernel/btf/NAME and to modules not at all; the file is found here by
 * its place in sysfs itself and not by a path: root may mount another file over a path, and
 * where Linux is locked down root may not choose at which places this module reads.
 *
 * Called by the device folders of pico/. Sleeps.
 */
#include <linux/kernfs.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "kernel_types.h"

/* Linux's own types take 4 to 8 MiB. */
#define MOST_BYTES (64ul << 20)

static struct kernfs_node *find_file(const char *name)
{
	struct kernfs_node *folder = kernfs_find_and_get(kernel_kobj->sd, "btf"), *file;

	if (!folder)
		return NULL;
	file = kernfs_type(folder) == KERNFS_DIR ? kernfs_find_and_get(folder, name) : NULL;
	kernfs_put(folder);
	return file;
}

static int copy(struct bin_attribute *attribute, void **types, size_t *bytes)
{
	size_t room = attribute->size;
	ssize_t got;
	void *start;

	if (!attribute->read || !room || room > MOST_BYTES)
		return -EINVAL;
	start = kvmalloc(room, GFP_KERNEL);
	if (!start)
		return -ENOMEM;
	got = attribute->read(NULL, NULL, attribute, start, 0, room);
	if (got != room) {
		kvfree(start);
		return got < 0 ? got : -EIO;
	}
	*types = start;
	*bytes = room;
	return 0;
}

int tacet_kernel_types(const char *name, void **types, size_t *bytes)
{
	struct kernfs_node *file = find_file(name);
	int error = -ENOENT;

	if (!file)
		return -ENOENT;
	if (kernfs_type(file) == KERNFS_FILE)
		error = copy(file->priv, types, bytes);
	kernfs_put(file);
	return error;
}
