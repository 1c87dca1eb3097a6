/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A grant, and the list of them. grants.c, granted.c, positions.c and calls.c include this.
 */
#ifndef TACET_PICO_GRANTED_H
#define TACET_PICO_GRANTED_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <tacet/pico.h>

#include "tacet.h"

struct address_space;
struct file;
struct files_struct;
struct gendisk;
struct inode;
struct pid;
struct tacet_claim;
struct tacet_pico_grant;
struct tacet_space_shared;

struct granted {
	struct list_head link;
	struct tacet_pico_grant *shared;
	struct tacet_space_shared *space;
	const struct files_struct *table;	/* not referenced: only compared */
	struct file *file;		/* not referenced: closing it revokes */
	struct inode *inode;		/* of the block device, referenced */
	struct address_space *pages;	/* of that */
	const struct gendisk *disk;
	bool holds;			/* a use of the disk's queue of requests, as a request does */
	unsigned long revoked_at;	/* jiffies */
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

/* grants.c: the lock is held. @state: REVOKED, or ENDED. */
void tacet_granted_revoke(struct granted *granted, enum tacet_pico_grant_state state);

/* quiet.c; the second sleeps. _let_go: the lock is held */
void tacet_grants_quiet_soon(void);
void tacet_grants_quiet_end(void);
void tacet_granted_let_go(struct granted *granted);

/* enter.c */
extern bool tacet_grants_open;

/* granted.c: for each grant that is not free, with its lock held. Any context. */
void tacet_grants_each(void (*work)(struct granted *granted, void *what), void *what);

/* Revoked, and no core uses it; with @all even so. */
static inline bool tacet_granted_over(const struct granted *granted, bool all)
{
	return granted->shared->state != TACET_PICO_GRANT_VALID &&
	       (all || !READ_ONCE(granted->shared->using));
}

/* positions.c: do not sleep. _revoked: of grants that are over. */
void tacet_positions_settle_revoked(bool all);
void tacet_positions_settle_all(void);
void tacet_positions_before_call(struct tacet_space *space, const struct pt_regs *regs, long number);
void tacet_positions_after_call(struct tacet_space *space, const struct pt_regs *regs, long number);

#endif
