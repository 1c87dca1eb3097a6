/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A grant, and the list of them. grants.c, granted.c, positions.c and calls.c include this.
 */
#ifndef TACET_PICO_GRANTED_H
#define TACET_PICO_GRANTED_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "tacet.h"

struct address_space;
struct file;
struct gendisk;
struct pid;
struct tacet_claim;
struct tacet_pico_grant;
struct tacet_space_shared;

struct granted {
	struct list_head link;
	struct tacet_pico_grant *shared;
	struct tacet_space_shared *space;
	struct file *file;		/* not referenced: closing it revokes */
	struct address_space *pages;	/* of the block device, which the claim keeps */
	const struct gendisk *disk;
	struct tacet_claim *claim;
	struct pid *process;		/* referenced */
	loff_t given;			/* the file's position when a core got it last */
	bool settled;			/* revoked, and Linux has the position again */
};

/* granted.c: those that are not free, how many, and how many are revoked. The numbers are read
 * without the lock. */
extern struct list_head tacet_granted;
extern spinlock_t tacet_granted_lock;
extern unsigned int tacet_granted_count, tacet_granted_revoked;

/* granted.c: whether a core uses a grant of the disk. Any context. */
bool tacet_grants_used(const struct gendisk *disk);

/* granted.c: for each grant that is not free, with its lock held. Any context. */
void tacet_grants_each(void (*work)(struct granted *granted, void *what), void *what);

/* Revoked, and no core uses it; with @all even so. */
static inline bool tacet_granted_over(const struct granted *granted, bool all)
{
	return granted->shared->state == TACET_PICO_GRANT_REVOKED &&
	       (all || !READ_ONCE(granted->shared->using));
}

/* positions.c: do not sleep. _revoked: of grants that are over. */
void tacet_positions_settle_revoked(bool all);
void tacet_positions_settle_all(void);
void tacet_positions_before_call(struct tacet_space *space, const struct pt_regs *regs, long number);
void tacet_positions_after_call(struct tacet_space *space, const struct pt_regs *regs, long number);

#endif
