// SPDX-License-Identifier: GPL-2.0
/*
 * What Linux said about the partition's CPUs while it had them: the texts of its own files,
 * by CPU and name.
 *
 * partition/topology.c writes it before the CPUs leave Linux and frees it when they are
 * back; view/ reads it at any time. Calls base/text.c only. Sleeps.
 */
#include <linux/rwsem.h>
#include <linux/slab.h>

#include "base/facts.h"
#include "tacet.h"

LIST_HEAD(tacet_facts);			/* changed with the control lock and facts_lock */
static DECLARE_RWSEM(facts_lock);

/* Copies @text. */
int tacet_fact_add(unsigned int cpu, const char *name, const struct tacet_text *text)
{
	struct tacet_fact *fact = kzalloc(sizeof(*fact), GFP_KERNEL);

	lockdep_assert_held(&tacet_control_lock);
	if (!fact)
		return -ENOMEM;
	fact->cpu = cpu;
	strscpy(fact->name, name, sizeof(fact->name));
	if (tacet_text_append(&fact->text, text->start, text->bytes)) {
		kfree(fact);
		return -ENOMEM;
	}
	down_write(&facts_lock);
	list_add_tail(&fact->link, &tacet_facts);
	up_write(&facts_lock);
	return 0;
}

/* Appends what Linux said. -ENOENT: it said nothing. */
int tacet_fact_print(unsigned int cpu, const char *name, struct tacet_text *into)
{
	const struct tacet_fact *fact;
	int error = -ENOENT;

	down_read(&facts_lock);
	list_for_each_entry(fact, &tacet_facts, link) {
		if (fact->cpu != cpu || strcmp(fact->name, name))
			continue;
		error = tacet_text_append(into, fact->text.start, fact->text.bytes);
		break;
	}
	up_read(&facts_lock);
	return error;
}

void tacet_facts_free(void)
{
	struct tacet_fact *fact, *next;

	lockdep_assert_held(&tacet_control_lock);
	down_write(&facts_lock);
	list_for_each_entry_safe(fact, next, &tacet_facts, link) {
		list_del(&fact->link);
		tacet_text_free(&fact->text);
		kfree(fact);
	}
	up_write(&facts_lock);
}
