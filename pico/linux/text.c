// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that cores served by fast paths, for people, for `tacet pico` and for tests: a line for each
 * device, each grant and each queue, as long as the page has room.
 *
 *	partition up|none
 *	device ADDRESS KIND MODE works|lost|none [why none, to the end of the line]
 *	grant PID descriptor N device ADDRESS namespace N block BYTES first N count N rights r|w|rw
 *		valid|revoked using CALLS
 *	ADDRESS cpu N queue N works|none calls N commands N read BYTES written BYTES at-once N
 *		forwarded N…
 *	more N		so many queues had no room
 *
 * The numbers behind `forwarded` are those of enum tacet_pico_fallback. Called by doors/sysfs.c;
 * sleeps, takes the control lock.
 */
#include <linux/sysfs.h>

#include "pico/linux/grants.h"
#include "pico/linux/pico.h"
#include "pico/linux/slots.h"
#include "tacet.h"

/* No queue's line is longer. */
#define LINE 256

static int device_line(char *buffer, int used, const struct tacet_pico_unit *unit)
{
	const char *state = !unit->open ? "none" : unit->lost ? "lost" : "works";
	const char *why = unit->open ? "" : unit->refusal;

	return used + sysfs_emit_at(buffer, used, "device %s %s %s %s%s%s\n", dev_name(unit->device),
				    unit->operations->word, unit->operations->mode, state,
				    *why ? " " : "", why);
}

static const char *name(unsigned int device)
{
	const struct tacet_pico_unit *unit = tacet_pico_slot(device);

	return unit && unit->device ? dev_name(unit->device) : "none";
}

static int queue_line(char *buffer, int used, const struct tacet_pico_unit *unit, unsigned int core)
{
	const struct tacet_pico_queue *queue = tacet_pico_queue(unit->index, core);
	u32 epoch = READ_ONCE(queue->epoch);
	unsigned int i;

	used += sysfs_emit_at(buffer, used,
			      "%s cpu %u queue %u %s calls %llu commands %llu read %llu written %llu at-once %u forwarded",
			      dev_name(unit->device), tacet_partition.cores[core].cpu, queue->id,
			      epoch && !(epoch & 1) ? "works" : "none", READ_ONCE(queue->calls),
			      READ_ONCE(queue->commands), READ_ONCE(queue->read_bytes),
			      READ_ONCE(queue->written_bytes), READ_ONCE(queue->most_calls));
	for (i = 0; i < TACET_PICO_FALLBACKS; i++)
		used += sysfs_emit_at(buffer, used, " %llu", READ_ONCE(queue->fallbacks[i]));
	return used + sysfs_emit_at(buffer, used, "\n");
}

static int queue_lines(char *buffer, int used)
{
	const struct tacet_pico_unit *unit;
	unsigned int i, core, more = 0;

	for (i = 0; (unit = tacet_pico_slot(i)); i++) {
		for (core = 0; unit->device && core < tacet_partition.core_count; core++) {
			if (used + 2 * LINE > PAGE_SIZE)
				more++;
			else
				used = queue_line(buffer, used, unit, core);
		}
	}
	return more ? used + sysfs_emit_at(buffer, used, "more %u\n", more) : used;
}

ssize_t tacet_pico_show(char *buffer)
{
	const struct tacet_pico_unit *unit;
	ssize_t used = 0;
	unsigned int i;

	if (mutex_lock_interruptible(&tacet_control_lock))
		return -EINTR;
	used = sysfs_emit(buffer, "partition %s\n",
			  tacet_partition.state == TACET_PARTITION_UP ? "up" : "none");
	for (i = 0; (unit = tacet_pico_slot(i)); i++)
		if (unit->device)
			used = device_line(buffer, used, unit);
	used = tacet_grants_show(buffer, used, name);
	used = queue_lines(buffer, used);
	mutex_unlock(&tacet_control_lock);
	return used;
}
