// SPDX-License-Identifier: GPL-2.0
/*
 * The list of grants that are not free. Called by grants.c, which alone changes it, and by
 * positions.c and calls.c; any context.
 */
#include <linux/compiler.h>
#include <linux/pid.h>
#include <linux/sysfs.h>

#include "pico/linux/granted.h"
#include "pico/linux/grants.h"
#include "tacet.h"

LIST_HEAD(tacet_granted);
DEFINE_SPINLOCK(tacet_granted_lock);
unsigned int tacet_granted_count, tacet_granted_revoked;

bool tacet_grants_any(void)
{
	return READ_ONCE(tacet_granted_count);
}

bool tacet_grants_revoked(void)
{
	return READ_ONCE(tacet_granted_revoked);
}

void tacet_grants_each(void (*work)(struct granted *granted, void *what), void *what)
{
	struct granted *granted;
	unsigned long irq;

	if (!tacet_grants_any())
		return;
	spin_lock_irqsave(&tacet_granted_lock, irq);
	list_for_each_entry(granted, &tacet_granted, link)
		work(granted, what);
	spin_unlock_irqrestore(&tacet_granted_lock, irq);
}

struct of {
	unsigned int unit;
	bool found;
};

static void is_of_device(struct granted *granted, void *what)
{
	struct of *of = what;

	of->found |= granted->shared->device == of->unit;
}

/* Whether a grant of the device is not free: a core may use it. */
bool tacet_grants_of_device(unsigned int unit)
{
	struct of of = { .unit = unit };

	tacet_grants_each(is_of_device, &of);
	return of.found;
}

int tacet_grants_show(char *buffer, int used, const char *(*name)(unsigned int device))
{
	static const char *const rights[] = { "none", "r", "w", "rw" };
	struct granted *granted;
	unsigned long irq;

	spin_lock_irqsave(&tacet_granted_lock, irq);
	list_for_each_entry(granted, &tacet_granted, link) {
		const struct tacet_pico_grant *shared = granted->shared;

		if (used > PAGE_SIZE / 2)
			break;
		used += sysfs_emit_at(buffer, used,
				      "grant %d descriptor %d device %s namespace %u block %u first %llu count %llu rights %s %s using %u\n",
				      pid_nr(granted->process), shared->descriptor, name(shared->device),
				      shared->namespace_id, 1u << shared->block_shift, shared->first,
				      shared->count, rights[shared->rights & 3],
				      shared->state == TACET_PICO_GRANT_VALID ? "valid" : "revoked",
				      READ_ONCE(shared->using));
	}
	spin_unlock_irqrestore(&tacet_granted_lock, irq);
	return used;
}
