/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fast paths of devices, on Linux's side: which devices have one, their queues for the cores,
 * and the grants by which cores may serve calls on a descriptor.
 *
 * partition/ and delegate/ call this folder. It calls border/, arch/ and base/, and the folders
 * of devices (pico/nvme/linux) through struct tacet_pico_operations. Must never make a start of
 * a partition fail: a device without a fast path is served by Linux, and one line says why.
 */
#ifndef TACET_PICO_LINUX_H
#define TACET_PICO_LINUX_H

#include <linux/device.h>

#include <tacet/pico.h>

#include "tacet.h"

struct pt_regs;
struct tacet_pico_unit;

/* What a kind of devices offers. All sleep; with the control lock held but for the first two. */
struct tacet_pico_operations {
	enum tacet_pico_kind kind;
	const char *name;
	const char *word;		/* the kind and the way of sharing, in one word each */
	const char *mode;
	/* The module comes and goes. */
	int (*init)(void);
	void (*exit)(void);
	/* Around all others, while a device of the kind is open. -errno, after a line that says why. */
	int (*begin)(void);
	void (*finish)(void);
	/* The device after @from that may have a fast path, referenced; drops @from. */
	struct device *(*next)(struct device *from);
	/* -errno, after one line that says why: this device has no fast path; -EAGAIN: not now. */
	int (*open)(struct tacet_pico_unit *unit);
	void (*close)(struct tacet_pico_unit *unit);
	/* Makes core @core's queue. Its rings are zeroed. -EIO: it is not known whether the device has it. */
	int (*make)(struct tacet_pico_unit *unit, unsigned int core);
	/* Deletes it. -errno: it is not known that the device leaves its memory alone. */
	int (*end)(struct tacet_pico_unit *unit, unsigned int core);
	/* The device works: queues can be made. One that was lost may be started again here. */
	bool (*works)(struct tacet_pico_unit *unit);
	/* It is off, or gone: it uses no memory. */
	bool (*silent)(struct tacet_pico_unit *unit);
	/* Whether @file is the device's, and fills what the device says of a grant: namespace_id,
	 * rights, block_shift, first, count. Any task; sleeps. */
	bool (*eligible)(struct tacet_pico_unit *unit, struct file *file,
			 struct tacet_pico_grant *grant);
};

/* Bytes of a line that says why a device has no fast path. */
#define TACET_PICO_REFUSAL 200u

/* One device. */
struct tacet_pico_unit {
	const struct tacet_pico_operations *operations;
	struct device *device;		/* referenced */
	struct tacet_pico_device *shared;
	void *own;			/* of the operations, while it is open */
	void *key;			/* by which Linux's driver knows it */
	struct device *files_of;	/* whose driver has the files, if not this one's; not referenced */
	unsigned int index, kind;
	bool waiting;			/* it is opened as soon as it works */
	bool open;			/* it has queues, or will have them again */
	bool lost;			/* Linux resets it: its queues end */
	bool off;			/* and it was seen to be off since */
	bool over;			/* they have ended */
	DECLARE_BITMAP(made, NR_CPUS);	/* by core: queues that the device has by our command, and perhaps
					   still has. The number alone does not say whose a queue is */
	char refusal[TACET_PICO_REFUSAL];	/* why it has no fast path; empty: it has, or had */
};

/* The virtual addresses of cores for a device's registers: so many pages. */
#define TACET_PICO_WINDOW_PAGES 64u

/* devices.c. All sleep, with the control lock held but for the first two. */
int tacet_pico_init(void);
void tacet_pico_exit(void);
int tacet_pico_open(struct tacet_up *request);
void tacet_pico_close(void);

/* slots.c, with the control lock held. _find says how many bytes of the first block, which has @block_bytes, all of
 * it needs, 0 without fast paths; _place gets them. */
size_t tacet_pico_find(unsigned int cores, unsigned int spaces, size_t block_bytes);
void tacet_pico_place(void *memory);
void tacet_pico_forget(void);

/* text.c: sleeps, takes the control lock */
ssize_t tacet_pico_show(char *buffer);

/* The rest is for the folders of devices and for this folder's own files. */
extern const struct tacet_pico_operations tacet_nvme_operations, tacet_nvme_virtual_operations;

/* area.c: the places of everything in the memory behind TACET_PICO_BASE */
struct tacet_pico *tacet_pico_area(void);	/* NULL: there is none */
struct tacet_pico_queue *tacet_pico_queue(unsigned int unit, unsigned int core);
struct tacet_pico_grant *tacet_pico_grants(unsigned int space);
void *tacet_pico_rings(unsigned int unit, unsigned int core);
u64 tacet_pico_for_cores(const void *memory);
u64 tacet_pico_for_device(const struct tacet_pico_unit *unit, const void *memory);
u64 tacet_pico_window(void);		/* 0: there are no more */

/* Of a queue's ring pages: submissions, completions, and the lists from here on. */
#define TACET_PICO_LISTS 2u
#define TACET_PICO_RING_PAGES (TACET_PICO_LISTS + TACET_PICO_COMMANDS)

/* dma.c: sleep */
int tacet_pico_map(struct tacet_pico_unit *unit);
void tacet_pico_unmap(struct tacet_pico_unit *unit);

/* queues.c: the epoch of a queue. The first two any context; _end: the device leaves it alone */
void tacet_pico_queue_stop(struct tacet_pico_unit *unit, unsigned int core);
void tacet_pico_queue_await(struct tacet_pico_unit *unit, unsigned int core);
void tacet_pico_queue_dead(struct tacet_pico_unit *unit, unsigned int core);
int tacet_pico_queue_make(struct tacet_pico_unit *unit, unsigned int core);
void tacet_pico_queue_forget_counts(unsigned int unit, unsigned int core);
/* Of all cores. _make: how many have one. _stop: any context. */
unsigned int tacet_pico_queues_make(struct tacet_pico_unit *unit);
void tacet_pico_queues_stop(struct tacet_pico_unit *unit);
void tacet_pico_queues_end(struct tacet_pico_unit *unit);
void tacet_pico_queues_dead(struct tacet_pico_unit *unit);

/* devices.c. Linux is about to reset the device that its driver knows by @key, or to switch it on again; any context.
 * Linux gives @device a driver, takes it away, removes the device: sleep, take the control lock. */
void tacet_pico_lost(void *key);
void tacet_pico_off(void *key);
void tacet_pico_bound(const struct device *device);
void tacet_pico_unbound(const struct device *device);
void tacet_pico_removed(const struct device *device);
/* slots.c: one line that says why @device has no fast path. */
__printf(2, 3) void tacet_pico_refuse(const struct device *device, const char *format, ...);
struct tacet_pico_unit *tacet_pico_eligible(struct file *file, struct tacet_pico_grant *grant);

#endif
