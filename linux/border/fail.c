// SPDX-License-Identifier: GPL-2.0
/*
 * The co-kernel cannot be trusted any more: all its cores are stopped at once, and every
 * thread on Linux that waits for one looks again.
 *
 * Called by every file that notices a failure, in any context. The end of the partition is
 * not decided here: a work item calls the function that partition/ has registered.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/panic_notifier.h>
#include <linux/reboot.h>

#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "tacet.h"

#define SILENCE_NS (2 * NSEC_PER_MSEC)	/* longer than any INIT takes */
#define LAST_BELL_MS 10

static const char *fail_reason;	/* written once, by the caller that set `failed` */
static void (*follow)(const char *reason);

static void call_follow(struct work_struct *work)
{
	follow(fail_reason);
}
static DECLARE_WORK(follow_work, call_follow);

/* Stops all cores; every thread that waits for one looks again. */
static void silence(void)
{
	unsigned int i, round;
	u64 begin;

	/* Twice: a core may have rung another one, which was stopped already, just before
	 * it was stopped itself. */
	for (round = 0; round < 2; round++)
		for (i = 0; i < tacet_partition.core_count; i++)
			if (tacet_partition.cores[i].started)
				tacet_arch_kill(&tacet_partition.cores[i]);
	/* INIT is on its way, and the core may still store: a processor takes it within
	 * microseconds. Before memory is given back, partition/cores.c proves more. */
	begin = ktime_get_mono_fast_ns();
	while (ktime_get_mono_fast_ns() - begin < SILENCE_NS)
		cpu_relax();
	smp_store_release(&tacet_partition.failed, TACET_FAILED_SILENT);
	tacet_hosted_wake_all();
}

/* True for the first caller, which silences the cores with preemption off: other callers
 * may spin until it has. */
static bool begin_failure(void)
{
	preempt_disable();
	if (!cmpxchg(&tacet_partition.failed, 0, TACET_FAILED_NOTICED))
		return true;
	preempt_enable();
	return false;
}

/* @reason: a string that stays. Any context, any number of times. */
void tacet_partition_fail(const char *reason)
{
	if (begin_failure()) {
		fail_reason = reason;
		silence();
		preempt_enable();
		schedule_work(&follow_work);
	}
}

/* The machine goes down or into another kernel: no core may run on. */
static int on_reboot(struct notifier_block *block, unsigned long event, void *data)
{
	if (begin_failure()) {
		silence();
		preempt_enable();
	}
	return NOTIFY_DONE;
}
static struct notifier_block reboot_block = { .notifier_call = on_reboot };

static void kill_all_in_panic(void)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.core_count; i++)
		if (tacet_partition.cores[i].started)
			tacet_arch_kill_in_panic(&tacet_partition.cores[i]);
}

/*
 * Linux panics: the other CPUs are stopped, with whatever locks they held, so nothing here may
 * take one. No thread is woken: none will execute.
 *
 * Before a crash kernel (kdump) Linux calls no notifier, unless it was booted with
 * crash_kexec_post_notifiers. Then the cores continue. That harms neither the crash kernel
 * nor the dump's frame: a core reaches the partition's memory and its programs' pages, and the
 * crash kernel lives in memory that Linux reserved at boot, which is neither. It starts no
 * other CPU. A core that wants something of Linux sends one interrupt, which is to a CPU that
 * ignores it, and waits. Only the content of the programs' own memory changes under the dump.
 */
static int on_panic(struct notifier_block *block, unsigned long event, void *data)
{
	if (cmpxchg(&tacet_partition.failed, 0, TACET_FAILED_NOTICED) == TACET_FAILED_SILENT)
		return NOTIFY_DONE;
	kill_all_in_panic();
	/* Twice, as above: a core that was to be stopped next, or a CPU that Linux has not waited
	 * for, may have rung a core that was stopped already. */
	mdelay(LAST_BELL_MS);
	kill_all_in_panic();
	return NOTIFY_DONE;
}
static struct notifier_block panic_block = { .notifier_call = on_panic };

int tacet_fail_init(void (*failed)(const char *reason))
{
	follow = failed;
	atomic_notifier_chain_register(&panic_notifier_list, &panic_block);
	return register_reboot_notifier(&reboot_block);
}

void tacet_fail_exit(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_block);
	unregister_reboot_notifier(&reboot_block);
	flush_work(&follow_work);
}
