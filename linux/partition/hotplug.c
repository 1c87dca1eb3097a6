// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs leave Linux and come back. While a partition is up, nobody else brings its CPUs
 * online, and the machine does not suspend.
 *
 * Called by partition/partition.c with the control lock held, and by Linux's hotplug.
 *
 * When every present CPU has been booted once, Linux sends broadcasts by APIC shorthand,
 * which also reach taken cores. Linux decides this at the end of each hotplug operation.
 * A taken CPU is therefore absent from cpu_present_mask during each operation, and present
 * again right after it: Linux does not use the shorthand, and still sees the whole machine.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/suspend.h>

#include "compat.h"
#include "partition/partition.h"
#include "tacet.h"

#define BUSY_TRIES 50
#define BUSY_PAUSE_MS 10

static enum cpuhp_state hotplug_state;
static struct cpumask taken_cpus;	/* control lock */

static void restore_present(struct work_struct *work)
{
	unsigned int cpu;

	/* Waits for the whole operation in progress. */
	cpu_hotplug_disable();
	for_each_cpu(cpu, &taken_cpus)
		set_cpu_present(cpu, true);
	cpu_hotplug_enable();
}
static DECLARE_WORK(present_work, restore_present);

static void hide_taken(void)
{
	unsigned int cpu;

	for_each_cpu(cpu, &taken_cpus)
		set_cpu_present(cpu, false);
	schedule_work(&present_work);
}

/* Linux's callback: any CPU is about to come up. */
static int prepare_up(unsigned int cpu)
{
	hide_taken();
	if (!cpumask_test_cpu(cpu, &taken_cpus))
		return 0;
	tacet_report(TACET_LOG_WARNING,
		     "cpu %u: online refused: it belongs to the partition; 'tacet down' gives it back",
		     cpu);
	return -EBUSY;
}

/* Linux's callback: any CPU has gone down. */
static int finish_down(unsigned int cpu)
{
	hide_taken();
	return 0;
}

static int suspend_event(struct notifier_block *block, unsigned long event, void *data)
{
	if (event != PM_SUSPEND_PREPARE && event != PM_HIBERNATION_PREPARE)
		return NOTIFY_DONE;
	if (READ_ONCE(tacet_partition.state) == TACET_PARTITION_NONE)
		return NOTIFY_DONE;
	tacet_report(TACET_LOG_WARNING,
		     "suspend refused: a partition is up; 'tacet down' gives its CPUs back");
	return notifier_from_errno(-EBUSY);
}
static struct notifier_block suspend_block = { .notifier_call = suspend_event };

int tacet_hotplug_init(void)
{
	int state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "tacet:taken", prepare_up,
					      finish_down);
	int error;

	if (state < 0)
		return state;
	hotplug_state = state;
	error = register_pm_notifier(&suspend_block);
	if (error)
		cpuhp_remove_state_nocalls(hotplug_state);
	return error;
}

void tacet_hotplug_exit(void)
{
	unregister_pm_notifier(&suspend_block);
	cpuhp_remove_state_nocalls(hotplug_state);
	flush_work(&present_work);
}

/* Linux refuses while hotplug is disabled, as restore_present() does for a moment after each
 * operation. */
static int patiently(int (*operation)(unsigned int cpu), unsigned int cpu)
{
	unsigned int tries = BUSY_TRIES;
	int error;

	do {
		flush_work(&present_work);
		error = operation(cpu);
	} while (error == -EBUSY && --tries && !msleep_interruptible(BUSY_PAUSE_MS));
	return error;
}

/* No hotplug operation hides @cpu any more, nor does one in progress. */
static void unhide(unsigned int cpu)
{
	cpu_hotplug_disable();
	cpumask_clear_cpu(cpu, &taken_cpus);
	set_cpu_present(cpu, true);
	cpu_hotplug_enable();
}

int tacet_hotplug_take(struct tacet_core *core)
{
	int error;

	lockdep_assert_held(&tacet_control_lock);
	cpumask_set_cpu(core->cpu, &taken_cpus);
	error = patiently(remove_cpu, core->cpu);
	if (error < 0) {
		unhide(core->cpu);
		return error;
	}
	core->taken = true;
	return 0;
}

/* The core is stopped or was never started. */
int tacet_hotplug_give(struct tacet_core *core)
{
	int error;

	lockdep_assert_held(&tacet_control_lock);
	if (!core->taken)
		return 0;
	unhide(core->cpu);
	error = patiently(add_cpu, core->cpu);
	if (error < 0)
		tacet_report(TACET_LOG_WARNING, "cpu %u: Linux cannot bring it online again: error %d",
			     core->cpu, error);
	core->taken = false;
	return error < 0 ? error : 0;
}

/* Waits until cpu_present_mask has all CPUs again. */
void tacet_hotplug_settle(void)
{
	flush_work(&present_work);
}
