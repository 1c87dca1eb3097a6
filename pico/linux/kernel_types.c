// SPDX-License-Identifier: GPL-2.0
/*
 * Copies the kernel's description of its types (BTF) out of the kernel's memory. Linux offers
 * it to programs as /sys/kernel/btf/NAME and to modules not at all; the file is found here by
 * its place in sysfs itself and not by a path: root may mount another file over a path, and
 * where Linux is locked down root may not choose at which places this module reads.
 *
 * A kernel that was built without BTF can have a module that was built with its types, which
 * tools/layouts takes from its DWARF: types_of_kernel.h, if it is there. They serve the kernel
 * with the same build ID only.
 *
 * Called by the device folders of pico/. Sleeps.
 */
#include <linux/elf.h>
#include <linux/kernfs.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "kernel_types.h"

/* Linux's own types take 4 to 8 MiB. */
#define MOST_BYTES (64ul << 20)

static struct kernfs_node *find_types(const char *name)
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

/* Gives @file back. */
static int copy_file(struct kernfs_node *file, void **types, size_t *bytes)
{
	int error = -ENOENT;

	if (!file)
		return -ENOENT;
	if (kernfs_type(file) == KERNFS_FILE)
		error = copy(file->priv, types, bytes);
	kernfs_put(file);
	return error;
}

#if __has_include("types_of_kernel.h")
#include "types_of_kernel.h"

/* The note that GNU ld writes. */
#define NAME "GNU"
#define BUILD_ID 3
/* The longest build ID that is compared. */
#define MOST_ID_BYTES 64

static bool is_build_id(const struct elf64_note *note, const void *name, const void *id)
{
	char text[2 * MOST_ID_BYTES + 1];

	if (note->n_type != BUILD_ID || note->n_namesz != sizeof(NAME) ||
	    memcmp(name, NAME, sizeof(NAME)) || note->n_descsz > MOST_ID_BYTES)
		return false;
	snprintf(text, sizeof(text), "%*phN", (int)note->n_descsz, id);
	return !strcmp(text, TACET_TYPES_BUILD_ID);
}

/* Linux's own notes, among them its build ID. */
static bool is_this_kernel(const void *notes, size_t bytes)
{
	const struct elf64_note *note;
	size_t at = 0, name, id;

	while (at + sizeof(*note) <= bytes) {
		note = notes + at;
		name = at + sizeof(*note);
		id = name + ALIGN((size_t)note->n_namesz, 4);
		at = id + ALIGN((size_t)note->n_descsz, 4);
		if (at <= bytes && is_build_id(note, notes + name, notes + id))
			return true;
	}
	return false;
}

static int copy_built_in(const char *name, void **types, size_t *bytes)
{
	size_t notes_bytes;
	void *notes;
	int error;

	if (strcmp(name, "vmlinux"))
		return -ENOENT;
	error = copy_file(kernfs_find_and_get(kernel_kobj->sd, "notes"), &notes, &notes_bytes);
	if (error)
		return error;
	if (!is_this_kernel(notes, notes_bytes))
		error = -ENOENT;
	kvfree(notes);
	if (error)
		return error;
	*types = kvmalloc(sizeof(tacet_types), GFP_KERNEL);
	if (!*types)
		return -ENOMEM;
	memcpy(*types, tacet_types, sizeof(tacet_types));
	*bytes = sizeof(tacet_types);
	return 0;
}
#else
static int copy_built_in(const char *name, void **types, size_t *bytes)
{
	return -ENOENT;
}
#endif

int tacet_kernel_types(const char *name, void **types, size_t *bytes)
{
	int error = copy_file(find_types(name), types, bytes);

	return error == -ENOENT ? copy_built_in(name, types, bytes) : error;
}
