/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Grants: the descriptors of hosted programs on which cores serve reads and writes. delegate/,
 * memory/ and devices.c call this.
 */
#ifndef TACET_PICO_GRANTS_H
#define TACET_PICO_GRANTS_H

#include <linux/types.h>

struct block_device;
struct file;
struct gendisk;
struct mm_struct;
struct pt_regs;
struct tacet_claim;
struct tacet_pico_grant;
struct tacet_space;
struct task_struct;

/* grants.c. The first two sleep, with the control lock held; the others: any context. */
void tacet_grants_begin(void);
void tacet_grants_end(void);
void tacet_grants_stop(void);				/* any context */
void tacet_grants_revoke_device(unsigned int unit);
bool tacet_grants_of_device(unsigned int unit);
void tacet_grants_revoke_space(struct tacet_space *space);
void tacet_grants_revoke_pages(void *pages);
void tacet_grants_revoke_disk(const struct gendisk *disk);
void tacet_grants_quiet_disk(const struct gendisk *disk);
void tacet_grants_quiet_device(unsigned int unit);
bool tacet_grants_late(unsigned int unit);
void tacet_grants_look(void);
void tacet_grants_release(void);				/* sleeps */
bool tacet_grants_revoked(void);				/* some are not released */

/* Ends the grants of the process, whose range is closed: when this returns no device uses memory of
 * the range. Sleeps. */
void tacet_grants_settle(struct mm_struct *mm);

/* text.c: the lines of the grants behind @used, with the devices' names; the control lock is held.
 * How many bytes are used. */
int tacet_grants_show(char *buffer, int used, const char *(*name)(unsigned int device));

/* For the folder's own files. _enter sleeps, in the context of the thread whose @descriptor is
 * @file: it takes over @claim if it returns 0. */
bool tacet_grants_any(void);
bool tacet_grants_own_table(void);
bool tacet_grants_has(const struct tacet_space *space, int descriptor);
int tacet_grants_enter(struct tacet_space *space, int descriptor, struct file *file,
		       struct tacet_claim *claim, const struct tacet_pico_grant *terms);
void tacet_grants_revoke(struct tacet_space *space, int first, int last);
void tacet_grants_revoke_file(const struct file *file);

/* ask.c: sleeps, in the thread's own context, which is about to execute the call in @regs */
void tacet_grant_ask(struct tacet_space *space, const struct pt_regs *regs);

/* calls.c: around a call of the calling task; RCU; do not sleep. @space: if it is hosted, or NULL.
 * True: before the task goes on, tacet_grants_release(). */
void tacet_grants_before_call(struct tacet_space *space, const struct pt_regs *regs, long number);
bool tacet_grants_after_call(struct tacet_space *space, const struct pt_regs *regs, long number);
void tacet_grants_forked(const struct task_struct *child);	/* the same; in its parent */

#endif
