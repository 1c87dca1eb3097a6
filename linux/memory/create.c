// SPDX-License-Identifier: GPL-2.0
/*
 * A new program gets a range: its addresses, their mapping on Linux, and what a core needs
 * to serve it.
 *
 * Called in the context of a thread whose program has not begun: no core has its address
 * space. Sleeps.
 */
#include <linux/file.h>
#include <linux/mman.h>
#include <linux/personality.h>
#include <linux/random.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "memory/places.h"
#include "tacet.h"

/* Maps the range at its base, and what @image, if there is one, has below it: both or none. */
static int map_there(struct tacet_range *range, struct file *file, struct tacet_image *image)
{
	int error = image ? tacet_image_map_below(image, range->base) : 0;
	unsigned long address;

	if (error)
		return error;
	address = vm_mmap(file, range->base, TACET_RANGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, 0);
	if (address == range->base)
		return 0;
	if (image)
		tacet_image_unmap_below(image);
	return IS_ERR_VALUE(address) ? (int)address : -EINVAL;
}

static bool randomised(void)
{
	return !(current->personality & ADDR_NO_RANDOMIZE);
}

/* 0 if the program has turned randomisation off. */
static u32 random_number(void)
{
	return randomised() ? get_random_u32() : 0;
}

/* Decides which data of @image are in the range. NULL, or why none can be. */
const char *tacet_range_divide(struct tacet_image *image)
{
	image->border = tacet_image_border(random_number(), randomised() ? TACET_IMAGE_BORDERS : 1,
					   image->settled, image->end, image->alignment);
	return image->border ? NULL : "they are too small for a random place";
}

/* Maps the range in a free place; with @roomy in one that leaves Linux room. */
static int map_in_place(struct tacet_range *range, struct file *file, struct tacet_image *image,
			bool roomy)
{
	u32 random = random_number();
	unsigned int attempt;
	int error = -EEXIST;
	u64 base;

	for (attempt = 0; error == -EEXIST; attempt++) {
		base = tacet_place(random, attempt, !!image);
		if (!base)
			break;
		if (roomy && !tacet_place_leaves_room(base, current->mm->mmap_base))
			continue;
		range->base = base;
		error = map_there(range, file, image);
	}
	return error;
}

/* Maps the range where it harms nobody. */
static int map_somewhere(struct tacet_range *range, struct file *file, struct tacet_image *image)
{
	int error = map_in_place(range, file, image, true);

	return error == -EEXIST ? map_in_place(range, file, image, false) : error;
}

/* Lays out a new range, whose first @pages are in use. */
static void lay_out(struct tacet_range *range, u64 pages)
{
	struct tacet_range_shared *shared = range->shared;

	shared->base = range->base;
	shared->top = tacet_place_top(random_number());
	shared->break_start = range->base + ((u64)tacet_place_heap(random_number(), pages) << PAGE_SHIFT);
	shared->break_end = shared->break_start;
}

/* Gives the calling thread's new program a range, with room at its beginning for the data of
 * @image behind its border, if there is one. */
int tacet_range_create(bool eager, struct tacet_image *image)
{
	struct tacet_range *range;
	struct tacet_range_shared *shared;
	struct file *file;
	int error;

	if (!tacet_partition.memory || !tacet_range_unlimited() || tacet_policy_excludes() ||
	    current->personality & READ_IMPLIES_EXEC)
		return -EOPNOTSUPP;
	range = tacet_range_new(current->mm, tacet_hosted_job());
	if (!range)
		return -ENOMEM;
	tacet_discard_begin(range);
	shared = range->shared;
	tacet_range_publish(range);
	file = tacet_mapping_open_file(range);
	error = PTR_ERR_OR_ZERO(file);
	error = error ?: tacet_ask(TACET_ASK_OPEN, range->number, 0);
	error = error ?: map_somewhere(range, file, image);
	lay_out(range, image ? tacet_image_pages(image) : 0);
	shared->eager = range->eager = eager;
	if (!error)
		smp_store_release(&shared->state, TACET_RANGE_OPEN);
	else
		tacet_range_mapping_gone(range);
	if (!IS_ERR(file))
		fput(file);
	return error;
}
