// SPDX-License-Identifier: GPL-2.0
/*
 * The life of devices with a fast path: found and opened when a partition starts, closed at its
 * end or when Linux takes the driver away; stopped and opened again when Linux resets one.
 *
 * Called by partition/, with the control lock held. All that Linux does with its devices goes
 * on meanwhile. A device that is added later has no fast path.
 */
#include <linux/moduleparam.h>
#include <linux/workqueue.h>

#include "border/border.h"
#include "compat.h"
#include "pico/linux/area.h"
#include "pico/linux/grants.h"
#include "pico/linux/pages.h"
#include "pico/linux/pico.h"
#include "tacet.h"

#define LOOK_JIFFIES (HZ / 5)

/* At the next start of a partition devices get fast paths. */
static bool fast_paths;
module_param(fast_paths, bool, 0644);

/* A disk of two devices is served by the first. */
static const struct tacet_pico_operations *const kinds[] = {
	&tacet_nvme_virtual_operations, &tacet_nvme_operations };
static bool kind_begun[ARRAY_SIZE(kinds)];

static struct tacet_pico_unit units[TACET_PICO_DEVICES];
static unsigned int unit_count;
static bool begun;	/* devices are looked after */

static void look(struct work_struct *work);
static DECLARE_DELAYED_WORK(looking, look);

/* The device of this number, NULL: there are no more. The control lock is held. */
const struct tacet_pico_unit *tacet_pico_unit(unsigned int index)
{
	return tacet_pico_area() && index < unit_count ? &units[index] : NULL;
}

/* For people, in Linux's log and in the file of text.c. The control lock is held. */
void tacet_pico_refuse(const struct device *device, const char *format, ...)
{
	char why[TACET_PICO_REFUSAL];
	unsigned int i;
	va_list values;

	va_start(values, format);
	vscnprintf(why, sizeof(why), format, values);
	va_end(values);
	tacet_report(TACET_LOG_INFO, "%s: no fast path: %s", dev_name(device), why);
	for (i = 0; i < unit_count; i++)
		if (units[i].device == device)
			strscpy(units[i].refusal, why, sizeof(units[i].refusal));
}

int tacet_pico_init(void)
{
	unsigned int kind;
	int error = 0;

	tacet_space_tell(tacet_grants_space_gone);
	for (kind = 0; kind < ARRAY_SIZE(kinds) && !error; kind++)
		error = kinds[kind]->init();
	if (!error)
		return 0;
	for (kind--; kind; kind--)
		kinds[kind - 1]->exit();
	return error;
}

void tacet_pico_exit(void)
{
	unsigned int kind;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++)
		kinds[kind]->exit();
}

static void find_devices(const struct tacet_pico_operations *operations)
{
	struct device *device = NULL;

	while ((device = operations->next(device))) {
		if (unit_count == TACET_PICO_DEVICES) {
			tacet_report(TACET_LOG_INFO, "%s: no fast path: %u other devices have one",
				     dev_name(device), unit_count);
			continue;
		}
		units[unit_count] = (struct tacet_pico_unit){
			.operations = operations, .device = get_device(device), .index = unit_count };
		unit_count++;
	}
}

/* Finds the devices. 0: there are none, or they are not wanted. Else how many bytes of the first block they
 * need. */
size_t tacet_pico_find(unsigned int cores, unsigned int spaces)
{
	unsigned int kind;

	lockdep_assert_held(&tacet_control_lock);
	if (!READ_ONCE(fast_paths))
		return 0;
	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++)
		find_devices(kinds[kind]);
	return unit_count ? tacet_pico_area_bytes(unit_count, cores, spaces) : 0;
}

/* @memory: as many zeroed bytes, or NULL. */
void tacet_pico_place(void *memory)
{
	if (!memory) {
		tacet_report(TACET_LOG_INFO, "the first block has no room for fast paths of devices");
		tacet_pico_forget();
		return;
	}
	tacet_pico_area_place(memory, unit_count, tacet_partition.core_count);
}

