/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The partition's memory as programs get it: frames, and the range of each process:
 * 512 GiB of its addresses, backed by those frames.
 *
 * Owns: the records of frames, the state of each range, the questions that Linux asks
 * a core about either, and the bits of a range's page tables that both sides read. The
 * co-kernel hands out frames and writes the tables. Linux reads the tables, under the
 * locks of their pieces, and maps the same pages on its side ("mirrors" them).
 *
 * Nothing here may ever be mapped into a program.
 */
#ifndef TACET_ABI_MEMORY_H
#define TACET_ABI_MEMORY_H

#include "types.h"

/* A core sees the partition's memory, from struct tacet_memory on, at this address plus
 * the physical address. */
#define TACET_DIRECT_BASE 0xffff800000000000ull

#define TACET_MEMORY_BLOCKS 256u

/* A block that joins the partition while it is up is one run of 2^order frames, aligned to its
 * size, of at most 1 GiB. It has a place among the blocks; the records of place n are at
 * TACET_JOINED_BASE + (n << 22), for as long as the block is there, and its slots begin at
 * TACET_JOINED_SLOTS + (n << 18). */
#define TACET_JOINED_BASE 0xffffff0000000000ull
#define TACET_JOINED_SLOTS 0xf8000000u
#define TACET_JOINED_SHIFT 18u		/* log2 of the slots of a place */
#define TACET_JOINED_RECORDS (TACET_MEMORY_BLOCKS << TACET_JOINED_SHIFT)

/* The record of one frame of 4 KiB. Both sides write `held`, by compare and exchange;
 * only the co-kernel reads and writes the rest. */
struct tacet_frame {
	__u32 tag;
	__u32 next;
	__u32 previous;
	__u32 held;			/* enum tacet_held */
};

/* A held frame: no page table names it any more, but Linux still uses it, in a pipe or for
 * a device. */
enum tacet_held {
	TACET_HELD_NOT = 0,
	TACET_HELD_BY_LINUX = 1,	/* written by Linux: do not hand the frame out again */
	TACET_HELD_LEFT = 2,		/* written by the co-kernel: the program gave the frame
					   back; it is free when Linux releases it */
};

/* A block of consecutive frames. Of those that were there at the start, which Linux wrote
 * before, the lowest comes first. Cores read no others: they hear of a block that joins by
 * TACET_ASK_JOIN. */
struct tacet_frames {
	__u64 first;			/* frame number */
	__u32 count;
	__u32 node;
	__u32 slot;			/* index of its first frame among the records */
	__u32 reserved;
};

/* NUMA nodes from which programs' memory can come: 0 to 31. */
#define TACET_NODES 32u

/* So many frames may turn bad. */
#define TACET_BAD_FRAMES 256u

/* The memory that the programs of one job have. Linux writes the limit before a
 * range names the job. */
struct tacet_job_memory {
	__u64 limit;			/* in frames; 0: none, and nothing is counted */
	__s64 frames;			/* behind pages; written by cores, atomically */
	__s64 owned;			/* it has so many for itself, free or not; written by cores, atomically.
					   0: its frames are those of all. While it is not 0, only cores
					   that map no other job's memory use it */
	__u64 run;			/* the first frame of the run that it was given last; written by
					   a core before it answers TACET_ASK_GIVE */
	__u64 reserved[4];
};

#define TACET_JOB_MEMORIES 64u		/* TACET_JOBS */

struct tacet_memory {
	/* Written by Linux before the start. */
	__u64 records_base;		/* struct tacet_frame[slot_count], virtual */
	__u64 ranges_base;		/* struct tacet_range_shared[range_count], virtual */
	__u32 slot_count;
	__u32 range_count;
	__u32 block_count;
	__u32 largest_order;		/* the processor's largest page has 2^order frames */
	__u32 node_ids;			/* the smallest mask that get_mempolicy(2) accepts, in bits */
	__u8 distances[TACET_NODES][TACET_NODES];	/* from the first node to the second */
	/* Written by Linux, atomically. */
	__u32 held_count;		/* frames that are not TACET_HELD_NOT */
	struct tacet_frames blocks[TACET_MEMORY_BLOCKS];
	/* Written by Linux: frames that no program gets any more, because Linux or the
	 * processor calls their memory bad. */
	__u32 bad_count;		/* at most TACET_BAD_FRAMES; released after each one */
	__u32 reserved1;
	__u64 bad[TACET_BAD_FRAMES];
	struct tacet_job_memory jobs[TACET_JOB_MEMORIES];	/* job n's is jobs[n - 1] */
};

