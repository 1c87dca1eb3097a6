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
#include "tacet.h"

#define RANGE_PAGES (TACET_RANGE_BYTES >> PAGE_SHIFT)
/*
 * A range goes into one of these slots, which are where Linux places programs: from two
 * thirds of the addresses up (ELF_ET_DYN_BASE in arch/x86/include/asm/elf.h), over 16 TiB,
 * as with the most random bits that Linux uses (vm.mmap_rnd_bits). Libraries that need the
 * same address in several programs (hwloc, PMIx) look in the middle of one program's free
 * addresses, and sanitizers use fixed addresses: neither expects a program elsewhere.
 */
#define FIRST_SLOT 171
#define SLOTS 32
#define TRIES 64

/* Maps the range at its base, and the text of @image, if there is one, below it: both or
 * none. */
static int map_there(struct tacet_range *range, struct file *file, struct tacet_image *image)
{
	int error = image ? tacet_image_map_text(image, range->base) : 0;
	unsigned long address;

	if (error)
		return error;
	address = vm_mmap(file, range->base, TACET_RANGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, 0);
	if (address == range->base)
		return 0;
	if (image)
		tacet_image_unmap_text(image);
	return IS_ERR_VALUE(address) ? (int)address : -EINVAL;
}

/* Maps the range in a free slot, a random one unless the program has turned that off. */
static int map_in_slot(struct tacet_range *range, struct file *file, struct tacet_image *image)
{
	bool random = !(current->personality & ADDR_NO_RANDOMIZE);
	unsigned int tries, slot;
	int error = -EEXIST;

	for (tries = 0; tries < TRIES && error == -EEXIST; tries++) {
		slot = FIRST_SLOT + (random ? get_random_u32() : tries) % SLOTS;
		range->base = (u64)slot << TACET_RANGE_SHIFT;
		error = map_there(range, file, image);
	}
	return error;
}

/* Lays out a new range, whose first @pages are in use. */
static void lay_out(struct tacet_range *range, u64 pages)
{
	bool random = !(current->personality & ADDR_NO_RANDOMIZE);
	struct tacet_range_shared *shared = range->shared;

	shared->base = range->base;
	shared->top = RANGE_PAGES - 1;
	if (random)
		shared->top -= get_random_u32() % (RANGE_PAGES / 4);
	shared->break_start = range->base + ALIGN(pages << PAGE_SHIFT, PMD_SIZE) + PMD_SIZE;
	if (random)
		shared->break_start += (u64)(get_random_u32() % TACET_RANGE_BREAK_PAGES / 2) << PAGE_SHIFT;
	shared->break_end = shared->break_start;
}

/* Gives the calling thread's new program a range, with room at its beginning for the data of
 * @image, if there is one. */
int tacet_range_create(bool eager, struct tacet_image *image)
{
	struct tacet_range *range;
	struct tacet_range_shared *shared;
	struct file *file;
	int error;

	if (!tacet_partition.memory || !tacet_range_unlimited() || tacet_policy_excludes() ||
	    current->personality & READ_IMPLIES_EXEC)
		return -EOPNOTSUPP;
	range = tacet_range_new(current->mm);
	if (!range)
		return -ENOMEM;
	shared = range->shared;
	tacet_range_publish(range);
	file = tacet_mapping_open_file(range);
	error = PTR_ERR_OR_ZERO(file);
	error = error ?: tacet_ask(TACET_ASK_OPEN, range->number, 0);
	error = error ?: map_in_slot(range, file, image);
	lay_out(range, image ? tacet_image_pages(image, range->base) : 0);
	shared->eager = eager;
	if (!error)
		smp_store_release(&shared->state, TACET_RANGE_OPEN);
	else
		tacet_range_mapping_gone(range);
	if (!IS_ERR(file))
		fput(file);
	return error;
}
