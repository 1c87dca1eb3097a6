/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Fast paths of devices: a core gives commands to a device that Linux drives, without Linux.
 *
 * Owns: what Linux tells the cores about each device, the queue that each core has at each
 * device, and the grants: which descriptors of a hosted process a core may serve. Linux makes
 * the queues and the grants and takes them back; cores only use them. Whatever a core cannot
 * serve it forwards.
 *
 * The queues' memory is the partition's. All addresses for cores lie behind TACET_PICO_BASE
 * (image.h) or TACET_DIRECT_BASE (memory.h). Nothing here is ever mapped into a program.
 */
#ifndef TACET_ABI_PICO_H
#define TACET_ABI_PICO_H

#include "memory.h"
#include "types.h"

#define TACET_PICO_DEVICES 4u
#define TACET_PICO_GRANTS 8u		/* of one space */
#define TACET_PICO_DEPTH 64u		/* entries of both rings, at most: one page each */
#define TACET_PICO_COMMANDS 32u		/* commands in flight of one queue; a list page each */
#define TACET_PICO_MOST_BYTES 0x200000u	/* of one command by pages: one list page has 512 entries */
#define TACET_PICO_MOST_SEGMENT_BYTES 0x800000u	/* of one command by segments; Linux's driver has the same limit */

enum tacet_pico_kind {
	TACET_PICO_NONE = 0,
	TACET_PICO_NVME = 1,
};

/* Why a core forwarded a call on a granted descriptor: index of `fallbacks`. */
enum tacet_pico_fallback {
	TACET_PICO_BY_STATE = 0,	/* the queue is not usable, or the grant is revoked */
	TACET_PICO_BY_RIGHTS = 1,	/* the grant lacks the direction */
	TACET_PICO_BY_ALIGNMENT = 2,	/* of buffer, length or offset */
	TACET_PICO_BY_BOUNDS = 3,	/* beyond the end of the grant; or no bytes, or too many */
	TACET_PICO_BY_BUFFER = 4,	/* not wholly present memory of the range with the rights */
	TACET_PICO_BY_ROOM = 5,		/* no entry, command or list page is free */
	TACET_PICO_BY_STATUS = 6,	/* the device reported an error: Linux does it again */
	TACET_PICO_BY_LOSS = 7,		/* the queue was deleted before the command was done */
};
#define TACET_PICO_FALLBACKS 8u

/* Consecutive memory of the partition as the device sees it: device address = physical address
 * - physical + device. */
struct tacet_pico_piece {
	__u64 physical;
	__u64 bytes;
	__u64 device;
};

/* A device. Linux writes it before it makes a queue usable; a core reads it only while the
 * epoch of its queue is even and not 0. */
struct tacet_pico_device {
	__u32 kind;			/* enum tacet_pico_kind */
	__u32 piece_count;
	__u64 reserved;
	struct tacet_pico_piece pieces[TACET_MEMORY_BLOCKS];	/* ascending */
};

/*
 * One core's queue at one device; the core alone uses it.
 *
 * `epoch` is even and not 0 while the queue is usable. Odd: no new commands. A core that uses
 * the queue writes `ringing` = 1, reads `epoch`, writes its commands and the doorbell, and
 * writes `ringing` = 0. Linux, to stop the queue, adds 1 to `epoch`, waits for `ringing` = 0
 * and deletes the queue. When the device cannot touch memory of its commands any more Linux
 * adds 1 or 2: to an even epoch if a new, empty queue exists, to an odd one if none does. A
 * core remembers the epoch in which it gave a command: the command is dead when the epoch is
 * larger by 2 or more. In a new epoch both rings begin at entry 0, with phase 1, and Linux has
 * zeroed them and the shadow doorbells.
 */
struct tacet_pico_queue {
	/* Written by Linux before `epoch` becomes even. */
	__u64 submissions;		/* the core's virtual addresses: the rings, */
	__u64 completions;
	__u64 lists;			/* and TACET_PICO_COMMANDS consecutive list pages */
	__u64 lists_device;		/* of the first one; consecutive for the device too */
	__u64 submission_doorbell;	/* registers of 32 bits, virtual */
	__u64 completion_doorbell;
	__u64 submission_shadow;	/* words of 32 bits, virtual; 0: there are none, so ring always. */
	__u64 completion_shadow;	/* Write the shadow, then ring; */
	__u64 submission_event;		/* the register need not be written if the new index has not */
	__u64 completion_event;		/* passed the device's event index */
	__u32 depth;			/* entries of each ring */
	__u32 most_bytes;		/* of one command */
	__u32 id;			/* the device's number of the queue */
	__u32 segments;			/* 1: the device takes lists of segments (SGL), not only pages */
	__u32 reserved0[8];

