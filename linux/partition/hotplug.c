// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs leave Linux and come back.
 *
 * Owns the hotplug callbacks, the refusal of foreign onlining and of suspend,
 * and the state of cpu_present_mask. Called by partition/partition.c with the control
 * lock held.
 *
 * Linux sends broadcasts by APIC shorthand, which reaches taken_cpus cores too,
 * whenever every present CPU has been booted once. It decides that at the end
 * of each hotplug operation. So a taken_cpus CPU is absent while one is in progress
 * and present again right after: Linux then neither uses the shorthand nor
 * sees a smaller machine.
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
static struct cpumask taken_cpus;	/* written under the control lock, by take and give */

static void restore_present(struct work_struct *work)
{
	unsigned int cpu;

	/* Waits for the operation in progress, including its last step. */
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

/* Any CPU is about to come up. */
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

/* Any CPU has gone down. */
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

/* Linux refuses while somebody has hot-plugging disabled, as we do ourselves for
 * a moment after each operation. */
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

/* Nobody hides it any more, also not one who has begun to. */
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

/* The core is stopped, or was never started. */
int tacet_hotplug_give(struct tacet_core *core)
{
	int error;

	lockdep_assert_held(&tacet_control_lock);
	if (!core->taken)
		return 0;
	unhide(core->cpu);
	error = patiently(add_cpu, core->cpu);
	if (error < 0)
		tacet_report(TACET_LOG_WARNING, "cpu %u: Linux does not take it back: error %d",
			     core->cpu, error);
	core->taken = false;
	return error < 0 ? error : 0;
}

/* Returns when cpu_present_mask is whole again. */
void tacet_hotplug_settle(void)
{
	flush_work(&present_work);
}
