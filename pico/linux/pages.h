/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes of a block device that do not come by the calls on its descriptors. Called by devices.c, with the
 * control lock held; the functions sleep.
 */
#ifndef TACET_PICO_PAGES_H
#define TACET_PICO_PAGES_H

int tacet_pages_watch(void);	/* -errno, after a line that says why */
void tacet_pages_unwatch(void);

#endif
