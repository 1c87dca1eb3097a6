// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs leave Linux and come back. While a partition is up, nobody else brings its CPUs
 * online, and the machine does not suspend.
 *
 * Called by partition/partition.c with the control lock held, and by Linux's hotplug.
 *
 * When every present CPU has been booted once, Linux sends broadcasts by APIC shorthand,
 * which also reach taken cores. Linux decides this at the end of each hotplug operation,
 * whether it succeeded or not (arch_smt_update()). A taken CPU is therefore absent from
 * cpu_present_mask during each operation, and present again right after it: Linux does not
 * use the shorthand, and still sees the whole machine. That matters: Linux refuses late
 * microcode while a present CPU is offline.
 *
 * An operation may fail at its first step, far from our own state (the scheduler refuses to
 * deactivate a CPU: -EBUSY), so our state's callbacks see too little. The tracepoint
 * cpuhp_enter comes before the first step of every operation. (Only a step that root has
 * told to fail by hotplug/fail, and that is the very first one of an onlining, comes without
 * it; it is for debugging Linux.)
 *
 * TRICK a mask without the taken CPUs: taken CPUs are absent from `cpu_present_mask` during each
 * hotplug operation, so that Linux sends no broadcast by shorthand; a state of SuperH's refuses
 * foreign onlining.
 * BREAKS a kernel that decides about shorthands at another moment, or gives that state to x86.
 * NOTICED the load is refused without the tracepoint `cpuhp_enter` or the state; `make bench
 * BENCH=core` counts what reaches a core.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/suspend.h>
#include <linux/tracepoint.h>

#include "arch/arch.h"
#include "compat.h"
#include "partition/partition.h"
#include "process/process.h"
#include "tacet.h"

#define BUSY_TRIES 50
#define BUSY_PAUSE_MS 10

static struct cpumask taken_cpus;	/* control lock */
static struct tracepoint *steps;	/* cpuhp_enter; written once, at the load */
static bool watched;			/* the probe is on; control lock */

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

/*
 * A hotplug operation is in progress. Interrupts are on; preemption may be off. A CPU that is
 * still online is on its way to us: it is hidden once it is off. The work is queued by the
 * step that hides something, and waits for the end of the operation.
 */
static void hide_taken(void)
{
	bool hidden = false;
	unsigned int cpu;

	for_each_cpu(cpu, &taken_cpus) {
		if (cpu_online(cpu) || !cpu_present(cpu))
			continue;
		set_cpu_present(cpu, false);
		hidden = true;
	}
	if (hidden)
		schedule_work(&present_work);
}

/* The probe of cpuhp_enter: a step of any operation begins. The first step is executed with
 * interrupts on; with interrupts off, a CPU that comes or goes executes some of its own, and
 * must not queue work. */
static void on_step(void *data, unsigned int cpu, int target, int step,
		    int (*callback)(unsigned int cpu))
{
	if (!irqs_disabled())
		hide_taken();
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

/* Linux's callback: any CPU has gone down, and its interrupts have gone elsewhere. */
static int finish_down(unsigned int cpu)
{
	hide_taken();
	tacet_watch_moved();
	return 0;
}

static int suspend_event(struct notifier_block *block, unsigned long event, void *data)
{
	if (event != PM_SUSPEND_PREPARE && event != PM_HIBERNATION_PREPARE &&
	    event != PM_RESTORE_PREPARE)
		return NOTIFY_DONE;
	if (READ_ONCE(tacet_partition.state) == TACET_PARTITION_NONE)
		return NOTIFY_DONE;
	tacet_report(TACET_LOG_WARNING,
		     "suspend refused: a partition is up; 'tacet down' gives its CPUs back");
	return notifier_from_errno(-EBUSY);
}
static struct notifier_block suspend_block = { .notifier_call = suspend_event };

static void find_steps(struct tracepoint *point, void *data)
{
	if (!strcmp(point->name, "cpuhp_enter"))
		steps = point;
}

int tacet_hotplug_init(void)
{
	int error;

	for_each_kernel_tracepoint(find_steps, NULL);
	if (!steps) {
		pr_err("tacet: this kernel has no tracepoint cpuhp_enter\n");
		return -ENOENT;
	}
	error = cpuhp_setup_state_nocalls(TACET_CPUHP_REFUSE, "tacet:taken", prepare_up, finish_down);
	if (error)
		return error;
	error = register_pm_notifier(&suspend_block);
	if (error)
		cpuhp_remove_state_nocalls(TACET_CPUHP_REFUSE);
	return error;
}

void tacet_hotplug_exit(void)
{
	unregister_pm_notifier(&suspend_block);
	cpuhp_remove_state_nocalls(TACET_CPUHP_REFUSE);
	flush_work(&present_work);
}

/* On from before the first CPU goes until the last core is stopped: Linux patches its code to
 * change a probe, and broadcasts. */
static int watch_steps(bool on)
{
	int error = 0;

	if (on == watched)
		return 0;
	if (on) {
		error = tracepoint_probe_register(steps, on_step, NULL);
	} else {
		tracepoint_probe_unregister(steps, on_step, NULL);
		tracepoint_synchronize_unregister();
	}
	if (!error)
		watched = on;
	return error;
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
	if (cpumask_empty(&taken_cpus))
		watch_steps(false);
}

int tacet_hotplug_take(struct tacet_core *core)
{
	int error;

	lockdep_assert_held(&tacet_control_lock);
	error = watch_steps(true);
	if (error)
		return error;
	cpumask_set_cpu(core->cpu, &taken_cpus);
	error = patiently(remove_cpu, core->cpu);
	if (error < 0) {
		unhide(core->cpu);
		return error;
	}
	core->taken = true;
	atomic64_set(per_cpu_ptr(&tacet_core_user_ns, core->cpu), 0);
	WRITE_ONCE(per_cpu(tacet_core_taken_ns, core->cpu), ktime_get_ns());
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
	else
		tacet_arch_performance_restore(core);
	core->taken = false;
	return error < 0 ? error : 0;
}

/* Waits until cpu_present_mask has all CPUs again. */
void tacet_hotplug_settle(void)
{
	flush_work(&present_work);
}
