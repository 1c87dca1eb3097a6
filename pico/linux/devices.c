// SPDX-License-Identifier: GPL-2.0
/*
 * The life of devices with a fast path:
 *
 *	waiting -- it works --> open -- Linux resets it --> lost -- it works --> open, with new queues
 *	   '---- its driver -----'
 *
 * Devices are found when a partition starts, and whenever a driver gets one meanwhile; they are
 * closed at its end or when Linux takes the driver away.
 *
 * Called by partition/, with the control lock held. All that Linux does with its devices goes
 * on meanwhile.
 */
#include <linux/ratelimit.h>
#include <linux/workqueue.h>

#include "border/border.h"
#include "compat.h"
#include "pico/linux/area.h"
#include "pico/linux/grants.h"
#include "pico/linux/pages.h"
#include "pico/linux/pico.h"
#include "pico/linux/probes.h"
#include "pico/linux/slots.h"
#include "tacet.h"

#define LOOK_JIFFIES (HZ / 5)

const struct tacet_pico_operations *const tacet_pico_kinds[TACET_PICO_KINDS] = {
	&tacet_nvme_virtual_operations, &tacet_nvme_operations };
static unsigned int open_of_kind[TACET_PICO_KINDS];

static bool begun;	/* devices are looked after */

static void look(struct work_struct *work);
static DECLARE_DELAYED_WORK(looking, look);

int tacet_pico_init(void)
{
	unsigned int kind;
	int error = 0;

	tacet_space_tell(tacet_grants_revoke_space);
	for (kind = 0; kind < TACET_PICO_KINDS && !error; kind++)
		error = tacet_pico_kinds[kind]->init();
	if (!error)
		return 0;
	for (kind--; kind; kind--)
		tacet_pico_kinds[kind - 1]->exit();
	return error;
}

void tacet_pico_exit(void)
{
	unsigned int kind;

	for (kind = 0; kind < TACET_PICO_KINDS; kind++)
		tacet_pico_kinds[kind]->exit();
}

static int begin_kind(unsigned int kind)
{
	int error = open_of_kind[kind] ? 0 : tacet_pico_kinds[kind]->begin();

	if (!error)
		open_of_kind[kind]++;
	return error;
}

static void finish_kind(unsigned int kind)
{
	if (!--open_of_kind[kind])
		tacet_pico_kinds[kind]->finish();
}

static void close_unit(struct tacet_pico_unit *unit)
{
	if (!unit->open)
		return;
	tacet_grants_revoke_device(unit->index);
	tacet_pico_queues_stop(unit);
	tacet_pico_queues_end(unit);
	tacet_grants_quiet_device(unit->index);
	unit->operations->close(unit);
	unit->shared->kind = TACET_PICO_NONE;
	if (!tacet_partition.unproven)
		tacet_pico_unmap(unit);
	WRITE_ONCE(unit->open, false);
	finish_kind(unit->kind);
}

static int open_and_map(struct tacet_pico_unit *unit)
{
	int error = unit->operations->open(unit);

	if (error)
		return error;
	error = tacet_pico_map(unit);
	if (!error)
		return 0;
	tacet_pico_refuse(unit->device, "its IOMMU does not map the partition's memory");
	unit->operations->close(unit);
	return error;
}

/* -EAGAIN: it does not work now. Other errors: it has no fast path as long as it has this driver. */
static int open_unit(struct tacet_pico_unit *unit)
{
	int error = begin_kind(unit->kind);
	unsigned int made;

	if (error)
		return error;
	unit->shared = &tacet_pico_area()->devices[unit->index];
	error = open_and_map(unit);
	if (error) {
		finish_kind(unit->kind);
		return error;
	}
	unit->lost = unit->over = unit->off = false;
	WRITE_ONCE(unit->open, true);
	unit->shared->kind = unit->operations->kind;
	made = tacet_pico_queues_make(unit);
	if (made) {
		unit->refusal[0] = 0;
		tacet_report(TACET_LOG_INFO, "%s: fast path for %s, on %u of %u CPUs", dev_name(unit->device),
			     unit->operations->name, made, tacet_partition.core_count);
		return 0;
	}
	tacet_pico_refuse(unit->device, "it refuses another queue");
	close_unit(unit);
	return -EIO;
}