void tacet_pico_forget(void)
{
	lockdep_assert_held(&tacet_control_lock);
	while (unit_count)
		put_device(units[--unit_count].device);
	tacet_pico_area_place(NULL, 0, 0);
}

/* The queues of all cores; a core without one forwards. False: no core has one. */
static bool make_queues(struct tacet_pico_unit *unit)
{
	unsigned int core, made = 0;

	for (core = 0; core < tacet_partition.core_count; core++)
		made += !tacet_pico_queue_make(unit, core);
	return made;
}

static void stop_queues(struct tacet_pico_unit *unit)
{
	unsigned int core;

	for (core = 0; core < tacet_partition.core_count; core++)
		tacet_pico_queue_stop(unit, core);
	for (core = 0; core < tacet_partition.core_count; core++)
		tacet_pico_queue_await(unit, core);
}

/* The queues are stopped. If the device may still use memory the partition keeps all of its own. */
static void end_queues(struct tacet_pico_unit *unit)
{
	unsigned int core;

	for (core = 0; core < tacet_partition.core_count; core++) {
		if (!tacet_pico_queue(unit->index, core)->epoch)
			continue;
		if (unit->operations->end(unit, core)) {
			tacet_report(TACET_LOG_FATAL,
				     "%s: does not delete a queue: the partition's memory is not given back",
				     dev_name(unit->device));
			tacet_partition.unproven = true;
			continue;
		}
		tacet_pico_queue_dead(unit, core);
	}
}

static void close_unit(struct tacet_pico_unit *unit)
{
	if (!unit->open)
		return;
	tacet_grants_revoke_device(unit->index);
	stop_queues(unit);
	end_queues(unit);
	unit->operations->close(unit);
	unit->shared->kind = TACET_PICO_NONE;
	if (!tacet_partition.unproven)
		tacet_pico_unmap(unit);
	WRITE_ONCE(unit->open, false);
}

static void open_unit(struct tacet_pico_unit *unit)
{
	unit->shared = &tacet_pico_area()->devices[unit->index];
	if (tacet_pico_map(unit)) {
		tacet_pico_refuse(unit->device, "its IOMMU does not map the partition's memory");
		return;
	}
	if (unit->operations->open(unit)) {
		tacet_pico_unmap(unit);
		return;
	}
	WRITE_ONCE(unit->open, true);
	unit->shared->kind = unit->operations->kind;
	if (make_queues(unit)) {
		tacet_report(TACET_LOG_INFO, "%s: fast path for %s", dev_name(unit->device),
			     unit->operations->name);
		return;
	}
	tacet_pico_refuse(unit->device, "it refuses another queue");
	close_unit(unit);
}

static void open_kind(unsigned int kind)
{
	unsigned int i;

	kind_begun[kind] = !kinds[kind]->begin();
	for (i = 0; i < unit_count && kind_begun[kind]; i++)
		if (units[i].operations == kinds[kind])
			open_unit(&units[i]);
}

/* A step of the start: cannot fail. */
int tacet_pico_open(struct tacet_up *request)
{
	unsigned int kind;

	lockdep_assert_held(&tacet_control_lock);
	if (!tacet_pico_area())
		return 0;
	if (tacet_pages_watch())
		return 0;
	tacet_grants_begin();
	begun = true;
	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++)
		open_kind(kind);
	queue_delayed_work(tacet_workqueue, &looking, LOOK_JIFFIES);
	return 0;
}

/* The cores have stopped. */
void tacet_pico_close(void)
{
	unsigned int i, kind;

	lockdep_assert_held(&tacet_control_lock);
	if (!begun)
		return;
	cancel_delayed_work_sync(&looking);
	for (i = 0; i < unit_count; i++)
		close_unit(&units[i]);
	tacet_grants_end();
	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++)
		if (kind_begun[kind])
			kinds[kind]->finish();
	tacet_pages_unwatch();
	begun = false;
}