	/* offset 128: written by Linux at any time. */
	__u32 epoch;			/* released after all else */
	__u32 reserved1[15];

	/* offset 192: written by the core. */
	__u32 ringing;			/* 1 while the core may write a doorbell */
	__u32 wants_end;		/* 1: a command is not done after a long time: Linux deletes
					   the queue and makes a new one, and writes 0 */
	__u32 in_flight;		/* commands */
	__u32 most_calls;		/* whose commands were in flight at the same time */
	__u64 calls;			/* served here */
	__u64 commands;
	__u64 read_bytes;
	__u64 written_bytes;
	__u64 fallbacks[TACET_PICO_FALLBACKS];	/* by enum tacet_pico_fallback */
	__u64 reserved3[2];
};

enum tacet_pico_grant_state {
	TACET_PICO_GRANT_FREE = 0,
	TACET_PICO_GRANT_VALID = 1,
	TACET_PICO_GRANT_REVOKED = 2,	/* no new commands; free when `using` is 0 and Linux has
					   dropped what it knew of the blocks */
	TACET_PICO_GRANT_ENDED = 3,	/* the same, and the descriptor may mean something else */
};

#define TACET_PICO_READ 1u
#define TACET_PICO_WRITE 2u
#define TACET_PICO_THROUGH 4u		/* each write is to last when its call ends (O_DSYNC) */
#define TACET_PICO_CACHE 8u		/* what is written lasts only after a flush */

/*
 * The position of the open file, of which the grant's descriptor is the only one, while cores
 * have it. Else TACET_PICO_AT_LINUX is set: cores forward calls that need the position, and one
 * that ends now keeps the bit and writes its new position below it, which Linux finds when it
 * looks next. Both sides change the word by compare-and-exchange.
 */
#define TACET_PICO_AT_LINUX 0x8000000000000000ull
#define TACET_PICO_NO_POSITION 0xffffffffffffffffull	/* Linux's, and no call has ended since */

/*
 * One descriptor of one table of a space. A core adds 1 to `using` and then reads `state` again;
 * Linux writes the state and then reads `using`; both with a full barrier in between. The core
 * looks again before each further portion of a call, and, if the call has written, when the
 * device is done: if the grant is not valid any more, the core subtracts 1 from `using` and
 * waits with the call's end until the grant is free, or of another generation.
 */
struct tacet_pico_grant {
	/* Written by Linux. */
	__u32 state;			/* enum tacet_pico_grant_state; released after all else */
	__s32 descriptor;
	__u32 device;			/* index */
	__u32 namespace_id;		/* of the device */
	__u32 rights;			/* TACET_PICO_READ, _WRITE, _THROUGH, _CACHE */
	__u32 block_shift;		/* log2 of the bytes of a logical block: 9 or 12 */
	__u64 first;			/* logical block of the device where the file begins */
	__u64 count;			/* logical blocks of the file */
	/* Written by cores, atomically. */
	__u32 using;			/* calls that use the grant now */
	__u32 generation;		/* Linux adds 1 whenever the entry becomes valid */
	__u64 position;			/* written by Linux too, see above */
	__u64 table;			/* Linux: `descriptors` of the contexts that it is for */
};

/* The first page behind TACET_PICO_BASE, if struct tacet_cpu_boot names it. */
struct tacet_pico {
	/* Written by Linux before the start. */
	__u32 device_count;		/* kind of the devices may be TACET_PICO_NONE */
	__u32 core_count;
	__u64 queues_base;		/* struct tacet_pico_queue[device * core_count + core] */
	__u64 grants_base;		/* struct tacet_pico_grant[space * TACET_PICO_GRANTS + n] */
	__u64 reserved[5];
	struct tacet_pico_device devices[TACET_PICO_DEVICES];
};

static_assert(sizeof(struct tacet_pico_device) == 16 + 24 * TACET_MEMORY_BLOCKS, "device layout");
static_assert(offsetof(struct tacet_pico_queue, epoch) == 128, "Linux's line");
static_assert(offsetof(struct tacet_pico_queue, ringing) == 192, "the core's lines");
static_assert(sizeof(struct tacet_pico_queue) == 320, "queue layout");
static_assert(sizeof(struct tacet_pico_grant) == 64, "grant layout");
static_assert(offsetof(struct tacet_pico, devices) == 64, "pico layout");

#endif