/* The first quarter of a range is for the break, the rest for other mappings. */
#define TACET_RANGE_BREAK_PAGES (1u << 25)

/* A range has 512 GiB and is aligned to its size: it is one entry of the fourth level of
 * a page table. */
#define TACET_RANGE_SHIFT 39u
#define TACET_RANGE_BYTES (1ull << TACET_RANGE_SHIFT)

/* A range has 512 pieces of 1 GiB, each with a lock. Linux and the cores read or change the
 * tables of a piece, or what is mapped there, only under its lock. Locks of several pieces
 * are taken from the lowest piece upwards. Neighbouring cores use neighbouring pieces, so
 * the locks of neighbours lie on different cache lines: that of piece n is
 * locks[n % 32][n / 32]. */
#define TACET_PIECE_PAGES (1u << 18)
#define TACET_PIECES 512u
#define TACET_PIECE_LINES 32u

enum tacet_range_state {
	TACET_RANGE_NONE = 0,		/* free: no process has it */
	TACET_RANGE_OPEN = 1,		/* cores may serve calls and faults in it */
	TACET_RANGE_CLOSED = 2,		/* a hand-over or the end of the mapping is in progress:
					   cores refuse with TACET_REFUSAL_CLOSED */
};

/* `rights`: which pages cores may make besides readable and writable ones and inaccessible
 * ones. */
enum tacet_range_rights {
	TACET_RANGE_READ_ONLY = 1,	/* read-only ones; Linux's own writes obey them too */
	TACET_RANGE_EXECUTABLE = 2,	/* executable ones */
	TACET_RANGE_INEXECUTABLE = 4,	/* Linux refused executable ones to this process */
};

/* A NUMA policy: `mode` and its flags as in mbind(2), MPOL_LOCAL by default; bit n of
 * `nodes` is node n. */
struct tacet_policy {
	__u32 mode;
	__u32 nodes;
};

/* Policies of one range. Entries of page tables have room for as many numbers as TACET_POLICIES. */
#define TACET_POLICIES 32u

/* The range of one process. */
struct tacet_range_shared {
	__u32 state;			/* enum tacet_range_state; written by Linux, which
					   then takes each lock once: no core is inside */
	__u32 top;			/* page of the range: the search for free addresses
					   starts below. Written by Linux before it opens */
	__u64 base;			/* written by Linux before it opens the range */
	__u64 root;			/* frame number of its table; written by the core
					   that answers TACET_ASK_OPEN or _COPY */
	__u16 eager;			/* 1: populate at map time. Written by Linux before
					   it opens the range */
	__u16 forks;			/* of the process, in progress: cores refuse with
					   TACET_REFUSAL_CLOSED, so that a copy is one of one moment.
					   Written by Linux, atomically, which then takes each lock
					   once */
	__u32 rights;			/* enum tacet_range_rights; written by Linux */
	__u64 break_start;		/* of the program's break (brk(2)); written by Linux
					   before it opens the range */
	__u64 break_end;		/* written by cores under the lock of break_start's
					   piece, and by Linux before it opens the range */
	__u32 policies_lock;		/* 0 free, 1 held by the core that adds a policy */
	__u32 policy_count;		/* policies in use, at least 1; released by the core
					   after it wrote the new one */
	__u64 serial;			/* of the range that has this entry now, and of no other one;
					   written by Linux before it opens the range. An entry is
					   used again once no core has a thread that names it */
	struct tacet_policy policies[TACET_POLICIES];	/* an entry of the page table has the
							   index; 0: the thread's policy */
	__u32 locks[TACET_PIECE_LINES][TACET_PIECES / TACET_PIECE_LINES];	/* 0 free,
							   1 held, by either side */
	__u16 owners[TACET_PIECES];	/* 1 + index of the core that maps there, or 0;
					   written by cores, atomically */

