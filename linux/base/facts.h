/* SPDX-License-Identifier: GPL-2.0 */
/* What Linux said about the partition's CPUs while it had them. */
#ifndef TACET_BASE_FACTS_H
#define TACET_BASE_FACTS_H

#include <linux/list.h>

#include "base/text.h"

/* One of Linux's files about @cpu; @name is below the CPU's directory. */
struct tacet_fact {
	struct list_head link;
	unsigned int cpu;
	char name[48];
	struct tacet_text text;
};

int tacet_fact_add(struct list_head *facts, unsigned int cpu, const char *name, const struct tacet_text *text);
void tacet_facts_adopt(struct list_head *facts);
int tacet_fact_print(unsigned int cpu, const char *name, struct tacet_text *into);
void tacet_facts_free(struct list_head *facts);

/* Those of all CPUs, for the thread with the control lock. */
extern struct list_head tacet_facts;

#endif
