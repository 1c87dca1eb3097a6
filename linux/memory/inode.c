// SPDX-License-Identifier: GPL-2.0
/*
 * The inode of a range's file, by which Linux finds who maps the range's pages, and which it names
 * shared futexes by. A range has its inode for life, a child's range its parent's, and the file
 * has it too: whoever closes the file last may do so while a hand-over is under way.
 *
 * Called by memory/mapping.c, fork.c and range.c, and by all that have Linux unmap a range's pages;
 * sleeps, but for _get and _zaps.
 *
 * TRICK a file system for inodes: each range has an inode of a file system of the module's own, which
 * is never mounted at a path.
 * BREAKS a kernel that finds shared futexes or the users of a page otherwise than by the inode.
 * NOTICED a warning when pages are unmapped by an inode that nobody holds; scenarios end with a look
 * at Linux's warnings.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include "memory/memory.h"
#include "tacet.h"

static struct vfsmount *mount;
static int mount_count;

static int init_context(struct fs_context *context)
{
	return init_pseudo(context, 0x7461636d) ? 0 : -ENOMEM;
}

static struct file_system_type file_system = {
	.name = "tacet",
	.owner = THIS_MODULE,
	.init_fs_context = init_context,
	.kill_sb = kill_anon_super,
};

/* With a reference, and with one of its file system, which is there as long as its inodes are. */
struct address_space *tacet_range_inode_new(void)
{
	int error = simple_pin_fs(&file_system, &mount, &mount_count);
	struct inode *inode;

	if (error)
		return ERR_PTR(error);
	inode = alloc_anon_inode(mount->mnt_sb);
	if (IS_ERR(inode)) {
		simple_release_fs(&mount, &mount_count);
		return ERR_CAST(inode);
	}
	i_size_write(inode, TACET_RANGE_BYTES);
	return inode->i_mapping;
}

/* One more reference of each. */
struct address_space *tacet_range_inode_get(struct address_space *mapping)
{
	ihold(mapping->host);
	/* It is mounted: this only counts. */
	WARN_ON_ONCE(simple_pin_fs(&file_system, &mount, &mount_count));
	return mapping;
}

void tacet_range_inode_put(struct address_space *mapping)
{
	iput(mapping->host);
	simple_release_fs(&mount, &mount_count);
}

/* The tasks that are in tacet_range_zap(). */
struct zapper {
	struct list_head link;
	const struct task_struct *task;
};

static LIST_HEAD(zappers);
static DEFINE_SPINLOCK(zappers_lock);

/* The calling task unmaps because tacet_range_zap() does. Any context. */
bool tacet_range_zaps(void)
{
	const struct zapper *zapper;
	bool found = false;

	spin_lock(&zappers_lock);
	list_for_each_entry(zapper, &zappers, link)
		found |= zapper->task == current;
	spin_unlock(&zappers_lock);
	return found;
}

/* Linux maps none of these pages any more, nor do parents and children of the range's process;
 * @bytes 0: all from @start on. */
void tacet_range_zap(struct tacet_range *range, loff_t start, loff_t bytes)
{
	struct zapper zapper = { .task = current };

	/* Also by a work item or the partition's end, when the process has closed the file. */
	WARN_ON_ONCE(!atomic_read(&range->mapping->host->i_count));
	spin_lock(&zappers_lock);
	list_add(&zapper.link, &zappers);
	spin_unlock(&zappers_lock);
	unmap_mapping_range(range->mapping, start, bytes, 1);
	spin_lock(&zappers_lock);
	list_del(&zapper.link);
	spin_unlock(&zappers_lock);
}
