// SPDX-License-Identifier: GPL-2.0
/*
 * An idle loop that executes instructions. It is for benches in an emulated node whose clock counts the instructions of
 * all CPUs, one after the other. There a CPU that halts or executes PAUSE uses none of the common time, so the other
 * CPUs would get more done in the same time. With this loop every CPU uses the same time, busy or idle.
 *
 * busy=1 starts the loop; busy=0 (default) or unloading ends it. Must never be loaded on a real machine.
 */
#include <linux/cpuidle.h>
#include <linux/module.h>
#include <linux/sched/idle.h>

static bool busy;

/* Called with interrupts off, and returns with interrupts off (Documentation/driver-api/pm/cpuidle.rst). */
static __cpuidle int wait_busily(struct cpuidle_device *device, struct cpuidle_driver *driver, int index)
{
	if (!current_set_polling_and_test()) {
		raw_local_irq_enable();
		/* not cpu_relax(): PAUSE ends a CPU's turn in the emulator */
		while (!need_resched())
			barrier();
		raw_local_irq_disable();
	}
	current_clr_polling();
	return index;
}

static struct cpuidle_driver busy_driver = {
	.name = "busy",
	.owner = THIS_MODULE,
	.states = { {
		.name = "BUSY",
		.desc = "executes instructions",
		.enter = wait_busily,
	} },
	.state_count = 1,
};

/* The caller holds the lock of all parameters. */
static int set_busy(const char *value, const struct kernel_param *parameter)
{
	bool before = busy;
	int error = param_set_bool(value, parameter);

	if (error || busy == before)
		return error;
	if (!busy) {
		cpuidle_unregister(&busy_driver);
		return 0;
	}
	error = cpuidle_register(&busy_driver, NULL);
	busy = !error;
	return error;
}

static const struct kernel_param_ops busy_ops = { .set = set_busy, .get = param_get_bool };
module_param_cb(busy, &busy_ops, &busy, 0644);
MODULE_PARM_DESC(busy, "whether idle CPUs execute instructions");

static int __init start(void)
{
	return 0;
}

static void __exit stop(void)
{
	if (busy)
		cpuidle_unregister(&busy_driver);
}

module_init(start);
module_exit(stop);
MODULE_DESCRIPTION("An idle loop that executes instructions, for benches in an emulator");
MODULE_LICENSE("GPL");
