/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a process's range lies, and where its memory begins in it: the choice alone, made of
 * random numbers. memory/create.c calls it. It uses nothing of Linux's, so that
 * tests/border/tests/places.rs can count every outcome, and knows whom each place would harm.
 *
 * A range is a whole entry of the fourth level of a page table. So there are few places, and
 * most random bits come from within: from the first page of the heap and of other mappings.
 */
#ifndef TACET_MEMORY_PLACES_H
#define TACET_MEMORY_PLACES_H

#include <linux/types.h>

#include <tacet/memory.h>

/*
 * In units of 512 GiB. These are the places that every version of the thread sanitizer takes
 * for a program's or a library's (0x5500... to 0x5680..., and from 0x7e80... on); it maps
 * its own memory, or forbids access, at all other addresses. Other sanitizers, language runtimes and Wine
 * have no fixed addresses there. Not the last one before the end of the addresses: the stack is there.
 * Without randomisation, Linux puts a program into 170.
 */
#define TACET_PLACES 5
static const __u16 tacet_places[TACET_PLACES] = { 171, 172, 254, 253, 170 };

/*
 * The same for a range to which a program is moved (memory/image.c). Its text lies in the end of the place
 * before. The program lies there as if Linux had used as many random bits for it as it can
 * (vm.mmap_rnd_bits). From 192 to 200 is the memory of address sanitizers, 223 Wine's. Programs with other
 * sanitizers are not moved (memory/sanitizer.c).
 */
#define TACET_IMAGE_PLACES 41
static inline unsigned int tacet_image_place(unsigned int number)
{
	return number < 20 ? 171 + number : 202 + number - 20;
}

/*
 * A moved program lies where the range begins, and the text is Linux's. So 41 places are all
 * there would be, but for this: the first pages of the data stay Linux's too, and how many is random. A program
 * has 41 * 2048 addresses (16 bits) in steps of its alignment, which nearly always is a page.
 */
#define TACET_IMAGE_BORDERS 2048

/* The first page of the data in the range; addresses of the file. @first: the first one that may be;
 * @end: behind the data; @alignment: of the program, at least a page. @borders: so many to
 * choose from, or 1. 0: the data are too small. */
static inline __u64 tacet_image_border(__u32 random, unsigned int borders, __u64 first, __u64 end,
				       __u64 alignment)
{
	__u64 lowest = (first + alignment - 1) & ~(alignment - 1);

	if (lowest < first || lowest >= end || end - lowest <= (borders - 1) * alignment)
		return 0;
	return lowest + random % borders * alignment;
}

/* Room for Linux's own mappings between a range above which they lie and the address from
 * which they grow down. */
#define TACET_PLACES_ROOM (64ull << 30)

/* The place for a range to try as number @attempt, from 0; 0: there is none. @random is the
 * same at each attempt. */
static inline __u64 tacet_place(__u32 random, unsigned int attempt, int image)
{
	unsigned int count = image ? TACET_IMAGE_PLACES : TACET_PLACES;
	unsigned int number = (random % count + attempt) % count;

	if (attempt >= count)
		return 0;
	return (__u64)(image ? tacet_image_place(number) : tacet_places[number]) << TACET_RANGE_SHIFT;
}

/* A range at @base leaves Linux room for mappings. They grow down from @mmap_base; if they
 * meet the range they continue below it, where a sanitizer may not expect them. */
static inline int tacet_place_leaves_room(__u64 base, __u64 mmap_base)
{
	__u64 end = base + TACET_RANGE_BYTES;

	return mmap_base <= base || mmap_base >= end + TACET_PLACES_ROOM;
}

#define TACET_RANGE_PAGES ((__u32)(TACET_RANGE_BYTES >> 12))

/* The page below which mappings begin, from the top down: 2^25 possibilities. */
static inline __u32 tacet_place_top(__u32 random)
{
	return TACET_RANGE_PAGES - 1 - random % (TACET_RANGE_PAGES / 4);
}

/* The first page of the heap, if the first @used pages are in use: 2^24 possibilities. */
static inline __u32 tacet_place_heap(__u32 random, __u32 used)
{
	__u32 behind = (used + 511) / 512 * 512 + 512;

	return behind + random % (TACET_RANGE_BREAK_PAGES / 2);
}

#endif
