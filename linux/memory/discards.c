// SPDX-License-Identifier: GPL-2.0
/*
 * Which pages of a range a program has given back past the cores, until a core has discarded them.
 *
 * Called by memory/discard.c, by whoever is about to use the range, and at the range's begin and end. Any
 * context that holds no spinlock.
 */
#include <linux/slab.h>

#include "memory/memory.h"
#include "tacet.h"

/* Pages that were given back, and are to be zero. */
struct discard {
	struct list_head link;
	unsigned long first, pages;	/* of the range */
};

/* There are some, or one is being discarded. */
bool tacet_discards_any(const struct tacet_range *range)
{
	return READ_ONCE(range->discarding);
}

/* If they are the first ones it calls @begin, before anybody can take them. False: no memory. */
bool tacet_discards_add(struct tacet_range *range, unsigned long first, unsigned long pages,
			void (*begin)(struct tacet_range *range))
{
	/* In an MMU notifier nobody may reclaim memory. */
	struct discard *discard = kmalloc(sizeof(*discard), GFP_ATOMIC | __GFP_MEMALLOC | __GFP_NOWARN);

	if (!discard)
		return false;
	discard->first = first;
	discard->pages = pages;
	spin_lock(&range->discards_lock);
	list_add_tail(&discard->link, &range->discards);
	if (!range->discarding)
		begin(range);
	WRITE_ONCE(range->discarding, true);
	spin_unlock(&range->discards_lock);
	return true;
}

/* The next ones. False: all that were taken are discarded, and there are no more: it has called @end. */
bool tacet_discards_take(struct tacet_range *range, unsigned long *first, unsigned long *pages,
			 void (*end)(struct tacet_range *range))
{
	struct discard *discard;

	spin_lock(&range->discards_lock);
	discard = list_first_entry_or_null(&range->discards, struct discard, link);
	if (discard) {
		list_del(&discard->link);
	} else {
		WRITE_ONCE(range->discarding, false);
		end(range);
	}
	spin_unlock(&range->discards_lock);
	if (!discard)
		return false;
	*first = discard->first;
	*pages = discard->pages;
	kfree(discard);
	return true;
}

void tacet_discards_init(struct tacet_range *range)
{
	spin_lock_init(&range->discards_lock);
	INIT_LIST_HEAD(&range->discards);
}

/* Of a range that ends. */
void tacet_discards_free(struct tacet_range *range)
{
	struct discard *discard, *next;

	list_for_each_entry_safe(discard, next, &range->discards, link)
		kfree(discard);
}
