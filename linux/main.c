// SPDX-License-Identifier: GPL-2.0
/*
 * The module's beginning and end. Loading it changes nothing on the node: `tacet up` takes
 * CPUs and memory. It can be unloaded whenever nothing is hosted, even if a partition is up.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "border/border.h"
#include "compat.h"
#include "delegate/delegate.h"
#include "doors/doors.h"
#include "memory/memory.h"
#include "partition/partition.h"
#include "pico/linux/pico.h"
#include "tacet.h"

static int __init tacet_init(void)
{
	int error = tacet_tracepoints_init();

	if (error)
		return error;
	tacet_park_init();
	tacet_workqueue = alloc_workqueue("tacet", WQ_UNBOUND, 0);
	if (!tacet_workqueue)
		return -ENOMEM;
	error = tacet_hotplug_init();
	if (error)
		goto destroy_workqueue;
	tacet_memory_init();
	tacet_discard_init();
	error = tacet_pico_init();
	if (error)
		goto exit_hotplug;
	error = tacet_partition_init();
	if (error)
		goto exit_pico;
	error = tacet_sysfs_init();
	if (error)
		goto exit_partition;
	error = tacet_control_init();
	if (error)
		goto exit_sysfs;
	return 0;

exit_sysfs:
	tacet_sysfs_exit();
exit_partition:
	tacet_partition_exit();
exit_pico:
	tacet_pico_exit();
exit_hotplug:
	tacet_hotplug_exit();
destroy_workqueue:
	destroy_workqueue(tacet_workqueue);
	return error;
}

static void __exit tacet_exit(void)
{
	tacet_control_exit();
	tacet_partition_exit();
	tacet_sysfs_exit();
	tacet_pico_exit();
	tacet_hotplug_exit();
	destroy_workqueue(tacet_workqueue);
	tacet_log_exit();
	tacet_space_settle();
	/* A task may still execute the last instructions of delegate/park.c or of view/. */
	synchronize_rcu_tasks();
	rcu_barrier();
}

module_init(tacet_init);
module_exit(tacet_exit);
MODULE_DESCRIPTION("Tacet: hosts threads on cores that execute nothing else");
MODULE_LICENSE("GPL");
