/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The slots of devices with fast paths. The files of this folder include this.
 */
#ifndef TACET_PICO_SLOTS_H
#define TACET_PICO_SLOTS_H

struct tacet_pico_operations;
struct tacet_pico_unit;

/* devices.c. A disk of two devices is served by the first. */
#define TACET_PICO_KINDS 2u
extern const struct tacet_pico_operations *const tacet_pico_kinds[TACET_PICO_KINDS];

/* slots.c; the control lock is held but for _come, which any context may call. _look sleeps. */
struct tacet_pico_unit *tacet_pico_slot(unsigned int index);
void tacet_pico_slots_come(void);
void tacet_pico_slots_look(void);
void tacet_pico_slot_free(struct tacet_pico_unit *unit);

#endif
