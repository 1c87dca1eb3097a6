// SPDX-License-Identifier: GPL-2.0
/*
 * A new program gets a range, and, if possible, its data (.data and .bss) go into it, but for
 * the first pages.
 *
 * Called by delegate/park.c in the thread's own context, before the program's first
 * instruction, when no other thread has its memory. If something fails the program stays
 * where Linux has put it.
 */
#include <linux/elf.h>
#include <linux/file.h>
#include <linux/mman.h>
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define STEP_BYTES (64u << 10)
#define MOST_WORDS (1u << 20)		/* of arguments and environment */

/* Reads a segment's content, as a mapping has it: all of the first page, zeros behind the end. */
static bool read_segment(struct tacet_image *image, const struct elf_phdr *segment, void *buffer)
{
	unsigned int lead = offset_in_page(segment->p_vaddr);
	u64 to = image->wanted + segment->p_vaddr - lead, left = segment->p_filesz + lead;
	loff_t from = segment->p_offset - lead;

	while (segment->p_filesz && left) {
		size_t bytes = min_t(u64, left, STEP_BYTES);

		if (!tacet_image_read(image->file, buffer, bytes, from) ||
		    copy_to_user((void __user *)to, buffer, bytes))
			return false;
		from += bytes;
		to += bytes;
		left -= bytes;
		cond_resched();
	}
	return true;
}

static bool read_data(struct tacet_image *image)
{
	void *buffer = kvmalloc(STEP_BYTES, GFP_KERNEL);
	bool all = buffer;
	unsigned int i;

	for (i = 0; i < image->header_count && all; i++)
		if (image->headers[i].p_type == PT_LOAD && tacet_segment_writable(&image->headers[i]))
			all = read_segment(image, &image->headers[i], buffer);
	kvfree(buffer);
	return all;
}

/* The auxiliary vector on the new program's stack: behind arguments and environment. NULL: it
 * cannot be read. */
static u64 __user *vector_on_stack(void)
{
	u64 __user *word = (u64 __user *)current->mm->start_stack;
	unsigned int ends = 0, words;
	u64 value;

	word++;	/* the number of arguments */
	for (words = 0; words < MOST_WORDS && ends < 2; words++, word++) {
		if (get_user(value, word))
			return NULL;
		ends += !value;
	}
	return ends == 2 ? word : NULL;
}

/* Changes the addresses in the vector on the stack and in the one that Linux keeps: in both, or
 * in none. */
static bool tell_vector(u64 shift)
{
	unsigned long *saved = current->mm->saved_auxv;
	u64 __user *word = vector_on_stack();
	u64 pair[2];
	unsigned int i;

	for (i = 0; word && i + 1 < AT_VECTOR_SIZE; i += 2) {
		if (copy_from_user(pair, word + i, sizeof(pair)) || pair[0] != saved[i] ||
		    (pair[0] != AT_NULL && pair[1] != saved[i + 1]))
			return false;
		if (pair[0] == AT_NULL)
			break;
		if (pair[0] != AT_PHDR && pair[0] != AT_ENTRY)
			continue;
		/* It was read a moment ago, and only we have this memory. */
		if (put_user(pair[1] + shift, word + i + 1))
			return false;
		saved[i + 1] += shift;
	}
	return word;
}

static void tell_linux(u64 shift)
{
	struct mm_struct *mm = current->mm;

	spin_lock(&mm->arg_lock);
	mm->start_code += shift;
	mm->end_code += shift;
	mm->start_data += shift;
	mm->end_data += shift;
	spin_unlock(&mm->arg_lock);
}

/* Moves the program to the range and below. NULL, or why not. */
static const char *move(struct tacet_image *image, struct tacet_range *range, struct pt_regs *regs)
{
	u64 start = image->wanted + image->border, end = image->wanted + image->end;
	u64 shift = image->wanted - image->bias;

	if (tacet_ask_map(range->number, (start - range->base) >> PAGE_SHIFT,
			  (end - start) >> PAGE_SHIFT, tacet_policy_mine(), tacet_nodes_allowed())) {
		tacet_image_unmap_below(image);
		return "the partition has no room";
	}
	if (!read_data(image) || !tell_vector(shift)) {
		tacet_image_unmap_below(image);
		vm_munmap(range->base, TACET_RANGE_BYTES);
		return "its data cannot be read: it gets no range";
	}
	tacet_range_unmirror(range, start, end);
	tell_linux(shift);
	if (!tacet_auxiliary(AT_BASE))
		regs->ip += shift;
	vm_munmap(image->bias + image->text, image->end - image->text);
	return NULL;
}

/* Gives the calling thread's new program a range, with its data in it if possible. */
void tacet_program_begin(bool eager, struct pt_regs *regs)
{
	static DEFINE_RATELIMIT_STATE(reports, 5 * HZ, 10);
	struct tacet_image image = {};
	struct tacet_range *range = NULL;
	const char *reason = tacet_image_find(&image, regs) ?: tacet_range_divide(&image);

	if (!reason && tacet_image_has_sanitizer(&image))
		reason = "a sanitizer is linked to it that has fixed addresses";
	if (tacet_range_create(eager, reason ? NULL : &image))
		reason = "it gets no range";
	if (!reason)
		range = tacet_range_get(current->mm);
	if (range) {
		reason = move(&image, range, regs);
		tacet_range_put(range);
	}
	/* A program that is killed meanwhile is no news, and must not use up the others' reports. */
	if (reason && !fatal_signal_pending(current) && __ratelimit(&reports))
		tacet_report(TACET_LOG_INFO, "process %d (%s): its data stay on Linux: %s",
			     current->tgid, current->comm, reason);
	kfree(image.headers);
	if (image.file)
		fput(image.file);
}
