/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of Linux whose entries tell that grants or queues end: probes.c.
 */
#ifndef TACET_PICO_PROBES_H
#define TACET_PICO_PROBES_H

#include <linux/ftrace.h>
#include <linux/types.h>

/* Calls @entered at each entry into Linux's function @symbol, with its first two arguments;
 * @entered does not sleep. */
struct tacet_probe {
	const char *symbol;
	void (*entered)(unsigned long first, unsigned long second);
	unsigned long at;
};

/* Probes that are on or off together. */
struct tacet_probes {
	struct tacet_probe *probes;
	unsigned int count;
	struct ftrace_ops operations;
	struct list_head link;
	unsigned long heard;		/* entries into the function that is there for tests */
	const char *missing;		/* the symbol for which _on has failed, or NULL */
};

/* Sleep, with the control lock held. _on: -errno: this kernel does not tell of one of the functions. */
int tacet_probes_on(struct tacet_probes *probes);
void tacet_probes_off(struct tacet_probes *probes);

/* Whether each of those that are on would be called now. The control lock is held. */
bool tacet_probes_work(void);

#endif
