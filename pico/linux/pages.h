/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What happens to a block device beside the calls on its descriptors. Called by devices.c, with the control lock held; sleep.
 */
#ifndef TACET_PICO_PAGES_H
#define TACET_PICO_PAGES_H

int tacet_pages_watch(void);	/* -errno, after a line that says why */
void tacet_pages_unwatch(void);

#endif
