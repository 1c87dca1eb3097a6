// SPDX-License-Identifier: GPL-2.0
/*
 * Which device has which slot: a slot is the memory for the queues that the cores have at one
 * device. A partition has more slots than there are devices, if memory suffices, for devices that
 * come later; a device that goes leaves its slot to another one.
 *
 * Called by devices.c, partition/layout.c and text.c, with the control lock held. Must never give
 * away a slot of which a device may still use the memory.
 */
#include <linux/moduleparam.h>

#include "pico/linux/area.h"
#include "pico/linux/grants.h"
#include "pico/linux/pico.h"
#include "pico/linux/slots.h"
#include "tacet.h"

/* Slots that no device has yet take at most this part of the first block. */
#define FREE_SLOTS_PART 16

/* At the next start of a partition devices get fast paths. */
static bool fast_paths;
module_param(fast_paths, bool, 0644);

static struct tacet_pico_unit units[TACET_PICO_DEVICES];
static unsigned int slot_count;
static bool fresh;	/* a device has come, or a slot is free again */

/* The slot of this number, which has no device perhaps; NULL: there are no more. */
struct tacet_pico_unit *tacet_pico_slot(unsigned int index)
{
	return tacet_pico_area() && index < slot_count ? &units[index] : NULL;
}

/* For people, in Linux's log and in the file of text.c; once as long as it stays the same. */
void tacet_pico_refuse(const struct device *device, const char *format, ...)
{
	char why[TACET_PICO_REFUSAL];
	unsigned int i;
	va_list values;

	va_start(values, format);
	vscnprintf(why, sizeof(why), format, values);
	va_end(values);
	for (i = 0; i < slot_count; i++) {
		if (units[i].device != device)
			continue;
		if (!strcmp(units[i].refusal, why))
			return;
		strscpy(units[i].refusal, why, sizeof(units[i].refusal));
	}
	tacet_report(TACET_LOG_INFO, "%s: no fast path: %s", dev_name(device), why);
}

static bool has_slot(const struct device *device)
{
	unsigned int i;

	for (i = 0; i < slot_count; i++)
		if (units[i].device == device)
			return true;
	return false;
}

/* The device is opened when it works. */
static void give(struct device *device, unsigned int kind)
{
	unsigned int i, core;

	for (i = 0; i < slot_count && (units[i].device || tacet_grants_of_device(i)); i++)
		;
	if (i == slot_count) {
		tacet_report(TACET_LOG_INFO, "%s: no fast path: %u other devices have one",
			     dev_name(device), slot_count);
		return;
	}
	units[i] = (struct tacet_pico_unit){ .operations = tacet_pico_kinds[kind], .kind = kind,
		.device = get_device(device), .index = i, .waiting = true };
	for (core = 0; tacet_pico_area() && core < tacet_partition.core_count; core++)
		tacet_pico_queue_forget_counts(i, core);
}

static void find_devices(void)
{
	struct device *device = NULL;
	unsigned int kind;

	for (kind = 0; kind < TACET_PICO_KINDS; kind++)
		while ((device = tacet_pico_kinds[kind]->next(device)))
			if (!has_slot(device))
				give(device, kind);
	fresh = false;
}

/* A device of a kind that may have a fast path has got its driver. */
void tacet_pico_slots_come(void)
{
	fresh = true;
}

/* Gives slots to devices that have come. */
void tacet_pico_slots_look(void)
{
	if (fresh && !tacet_partition.unproven)
		find_devices();
}

/* The device of the slot is closed, and is gone. */
void tacet_pico_slot_free(struct tacet_pico_unit *unit)
{
	put_device(unit->device);
	unit->device = NULL;
	unit->waiting = false;
	fresh = true;
}

/* Finds the devices. 0: fast paths are not wanted, or there is no room. Else how many bytes of the first block,
 * which has @block_bytes, they and the free slots need. */
size_t tacet_pico_find(unsigned int cores, unsigned int spaces, size_t block_bytes)
{
	unsigned int found = 0;
	size_t bytes;

	lockdep_assert_held(&tacet_control_lock);
	if (!READ_ONCE(fast_paths))
		return 0;
	slot_count = TACET_PICO_DEVICES;
	find_devices();
	while (found < slot_count && units[found].device)
		found++;
	for (; ; slot_count--) {
		bytes = tacet_pico_area_bytes(slot_count, cores, spaces);
		if (slot_count <= max(found, 1u) || (bytes && bytes <= block_bytes / FREE_SLOTS_PART))
			return bytes;
	}
}

/* @memory: as many zeroed bytes, or NULL. */
void tacet_pico_place(void *memory)
{
	if (!memory) {
		tacet_report(TACET_LOG_INFO, "the first block has no room for fast paths of devices");
		tacet_pico_forget();
		return;
	}
	tacet_pico_area_place(memory, slot_count, tacet_partition.core_count);
}

void tacet_pico_forget(void)
{
	lockdep_assert_held(&tacet_control_lock);
	for (; slot_count; slot_count--) {
		put_device(units[slot_count - 1].device);
		units[slot_count - 1].device = NULL;
	}
	tacet_pico_area_place(NULL, 0, 0);
}