/* Memory that a core or the device may still use for an earlier one is not used again. */
static void try_to_open(struct tacet_pico_unit *unit)
{
	if (!tacet_partition.unproven && !tacet_grants_of_device(unit->index))
		unit->waiting = open_unit(unit) == -EAGAIN;
}

/* A step of the start: cannot fail. */
int tacet_pico_open(struct tacet_up *request)
{
	struct tacet_pico_unit *unit;
	unsigned int i;

	lockdep_assert_held(&tacet_control_lock);
	if (!tacet_pico_area())
		return 0;
	if (tacet_pages_watch())
		return 0;
	tacet_grants_begin();
	begun = true;
	for (i = 0; (unit = tacet_pico_slot(i)); i++)
		if (unit->device)
			try_to_open(unit);
	queue_delayed_work(tacet_workqueue, &looking, LOOK_JIFFIES);
	return 0;
}

/* The cores have stopped. */
void tacet_pico_close(void)
{
	struct tacet_pico_unit *unit;
	unsigned int i;

	lockdep_assert_held(&tacet_control_lock);
	if (!begun)
		return;
	cancel_delayed_work_sync(&looking);
	for (i = 0; (unit = tacet_pico_slot(i)); i++)
		close_unit(unit);
	tacet_grants_end();
	tacet_pages_unwatch();
	begun = false;
}

static void lose(struct tacet_pico_unit *unit)
{
	tacet_pico_queues_stop(unit);
	WRITE_ONCE(unit->off, false);
	WRITE_ONCE(unit->lost, true);
}

/* The open device that its driver knows by @key, or NULL. Any context. */
static struct tacet_pico_unit *unit_of(const void *key)
{
	struct tacet_pico_unit *unit;
	unsigned int i;

	for (i = 0; (unit = tacet_pico_slot(i)); i++)
		if (READ_ONCE(unit->open) && unit->key == key)
			return unit;
	return NULL;
}

/* Linux is about to reset a device, which ends all of its queues. Any context. */
void tacet_pico_lost(void *key)
{
	struct tacet_pico_unit *unit = unit_of(key);

	if (unit)
		lose(unit);
}

/*
 * Linux has had a device off that it resets, and switches it on now. Any context. Linux may say that a
 * device works while it has yet to switch it off, so only this tells that the device has forgotten our
 * commands.
 */
void tacet_pico_off(void *key)
{
	struct tacet_pico_unit *unit = unit_of(key);

	if (unit && READ_ONCE(unit->lost) && unit->operations->silent(unit))
		WRITE_ONCE(unit->off, true);
}

/* A queue of which a core says that a command is not done, or for which Linux waits. False: the device
 * still has it, and is asked again. */
static bool renew_queue(struct tacet_pico_unit *unit, unsigned int core)
{
	if (READ_ONCE(tacet_pico_queue(unit->index, core)->in_flight))
		tacet_report(TACET_LOG_WARNING, "%s: a command of CPU %u is not done: new queue",
			     dev_name(unit->device), tacet_partition.cores[core].cpu);
	tacet_pico_queue_stop(unit, core);
	tacet_pico_queue_await(unit, core);
	if (test_bit(core, unit->made) && unit->operations->end(unit, core))
		return false;
	clear_bit(core, unit->made);
	if (tacet_pico_queue_make(unit, core))
		tacet_pico_queue_dead(unit, core);
	return true;
}

/* A core that has used a revoked grant for long hangs, or its device does. */
static void renew_queues(struct tacet_pico_unit *unit)
{
	bool late = tacet_grants_late(unit->index), ended = true;
	unsigned int core;

	for (core = 0; core < tacet_partition.core_count; core++)
		if (late || READ_ONCE(tacet_pico_queue(unit->index, core)->wants_end))
			ended &= renew_queue(unit, core);
	if (late && ended)
		tacet_grants_quiet_device(unit->index);
}

