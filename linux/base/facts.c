// SPDX-License-Identifier: GPL-2.0
/*
 * What Linux said about the partition's CPUs while it had them: the texts of its own files,
 * by CPU and name.
 *
 * partition/topology.c collects it before the CPUs leave Linux, has it adopted when they do, and
 * frees it when they are back; view/ reads it at any time. Calls base/text.c only. Sleeps.
 */
#include <linux/rwsem.h>
#include <linux/slab.h>

#include "base/facts.h"
#include "tacet.h"

LIST_HEAD(tacet_facts);			/* changed with the control lock and facts_lock */
static DECLARE_RWSEM(facts_lock);

/* Copies @text to the end of @facts, which nobody else has yet. */
int tacet_fact_add(struct list_head *facts, unsigned int cpu, const char *name, const struct tacet_text *text)
{
	struct tacet_fact *fact = kzalloc(sizeof(*fact), GFP_KERNEL);

	if (!fact)
		return -ENOMEM;
	fact->cpu = cpu;
	strscpy(fact->name, name, sizeof(fact->name));
	if (tacet_text_append(&fact->text, text->start, text->bytes)) {
		kfree(fact);
		return -ENOMEM;
	}
	list_add_tail(&fact->link, facts);
	return 0;
}

/* From here on everybody finds them; @facts is empty. */
void tacet_facts_adopt(struct list_head *facts)
{
	lockdep_assert_held(&tacet_control_lock);
	down_write(&facts_lock);
	list_splice_tail_init(facts, &tacet_facts);
	up_write(&facts_lock);
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

/* Of the partition's own with the control lock. */
void tacet_facts_free(struct list_head *facts)
{
	struct tacet_fact *fact, *next;

	down_write(&facts_lock);
	list_for_each_entry_safe(fact, next, facts, link) {
		list_del(&fact->link);
		tacet_text_free(&fact->text);
		kfree(fact);
	}
	up_write(&facts_lock);
}
