// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of a block device that do not come by the calls on its descriptors.
 *
 * Its size changes, its disk goes, or Linux stops its requests: grants of the disk end.
 *
 * Somebody uses its page cache. Cores go to the device past the page cache, so a grant ends
 * when somebody reads or writes the device through it: by buffered calls, a mapping, splice(2) or
 * readahead(2).
 *
 * Called by devices.c. Probes the functions in Linux that fill the page cache of a block device;
 * none of them is executed for direct reads and writes, but for one test of each write.
 */
#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/pagemap.h>

#include "pico/linux/grants.h"
#include "pico/linux/pages.h"
#include "pico/linux/probes.h"
#include "tacet.h"

static void page_is_read(unsigned long file, unsigned long folio)
{
	tacet_grants_revoke_pages(((struct folio *)folio)->mapping);
}

static void pages_are_read(unsigned long readahead, unsigned long unused)
{
	tacet_grants_revoke_pages(((struct readahead_control *)readahead)->mapping);
}

static void file_is_written(unsigned long call, unsigned long from)
{
	const struct kiocb *iocb = (const struct kiocb *)call;

	if (!(iocb->ki_flags & IOCB_DIRECT))
		tacet_grants_revoke_pages(iocb->ki_filp->f_mapping);
}

/* Also when a namespace was formatted: Linux sets the size whenever it has looked at a namespace. */
static void size_is_set(unsigned long disk, unsigned long sectors)
{
	tacet_grants_revoke_disk((const struct gendisk *)disk);
}

static void disk_goes(unsigned long disk, unsigned long unused)
{
	tacet_grants_revoke_disk((const struct gendisk *)disk);
}

/*
 * Linux waits until the disk has done all that it was given, and then changes what the disk is. Grants
 * are given back, for which Linux waits as well (let_go() in grants.c). Entered before new requests have
 * to wait, and again afterwards: no grant is made from then on.
 */
static void queue_freezes(unsigned long queue, unsigned long unused)
{
	const struct gendisk *disk = ((const struct request_queue *)queue)->disk;

	if (!disk)
		return;
	tacet_grants_revoke_disk(disk);
	tacet_grants_quiet_disk(disk);
}

static struct tacet_probe changes[] = {
	{ .symbol = "blk_freeze_queue_start", .entered = queue_freezes },
	{ .symbol = "blk_mq_freeze_queue_wait", .entered = queue_freezes },
	{ .symbol = "set_capacity", .entered = size_is_set },
	{ .symbol = "del_gendisk", .entered = disk_goes },
	{ .symbol = "blkdev_read_folio", .entered = page_is_read },
	{ .symbol = "blkdev_readahead", .entered = pages_are_read },
	{ .symbol = "blkdev_write_iter", .entered = file_is_written },
};
static struct tacet_probes probes = { .probes = changes, .count = ARRAY_SIZE(changes) };

int tacet_pages_watch(void)
{
	int error = tacet_probes_on(&probes);

	if (error)
		tacet_report(TACET_LOG_INFO, "devices: no fast path: this kernel does not tell of %s",
			     probes.missing);
	return error;
}

void tacet_pages_unwatch(void)
{
	tacet_probes_off(&probes);
}
