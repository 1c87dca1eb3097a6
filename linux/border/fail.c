// SPDX-License-Identifier: GPL-2.0
/*
 * When the co-kernel cannot be trusted any more: its cores are stopped at once,
 * what they hosted is killed, its last words are reported, and Linux takes the
 * cores back.
 *
 * tacet_partition_fail() is called by whoever notices, in any context; the rest
 * follows in a work item that takes the control lock.
 */
#include <linux/delay.h>
#include <linux/reboot.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "process/process.h"
#include "tacet.h"

static const char *fail_reason;	/* written once, by whoever set `failed` */

static void kill_one(struct tacet_hosted *hosted, void *data)
{
	send_sig(SIGKILL, hosted->task, 1);
	wake_up(&hosted->wait);
	tacet_forget(hosted);
}

/* What the dead left: into the message and the log. */
static void report_death(void)
{
	struct tacet_partition *partition = &tacet_partition;
	unsigned int i;

	strscpy(partition->message, fail_reason, sizeof(partition->message));
	tacet_report(TACET_LOG_FATAL, "the co-kernel failed: %s", fail_reason);
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

/* The cores are stopped. Ends what they ran, takes them back. */
static void bury(struct work_struct *work)
{
	mutex_lock(&tacet_control_lock);
	/* Not one that has come up since. */
	if (tacet_partition.state == TACET_PARTITION_UP && tacet_partition.failed) {
		WRITE_ONCE(tacet_partition.state, TACET_PARTITION_CHANGING);
		report_death();
		/* None runs on a core any more, and none waits but killably. */
		while (tacet_hosted_count()) {
			tacet_for_each_hosted(kill_one, NULL);
			msleep(2);
		}
		tacet_partition_end(TACET_PARTITION_FAILED);
	}
	mutex_unlock(&tacet_control_lock);
}
static DECLARE_WORK(burial, bury);

/* No core executes anything any more, and nobody waits for one. */
static void silence(void)
{
	unsigned int i, round;

	/* The second time for a bell that a core rang just before its end, at one
	 * that had ended already. */
	for (round = 0; round < 2; round++)
		for (i = 0; i < tacet_partition.core_count; i++)
			if (tacet_partition.cores[i].started)
				tacet_arch_kill(&tacet_partition.cores[i]);
	smp_store_release(&tacet_partition.failed, TACET_FAILED_SILENT);
	tacet_hosted_wake_all();
}

/* True for the first one, which silences the cores without being preempted:
 * others spin until it has. */
static bool begin_failure(void)
{
	preempt_disable();
	if (!cmpxchg(&tacet_partition.failed, 0, TACET_FAILED_NOTICED))
		return true;
	preempt_enable();
	return false;
}

/* The co-kernel cannot be trusted any more. Any context, any number of times. */
void tacet_partition_fail(const char *reason)
{
	if (begin_failure()) {
		fail_reason = reason;
		silence();
		preempt_enable();
		schedule_work(&burial);
	}
}

/* The machine goes down or into another kernel: nothing of ours runs on. */
static int on_reboot(struct notifier_block *block, unsigned long event, void *data)
{
	if (begin_failure()) {
		silence();
		preempt_enable();
	}
	return NOTIFY_DONE;
}
static struct notifier_block reboot_block = { .notifier_call = on_reboot };

int tacet_fail_init(void)
{
	return register_reboot_notifier(&reboot_block);
}

void tacet_fail_exit(void)
{
	unregister_reboot_notifier(&reboot_block);
	flush_work(&burial);
}
