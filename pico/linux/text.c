// SPDX-License-Identifier: GPL-2.0
/*
 * What the cores did by fast paths, for people and tests: one line for each queue.
 *
 * Called by doors/sysfs.c; sleeps, takes the control lock.
 */
#include <linux/sysfs.h>

#include "pico/linux/pico.h"
#include "tacet.h"

static int line(char *buffer, int used, const struct tacet_pico_unit *unit, unsigned int core)
{
	const struct tacet_pico_queue *queue = tacet_pico_queue(unit->index, core);
	u32 epoch = READ_ONCE(queue->epoch);
	unsigned int i;

	used += sysfs_emit_at(buffer, used,
			      "%s cpu %u queue %u %s calls %llu commands %llu read %llu written %llu forwarded",
			      dev_name(unit->device), tacet_partition.cores[core].cpu, queue->id,
			      epoch && !(epoch & 1) ? "works" : "none", READ_ONCE(queue->calls),
			      READ_ONCE(queue->commands), READ_ONCE(queue->read_bytes),
			      READ_ONCE(queue->written_bytes));
	for (i = 0; i < TACET_PICO_FALLBACKS; i++)
		used += sysfs_emit_at(buffer, used, " %llu", READ_ONCE(queue->fallbacks[i]));
	return used + sysfs_emit_at(buffer, used, "\n");
}

ssize_t tacet_pico_show(char *buffer)
{
	const struct tacet_pico_unit *unit;
	unsigned int i, core;
	ssize_t used = 0;

	if (mutex_lock_interruptible(&tacet_control_lock))
		return -EINTR;
	for (i = 0; (unit = tacet_pico_unit(i)); i++)
		for (core = 0; core < tacet_partition.core_count; core++)
			used = line(buffer, used, unit, core);
	mutex_unlock(&tacet_control_lock);
	return used;
}
