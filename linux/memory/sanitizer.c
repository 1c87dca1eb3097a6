// SPDX-License-Identifier: GPL-2.0
/*
 * Whether a new program is built with a sanitizer that ends if a program lies outside certain
 * addresses. Such a program exports or imports its runtime's names, so they are among the
 * strings of its dynamic symbols.
 *
 * Called by memory/program.c: a program with such a sanitizer is not moved. It reads a file that
 * may be damaged. What it does not find in it is not there: the program is moved at worst.
 */
#include <linux/elf.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "memory/memory.h"
#include "tacet.h"

#define MOST_ENTRIES 1024u		/* of the dynamic section */
#define MOST_BYTES (256ull << 20)	/* of strings */
#define STEP_BYTES 4096u
#define LONGEST 16u			/* of the names, with its end */

/* Every instrumented object has the name; of the data-flow sanitizer, the program. */
static const char *const names[] = { "__tsan_init", "__msan_init", "__nsan_init", "dfsan_set_label" };

/* Where in the file @address is. */
static bool find_in_file(const struct tacet_image *image, u64 address, loff_t *at)
{
	unsigned int i;

	for (i = 0; i < image->header_count; i++) {
		const struct elf64_phdr *segment = &image->headers[i];

		if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
		    address - segment->p_vaddr >= segment->p_filesz)
			continue;
		*at = segment->p_offset + (address - segment->p_vaddr);
		return *at >= 0;
	}
	return false;
}

/* Where the strings of the dynamic symbols are, according to the dynamic section. */
static bool find_strings(const struct tacet_image *image, const struct elf64_phdr *section, loff_t *at, u64 *bytes)
{
	loff_t from = section->p_offset;
	unsigned int i, most = min_t(u64, section->p_filesz / sizeof(Elf64_Dyn), MOST_ENTRIES);
	u64 address = 0;
	Elf64_Dyn entry;

	*bytes = 0;
	for (i = 0; i < most && from >= 0; i++, from += sizeof(entry)) {
		if (!tacet_image_read(image->file, &entry, sizeof(entry), from) || entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_STRTAB)
			address = entry.d_un.d_ptr;
		if (entry.d_tag == DT_STRSZ)
			*bytes = min_t(u64, entry.d_un.d_val, MOST_BYTES);
	}
	return *bytes && find_in_file(image, address, at);
}

/* One of the names is at the beginning of the @bytes bytes at @text. */
static bool is_name(const char *text, size_t bytes)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) < bytes && !memcmp(text, names[i], strlen(names[i]) + 1))
			return true;
	return false;
}

static bool has_name(const char *text, size_t bytes)
{
	const char *at = text, *end = text + bytes;

	/* Linkers let names share their ends: one may begin within another. */
	for (; at < end; at++)
		if ((*at == '_' || *at == 'd') && is_name(at, end - at))
			return true;
	return false;
}

/* Reads the strings in steps that overlap by the longest name. */
static bool search(struct file *file, loff_t at, u64 bytes)
{
	char *text = kmalloc(STEP_BYTES, GFP_KERNEL);
	bool found = false;

	while (text && !found && bytes && !fatal_signal_pending(current)) {
		size_t step = min_t(u64, bytes, STEP_BYTES);

		if (!tacet_image_read(file, text, step, at))
			break;
		found = has_name(text, step);
		if (step < bytes)
			step -= LONGEST;
		at += step;
		bytes -= step;
		cond_resched();
	}
	kfree(text);
	return found;
}

bool tacet_image_has_sanitizer(const struct tacet_image *image)
{
	unsigned int i;
	loff_t at;
	u64 bytes;

	for (i = 0; i < image->header_count; i++)
		if (image->headers[i].p_type == PT_DYNAMIC)
			return find_strings(image, &image->headers[i], &at, &bytes) &&
			       search(image->file, at, bytes);
	return false;
}
