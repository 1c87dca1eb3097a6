// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a partition whose co-kernel has failed: its last words are reported, the
 * programs that it hosted are killed, and Linux takes the cores back.
 *
 * Called in a work item after border/fail.c has stopped the cores.
 */
#include <linux/delay.h>
#include <linux/sched/signal.h>

#include "border/border.h"
#include "compat.h"
#include "partition/partition.h"
#include "process/process.h"
#include "tacet.h"

static void kill_one(struct tacet_hosted *hosted, void *data)
{
	send_sig(SIGKILL, hosted->task, 1);
	tacet_hosted_wake(hosted);
	tacet_unhost_unparked(hosted);
}

/* Reports the reason and the last words of dead cores: in the status and in the log. */
static void report_death(const char *reason)
{
	struct tacet_partition *partition = &tacet_partition;
	unsigned int i;

	lockdep_assert_held(&tacet_control_lock);
	strscpy(partition->message, reason, sizeof(partition->message));
	tacet_report(TACET_LOG_FATAL, "the co-kernel failed: %s", reason);
	for (i = 0; i < partition->core_count; i++) {
		struct tacet_core *core = &partition->cores[i];

		if (READ_ONCE(core->shared->state) != TACET_CPU_DEAD)
			continue;
		snprintf(partition->message, sizeof(partition->message), "cpu %u: %.*s", core->cpu,
			 TACET_TEXT_BYTES - 16, core->shared->last_words.text);
		tacet_report(TACET_LOG_FATAL, "cpu %u: last words: %.*s", core->cpu,
			     TACET_TEXT_BYTES, core->shared->last_words.text);
	}
}

/* The cores are stopped. Kills what they ran, and takes them back. */
static void bury(const char *reason)
{
	mutex_lock(&tacet_control_lock);
	/* Not for another partition that has come up since. */
	if (tacet_partition.state == TACET_PARTITION_UP && tacet_partition.failed) {
		WRITE_ONCE(tacet_partition.state, TACET_PARTITION_CHANGING);
		report_death(reason);
		/* No thread runs on a core any more, and each one that waits can be killed. */
		while (tacet_hosted_count()) {
			tacet_for_each_hosted(kill_one, NULL);
			msleep(2);
		}
		tacet_partition_end(TACET_PARTITION_FAILED);
	}
	mutex_unlock(&tacet_control_lock);
}

int tacet_partition_init(void)
{
	return tacet_fail_init(bury);
}
