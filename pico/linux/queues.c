// SPDX-License-Identifier: GPL-2.0
/*
 * The life of one core's queue at one device, which its epoch tells the core (pico.h); at the end
 * the same for all cores.
 *
 *	                  _make                    _stop
 *	 0 or odd: none --------> even: usable ----------> odd: stopping
 *	       ^                      ^                       |     |
 *	       |                      '------- _make ---------'     |
 *	       '--------------------- _dead: plus 2 ----------------'
 *
 * Called by devices.c, with the control lock held; _stop and _await also where Linux resets the
 * device, in any context.
 */
#include <linux/delay.h>
#include <linux/mm.h>

#include "pico/linux/pico.h"
#include "tacet.h"

/* A core rings within microseconds. One that does not look up for so long hangs or is dead, and a
 * ring of it does no harm: the queue is about to be deleted. */
#define RINGING_PATIENCE_US 100000

static bool usable(u32 epoch)
{
	return epoch && !(epoch & 1);
}

void tacet_pico_queue_stop(struct tacet_pico_unit *unit, unsigned int core)
{
	struct tacet_pico_queue *queue = tacet_pico_queue(unit->index, core);
	u32 epoch = READ_ONCE(queue->epoch);

	/* Linux may reset the device while we stop it. */
	while (usable(epoch) && !try_cmpxchg(&queue->epoch, &epoch, epoch + 1))
		cpu_relax();
	/* Pairs with the core, which writes `ringing` before it reads the epoch. */
	smp_mb();
}

/* The core is not, or not any more, about to ring. */
void tacet_pico_queue_await(struct tacet_pico_unit *unit, unsigned int core)
{
	struct tacet_pico_queue *queue = tacet_pico_queue(unit->index, core);
	unsigned int us;

	for (us = 0; us < RINGING_PATIENCE_US && tacet_partition.cores[core].started; us++) {
		if (!smp_load_acquire(&queue->ringing))
			return;
		udelay(1);
	}
}

/* The device uses nothing of the stopped queue any more; there is no new one. */
void tacet_pico_queue_dead(struct tacet_pico_unit *unit, unsigned int core)
{
	struct tacet_pico_queue *queue = tacet_pico_queue(unit->index, core);

	clear_bit(core, unit->made);
	if (queue->epoch)
		smp_store_release(&queue->epoch, queue->epoch + 2);
}

/* The slot gets another device. */
void tacet_pico_queue_forget_counts(unsigned int unit, unsigned int core)
{
	struct tacet_pico_queue *queue = tacet_pico_queue(unit, core);

	queue->calls = queue->commands = queue->read_bytes = queue->written_bytes = 0;
	queue->most_calls = 0;
	memset(queue->fallbacks, 0, sizeof(queue->fallbacks));
}

/* A new queue. The device uses nothing of an earlier one. */
int tacet_pico_queue_make(struct tacet_pico_unit *unit, unsigned int core)
{
	struct tacet_pico_queue *queue = tacet_pico_queue(unit->index, core);
	void *rings = tacet_pico_rings(unit->index, core);
	int error;

	memset(rings, 0, TACET_PICO_LISTS * PAGE_SIZE);
	queue->submissions = tacet_pico_for_cores(rings);
	queue->completions = tacet_pico_for_cores(rings + PAGE_SIZE);
	queue->lists = tacet_pico_for_cores(rings + TACET_PICO_LISTS * PAGE_SIZE);
	queue->lists_device = tacet_pico_for_device(unit, rings + TACET_PICO_LISTS * PAGE_SIZE);
	WRITE_ONCE(queue->wants_end, 0);
	error = unit->operations->make(unit, core);
	if (!error || error == -EIO)
		set_bit(core, unit->made);
	if (error)
		return error;
	/* from 0 to 2, else from odd to even: commands of earlier epochs are dead */
	smp_store_release(&queue->epoch, queue->epoch ? queue->epoch + 1 : 2);
	return 0;
}

/* The queues of all cores; a core without one forwards. How many have one. */
unsigned int tacet_pico_queues_make(struct tacet_pico_unit *unit)
{
	unsigned int core, made = 0;

	for (core = 0; core < tacet_partition.core_count; core++)
		made += !tacet_pico_queue_make(unit, core);
	return made;
}

void tacet_pico_queues_stop(struct tacet_pico_unit *unit)
{
	unsigned int core;

	for (core = 0; core < tacet_partition.core_count; core++)
		tacet_pico_queue_stop(unit, core);
	for (core = 0; core < tacet_partition.core_count; core++)
		tacet_pico_queue_await(unit, core);
}

/* The queues are stopped. If the device may still use memory the partition keeps all of its own. */
void tacet_pico_queues_end(struct tacet_pico_unit *unit)
{
	unsigned int core;

	for (core = 0; core < tacet_partition.core_count; core++) {
		/* One that we have not made, or that a reset has ended, may be Linux's by now. */
		if (test_bit(core, unit->made) && unit->operations->end(unit, core)) {
			tacet_report(TACET_LOG_FATAL,
				     "%s: does not delete a queue: the partition's memory is not given back",
				     dev_name(unit->device));
			tacet_partition.unproven = true;
			continue;
		}
		tacet_pico_queue_dead(unit, core);
	}
}

void tacet_pico_queues_dead(struct tacet_pico_unit *unit)
{
	unsigned int core;

	for (core = 0; core < tacet_partition.core_count; core++)
		tacet_pico_queue_dead(unit, core);
}
