// SPDX-License-Identifier: GPL-2.0
/*
 * While a partition is up, Linux's compaction leaves locked pages where they are. Otherwise it
 * moves pages of hosted programs now and then, and each move flushes the TLBs of their cores.
 *
 * The setting is vm.compact_unevictable_allowed (Documentation/admin-guide/sysctl/vm.rst). It
 * has no other door than its file in /proc. If that is not there, the partition works, and the
 * cores are flushed now and then.
 *
 * Called by partition/partition.c with the control lock held. Sleeps.
 */
#include <linux/fs.h>

#include "base/text.h"
#include "compat.h"
#include "partition/partition.h"
#include "tacet.h"

#define SETTING "/proc/sys/vm/compact_unevictable_allowed"

static bool changed;	/* from 1 to 0; control lock */

static bool setting_is(const char *value)
{
	struct tacet_text text = {};
	bool is = !tacet_text_read_file(&text, SETTING) && text.bytes && text.start[0] == *value;

	tacet_text_free(&text);
	return is;
}

static bool set(const char *value)
{
	struct file *file = filp_open(SETTING, O_WRONLY, 0);
	loff_t position = 0;
	bool written;

	if (IS_ERR(file))
		return false;
	written = kernel_write(file, value, 1, &position) == 1;
	filp_close(file, NULL);
	return written;
}

int tacet_compaction_restrain(struct tacet_up *request)
{
	lockdep_assert_held(&tacet_control_lock);
	changed = setting_is("1") && set("0");
	if (!changed && !setting_is("0"))
		tacet_report(TACET_LOG_INFO, SETTING ": cannot be set to 0: compaction may flush cores");
	return 0;
}

/* If somebody else has changed the setting meanwhile, it stays so. */
void tacet_compaction_release(void)
{
	lockdep_assert_held(&tacet_control_lock);
	if (changed && setting_is("0") && !set("1"))
		tacet_report(TACET_LOG_WARNING, SETTING ": cannot be set to 1 again");
	changed = false;
}
