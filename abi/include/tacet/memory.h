/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The partition's memory as programs get it: frames, and the range of addresses in
 * which a process has them.
 *
 * Owns: the records of frames, the state of each such range, the questions that
 * Linux asks a core about either, and what both sides read in a range's page
 * tables. The co-kernel hands out frames and writes the tables; Linux reads them,
 * under the locks of their pieces, to map the same pages on its side ("mirrors" them).
 *
 * Nothing here is ever mapped into a program.
 */
#ifndef TACET_ABI_MEMORY_H
#define TACET_ABI_MEMORY_H

#include "types.h"

/* Where a core sees the partition's memory from struct tacet_memory on: here plus
 * the physical address. */
#define TACET_DIRECT_BASE 0xffff800000000000ull

#define TACET_MEMORY_BLOCKS 256u

/* One frame of 4 KiB. `held` by either side, by compare and exchange; the rest is
 * the co-kernel's. */
struct tacet_frame {
	__u32 tag;
	__u32 next;
	__u32 previous;
	__u32 held;			/* enum tacet_held */
};

/* Linux may still use a frame that no page table names any more: in a pipe, for a
 * device. */
enum tacet_held {
	TACET_HELD_NOT = 0,
	TACET_HELD_BY_LINUX = 1,	/* Linux: do not hand it out again */
	TACET_HELD_LEFT = 2,		/* the co-kernel: it would be free but for that */
};

/* Frames that lie one behind the other, lowest block first. Linux, before start. */
struct tacet_frames {
	__u64 first;			/* frame number */
	__u32 count;
	__u32 node;
	__u32 slot;			/* of its first frame, in the records */
	__u32 reserved;
};

/* NUMA nodes that programs' memory is told apart by: 0 to 31. */
#define TACET_NODES 32u

struct tacet_memory {
	/* Linux, before start */
	__u64 records_base;		/* struct tacet_frame[slot_count], virtual */
	__u64 ranges_base;			/* struct tacet_range_shared[range_count], virtual */
	__u32 slot_count;
	__u32 range_count;
	__u32 block_count;
	__u32 largest_order;		/* of the pages that processors know: 2^order frames */
	__u32 node_ids;			/* the least that get_mempolicy(2) takes, in bits */
	__u8 distances[TACET_NODES][TACET_NODES];	/* from the first to the second */
	/* Linux, atomically */
	__u32 held_count;		/* frames that are not TACET_HELD_NOT */
	struct tacet_frames blocks[TACET_MEMORY_BLOCKS];
};

/* The first quarter of a range is for the break, the rest for other mappings. */
#define TACET_RANGE_BREAK_PAGES (1u << 25)

/* The range has 512 GiB and is aligned to that: one entry of a page table's
 * fourth level. */
#define TACET_RANGE_SHIFT 39u
#define TACET_RANGE_BYTES (1ull << TACET_RANGE_SHIFT)

/* A range has 512 pieces of 1 GiB. Whoever reads or changes tables of a piece, or what is
 * mapped there, has its lock; several are taken from the lowest on. Neighbouring pieces,
 * which neighbouring cores have, have locks on lines of their own: that of piece n is
 * locks[n % 32][n / 32]. */
#define TACET_PIECE_PAGES (1u << 18)
#define TACET_PIECES 512u
#define TACET_PIECE_LINES 32u

enum tacet_range_state {
	TACET_RANGE_NONE = 0,		/* nobody's */
	TACET_RANGE_OPEN = 1,		/* cores may serve calls and faults */
	TACET_RANGE_CLOSED = 2,		/* its process stops having one */
};

/* What cores may make of its pages besides readable and writable ones, or none. */
enum tacet_range_rights {
	TACET_RANGE_READ_ONLY = 1,	/* Linux's own writes meet it too */
	TACET_RANGE_EXECUTABLE = 2,
	TACET_RANGE_INEXECUTABLE = 4,	/* Linux has refused it to this process */
};

/* Where memory is to come from: `mode` and its flags as mbind(2) has them, MPOL_LOCAL if
 * nobody said anything; `nodes` bit by bit. */
struct tacet_policy {
	__u32 mode;
	__u32 nodes;
};

/* Page tables have room for 64. */
#define TACET_POLICIES 32u

/* The range of one process. */
struct tacet_range_shared {
	__u32 state;			/* enum tacet_range_state; Linux, which then waits for all locks */
	__u32 top;			/* page of the range: addresses begin below. Linux, before */
	__u64 base;			/* Linux, before it is open */
	__u64 root;			/* frame number of its table; the core, asked to open or copy */
	__u32 eager;			/* pages come with the call that maps. Linux, before */
	__u32 rights;			/* enum tacet_range_rights; Linux */
	__u64 break_start;		/* the program's break (brk(2)): Linux, before */
	__u64 break_end;		/* the cores, with the lock of the piece of break_start; Linux
					   before it is open */
	__u32 policies_lock;		/* 0 free, 1 held: who adds a policy. Cores */
	__u32 policy_count;		/* in use, at least 1: released when the last one is written */
	__u32 reserved1[2];
	struct tacet_policy policies[TACET_POLICIES];	/* by an entry's number; 0 is the thread's */
	__u32 locks[TACET_PIECE_LINES][TACET_PIECES / TACET_PIECE_LINES];	/* 0 free, 1 held: either side */
	__u16 owners[TACET_PIECES];	/* 1 + index of the core that looks for addresses there, or 0;
					   cores, atomically */
};

static_assert(sizeof(struct tacet_frame) == 16, "frame layout");
static_assert(sizeof(struct tacet_frames) == 24, "frames layout");
static_assert(offsetof(struct tacet_range_shared, locks) == 320, "locks begin a line");
static_assert(sizeof(struct tacet_range_shared) == 3392, "range layout");

/* What Linux asks of a core. Arguments are numbers of ranges unless said otherwise. */
enum tacet_ask {
	TACET_ASK_OPEN = 1,		/* a root for range [0] */
	TACET_ASK_TOUCH = 2,		/* put a frame at page [1] of range [0]; [2]: 1 to write, and
					   the mode of the policy << 32; [3]: its nodes, and those
					   that are allowed << 32 */
	TACET_ASK_COPY = 3,		/* all of range [0] into range [1], which gets a root */
	TACET_ASK_CLEAR = 4,		/* take back all of range [0], its root too */
	TACET_ASK_FREE = 5,		/* take back frame [0], which is TACET_HELD_LEFT */
	TACET_ASK_MAP = 6,		/* pages of range [0], to be read and written: [1] has the first, and
					   how many << 32; [2] and [3] as for a touch */
};

/* Entries of a range's tables. Present, writable, leaf, frame and no
 * execution are the processor's; the others are ignored by it. */
#define TACET_ENTRY_PRESENT (1ull << 0)
#define TACET_ENTRY_WRITABLE (1ull << 1)
#define TACET_ENTRY_RESERVED (1ull << 3)	/* address space; not present */
#define TACET_ENTRY_HELD (1ull << 4)	/* a frame that may not be touched; not present */
#define TACET_ENTRY_LEAF (1ull << 7)	/* above the last level */
#define TACET_ENTRY_MIRRORED (1ull << 9)	/* Linux: it may map the page, or part of it */
#define TACET_ENTRY_READABLE (1ull << 58)
#define TACET_ENTRY_FRAME 0x000ffffffffff000ull
#define TACET_ENTRY_NO_EXECUTE (1ull << 63)

#endif