static void recover(struct tacet_pico_unit *unit)
{
	tacet_report(TACET_LOG_INFO, "%s: Linux has reset it: new queues", dev_name(unit->device));
	unit->over = unit->off = false;
	WRITE_ONCE(unit->lost, false);
	tacet_pico_queues_stop(unit);	/* one was perhaps being made when the reset began */
	tacet_pico_queues_dead(unit);
	if (tacet_pico_queues_make(unit))
		return;
	close_unit(unit);
	unit->waiting = true;
}

static void look_after(struct tacet_pico_unit *unit)
{
	if (unit->waiting)
		try_to_open(unit);
	if (!unit->open)
		return;
	/* It may fall silent without a word: a virtual function when Linux resets the physical one. */
	if (!unit->lost && unit->operations->silent(unit))
		lose(unit);
	if (unit->lost && !unit->over && (READ_ONCE(unit->off) || unit->operations->silent(unit))) {
		tacet_pico_queues_dead(unit);
		tacet_grants_quiet_device(unit->index);
		unit->over = true;
	}
	if (!unit->operations->works(unit))
		return;
	if (unit->lost) {
		/* Linux says so of one that it is about to switch off, too. */
		if (unit->over)
			recover(unit);
		return;
	}
	renew_queues(unit);
}

/* Nobody would hear what ends a grant: there are none until Linux tells again. */
static void deaf(void)
{
	static DEFINE_RATELIMIT_STATE(reports, 60 * HZ, 1);

	tacet_grants_stop();
	if (__ratelimit(&reports))
		tacet_report(TACET_LOG_WARNING,
			     "devices: Linux's function tracer does not answer: cores forward all calls");
}

/* The work is waited for with the control lock held: it only tries to take it. */
static void look(struct work_struct *work)
{
	struct tacet_pico_unit *unit;
	unsigned int i;

	if (mutex_trylock(&tacet_control_lock)) {
		if (tacet_probes_work())
			tacet_grants_begin();
		else
			deaf();
		tacet_pico_slots_look();
		for (i = 0; (unit = tacet_pico_slot(i)); i++)
			if (unit->device)
				look_after(unit);
		tacet_grants_look();
		mutex_unlock(&tacet_control_lock);
	}
	queue_delayed_work(tacet_workqueue, &looking, LOOK_JIFFIES);
}

/* A driver has got @device. Sleeps; takes the control lock. */
void tacet_pico_bound(const struct device *device)
{
	struct tacet_pico_unit *unit;
	unsigned int i;

	mutex_lock(&tacet_control_lock);
	for (i = 0; (unit = tacet_pico_slot(i)); i++)
		if (unit->device && (unit->device == device || unit->files_of == device) && !unit->open)
			unit->waiting = true;
	tacet_pico_slots_come();
	mutex_unlock(&tacet_control_lock);
}

/* Linux takes the driver of @device away. Sleeps; takes the control lock. */
void tacet_pico_unbound(const struct device *device)
{
	struct tacet_pico_unit *unit;
	unsigned int i;

	mutex_lock(&tacet_control_lock);
	for (i = 0; (unit = tacet_pico_slot(i)); i++) {
		if (!unit->device || (unit->device != device && unit->files_of != device))
			continue;
		unit->waiting = false;
		if (unit->open)
			tacet_pico_refuse(unit->device, "Linux took its driver away");
		close_unit(unit);
	}
	mutex_unlock(&tacet_control_lock);
}

/* @device, which has no driver any more, is gone. Sleeps; takes the control lock. */
void tacet_pico_removed(const struct device *device)
{
	struct tacet_pico_unit *unit;
	unsigned int i;

	mutex_lock(&tacet_control_lock);
	for (i = 0; (unit = tacet_pico_slot(i)); i++)
		if (unit->device == device)
			tacet_pico_slot_free(unit);
	mutex_unlock(&tacet_control_lock);
}

/* The device to which @file belongs, and what it says of a grant; NULL: none. The control lock
 * is held. */
struct tacet_pico_unit *tacet_pico_eligible(struct file *file, struct tacet_pico_grant *grant)
{
	struct tacet_pico_unit *unit;
	unsigned int i;

	for (i = 0; (unit = tacet_pico_slot(i)); i++)
		if (unit->open && !unit->lost && unit->operations->eligible(unit, file, grant))
			return unit;
	return NULL;
}