static void lose(struct tacet_pico_unit *unit)
{
	stop_queues(unit);
	WRITE_ONCE(unit->lost, true);
}

/* Linux is about to reset a device, which ends all of its queues. Any context. */
void tacet_pico_lost(void *key)
{
	unsigned int i;

	for (i = 0; i < TACET_PICO_DEVICES; i++) {
		struct tacet_pico_unit *unit = &units[i];

		if (READ_ONCE(unit->open) && unit->key == key)
			lose(unit);
	}
}

static void bury_queues(struct tacet_pico_unit *unit)
{
	unsigned int core;

	for (core = 0; core < tacet_partition.core_count; core++)
		tacet_pico_queue_dead(unit, core);
}

/* A queue of which a core says that a command is not done. */
static void renew_queue(struct tacet_pico_unit *unit, unsigned int core)
{
	tacet_report(TACET_LOG_WARNING, "%s: a command of CPU %u is not done: new queue",
		     dev_name(unit->device), tacet_partition.cores[core].cpu);
	tacet_pico_queue_stop(unit, core);
	tacet_pico_queue_await(unit, core);
	if (unit->operations->end(unit, core))
		return;		/* it is asked again */
	if (tacet_pico_queue_make(unit, core))
		tacet_pico_queue_dead(unit, core);
}

static void look_after(struct tacet_pico_unit *unit)
{
	unsigned int core;

	/* It may fall silent without a word: a virtual function when Linux resets the physical one. */
	if (unit->open && !unit->lost && unit->operations->silent(unit))
		lose(unit);
	if (unit->open && unit->lost && !unit->over && unit->operations->silent(unit)) {
		bury_queues(unit);
		unit->over = true;
	}
	if (!unit->open || !unit->operations->works(unit))
		return;
	if (unit->lost) {
		tacet_report(TACET_LOG_INFO, "%s: Linux has reset it: new queues", dev_name(unit->device));
		unit->over = false;
		WRITE_ONCE(unit->lost, false);
		stop_queues(unit);	/* one was perhaps being made when the reset began */
		if (!make_queues(unit))
			close_unit(unit);
		return;
	}
	for (core = 0; core < tacet_partition.core_count; core++)
		if (READ_ONCE(tacet_pico_queue(unit->index, core)->wants_end))
			renew_queue(unit, core);
}

/* The work is waited for with the control lock held: it only tries to take it. */
static void look(struct work_struct *work)
{
	unsigned int i;

	if (mutex_trylock(&tacet_control_lock)) {
		for (i = 0; i < unit_count && tacet_pico_area(); i++)
			look_after(&units[i]);
		tacet_grants_look();
		mutex_unlock(&tacet_control_lock);
	}
	queue_delayed_work(tacet_workqueue, &looking, LOOK_JIFFIES);
}

/* Linux takes the driver of @device away. Sleeps; takes the control lock. */
void tacet_pico_unbound(struct device *device)
{
	unsigned int i;

	mutex_lock(&tacet_control_lock);
	for (i = 0; i < unit_count; i++) {
		if (units[i].device != device && (!units[i].open || units[i].files_of != device))
			continue;
		if (units[i].open)
			tacet_pico_refuse(units[i].device, "Linux took its driver away; the next `tacet up` looks again");
		close_unit(&units[i]);
	}
	mutex_unlock(&tacet_control_lock);
}

/* The device to which @file belongs, and what it says of a grant; NULL: none. The control lock
 * is held. */
struct tacet_pico_unit *tacet_pico_eligible(struct file *file, struct tacet_pico_grant *grant)
{
	unsigned int i;

	for (i = 0; i < unit_count; i++)
		if (units[i].open && !units[i].lost && units[i].operations->eligible(&units[i], file, grant))
			return &units[i];
	return NULL;
}
