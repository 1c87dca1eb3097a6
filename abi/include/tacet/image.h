/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The co-kernel's image file, and the layout of its address space.
 *
 * Owns: the image header, which the linker script fills in and the module reads, and
 * the virtual layout of the kernel half of every root that a core loads. Everything
 * lies in the last GiB, under one top-level entry; nothing of Linux is mapped.
 */
#ifndef TACET_ABI_IMAGE_H
#define TACET_ABI_IMAGE_H

#include "types.h"

#define TACET_IMAGE_MAGIC 0x6b74656361745354ull

#define TACET_IMAGE_BASE 0xffffffffc0000000ull	/* image; text, rodata, data */
#define TACET_IMAGE_LIMIT_BYTES 0x200000u
#define TACET_LAPIC_BASE 0xffffffffc0200000ull	/* one uncached page, xAPIC only */
#define TACET_SHARED_BASE 0xffffffffc0400000ull	/* struct tacet_cpu[], contexts, spaces */
#define TACET_SHARED_LIMIT_BYTES 0x1fc00000u
#define TACET_PRIVATE_BASE 0xffffffffe0000000ull	/* TACET_PRIVATE_BYTES per core */
#define TACET_PRIVATE_BYTES 0x10000u
#define TACET_PICO_BASE 0xfffffffff0000000ull	/* struct tacet_pico and all that it names (pico.h) */
#define TACET_PICO_LIMIT_BYTES 0x0fe00000u
/* Pages of a private region that stay unmapped: they guard the stacks above
 * them. Layout: 0-1 the core's tables, 2-4 what it keeps of its threads, 6 NMI stack,
 * 8 double-fault stack, 10 machine-check stack, 12-15 the main stack. */
#define TACET_PRIVATE_GUARD_PAGES ((1u << 5) | (1u << 7) | (1u << 9) | (1u << 11))
#define TACET_PRIVATE_MAIN_STACK 12u
#define TACET_STACK_BYTES (TACET_PRIVATE_BYTES - TACET_PRIVATE_MAIN_STACK * 4096u)
#define TACET_STACK_UNUSED 0x7574616365747575ull	/* a word of the main stack that the core never used */

/* First bytes of the file. Sections are in this order, each page-aligned. */
struct tacet_image_header {
	__u64 magic;
	__u32 revision;			/* TACET_ABI_REVISION */
	__u32 header_bytes;
	__u64 entry;			/* virtual; rdi = struct tacet_cpu of the core */
	__u64 text_bytes;		/* from the start of the file: read, execute */
	__u64 rodata_bytes;		/* read */
	__u64 data_bytes;		/* read, write; the file ends here */
	__u64 bss_bytes;		/* zeroed by the loader, after data */
};

static_assert(sizeof(struct tacet_image_header) == 56, "image header layout");

#endif
