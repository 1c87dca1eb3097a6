/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The size and the place of the area behind TACET_PICO_BASE. devices.c alone calls this, with
 * the control lock held; pico.h has the rest of area.c.
 */
#ifndef TACET_PICO_AREA_H
#define TACET_PICO_AREA_H

#include <linux/types.h>

size_t tacet_pico_area_bytes(unsigned int units, unsigned int cores, unsigned int spaces);
void tacet_pico_area_place(void *memory, unsigned int units, unsigned int cores);

#endif