	/* Written by cores, atomically: frames behind pages, and the most that there were. */
	__s64 frames;
	__s64 most_frames;
	__u32 job;			/* the number of its job, or 0; written by Linux before it
					   opens the range */
	__u32 reserved3;
	__u64 reserved2[5];
};

static_assert(sizeof(struct tacet_frame) == 16, "frame layout");
static_assert(sizeof(struct tacet_frames) == 24, "frames layout");
static_assert(offsetof(struct tacet_range_shared, locks) == 320, "locks begin a line");
static_assert(offsetof(struct tacet_range_shared, frames) == 3392, "counts have a line of their own");
static_assert(sizeof(struct tacet_range_shared) == 3456, "range layout");

/*
 * What Linux asks of a core (struct tacet_cpu, ask_*). [n] is ask_arguments[n]. The result is
 * 0, a negative error number, or the page at which Linux is to ask on: a core that is wanted
 * elsewhere answers a long question in portions. -EAGAIN: another core has the lock of a piece
 * that this is about; Linux asks again.
 */
enum tacet_ask {
	TACET_ASK_OPEN = 1,		/* make a root for range [0] */
	TACET_ASK_TOUCH = 2,		/* put a frame at page [1] of range [0]. [2]: 1 for a write,
					   and the policy's mode << 32; [3]: the policy's nodes,
					   and the allowed nodes << 32 */
	TACET_ASK_COPY = 3,		/* make a root for range [1] and copy range [0] there, from page
					   [2] on */
	TACET_ASK_CLEAR = 4,		/* take back range [0] from page [1] on, and then its root */
	TACET_ASK_FREE = 5,		/* take back frame [0], which is TACET_HELD_LEFT */
	TACET_ASK_MAP = 6,		/* map readable and writable pages in range [0]. [1]: the first
					   page, and their number << 32; [2] and [3] as for _TOUCH,
					   but the low half of [2] is the page to continue at, or 0 */
	TACET_ASK_DISCARD = 7,		/* take back the frames of pages in range [0], which stay mapped.
					   [1]: the first page, and their number << 32; [2]: the page to
					   continue at, or 0 */
	TACET_ASK_JOIN = 8,		/* a block joins at place [0], with records that are zero: its first
					   frame is [1], its order [2], its node [3] */
	TACET_ASK_LEAVE = 9,		/* the block at place [0] leaves if all of it is free; -EBUSY: it is
					   not, or a core has some of it in store */
	TACET_ASK_DRAIN = 10,		/* the core gives the free frames that it has in store to all, and
					   loads its idle root if it runs no thread */
	TACET_ASK_GIVE = 11,		/* job number [0] gets a run of 2^[1] frames for itself; -ENOMEM:
					   no such run is free */
	TACET_ASK_TAKE = 12,		/* what job number [0] has for itself and is free is for all again */
};

/* Entries of a range's tables. Present, writable, leaf, frame and no-execute are the
 * processor's bits; the processor ignores the others. In an entry that is not present all
 * bits of the frame are inverted: some processors read ahead from the frame of such an entry. */
#define TACET_ENTRY_PRESENT (1ull << 0)
#define TACET_ENTRY_WRITABLE (1ull << 1)
#define TACET_ENTRY_RESERVED (1ull << 3)	/* mapped by the program, without a frame; not present */
#define TACET_ENTRY_HELD (1ull << 4)	/* a page that may not be touched keeps its frame; not present.
						   Not a held frame (enum tacet_held) */
#define TACET_ENTRY_LEAF (1ull << 7)	/* above the last level */
#define TACET_ENTRY_MIRRORED (1ull << 9)	/* set by Linux, which may map the page or a part of it */
#define TACET_ENTRY_UNDUMPED (1ull << 57)	/* not in a core file */
#define TACET_ENTRY_READABLE (1ull << 58)
#define TACET_ENTRY_FRAME 0x000ffffffffff000ull
#define TACET_ENTRY_NO_EXECUTE (1ull << 63)

#endif
