// SPDX-License-Identifier: GPL-2.0
/*
 * A new program's file: whether its data (.data and .bss) can be in the process's range, and
 * the mapping of the rest there.
 *
 * A position-independent program is moved before its first instruction, so that one of its
 * writable pages, the border, is at the beginning of the range. The pages that it may only read or execute
 * stay a mapping of its file, below; the writable pages between are Linux's anonymous memory. The border
 * is random (memory/places.h), and behind all that the loader makes read-only: no such call
 * reaches across it. The auxiliary vector tells the program and its loader where it is, as always.
 *
 * Called by memory/program.c and memory/create.c.
 *
 * TRICK a program that moves: before its first instruction a new program's data and break are mapped
 * anew, partly in the range.
 * BREAKS a loader that has already written addresses; sanitizers.
 * NOTICED `tacet_image_find()` refuses what it does not know; scenario `memory.sh images`.
 */
#include <linux/binfmts.h>
#include <linux/elf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mman.h>
#include <linux/ptrace.h>
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "border/border.h"
#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

#define MOST_HEADERS 64
#define MOST_BYTES (32ull << 30)	/* of text, and of data; the break follows */

/* A value of the calling process's auxiliary vector; 0: it has none. */
u64 tacet_auxiliary(u64 type)
{
	const unsigned long *word = current->mm->saved_auxv;
	unsigned int i;

	for (i = 0; i + 1 < AT_VECTOR_SIZE && word[i] != AT_NULL; i += 2)
		if (word[i] == type)
			return word[i + 1];
	return 0;
}

/* The file that Linux has mapped at @address, with a reference. */
static struct file *file_at(unsigned long address)
{
	struct vm_area_struct *area;
	struct file *file = NULL;

	mmap_read_lock(current->mm);
	area = vma_lookup(current->mm, address);
	if (area && area->vm_file)
		file = get_file(area->vm_file);
	mmap_read_unlock(current->mm);
	return file;
}

bool tacet_image_read(struct file *file, void *to, size_t bytes, loff_t from)
{
	return kernel_read(file, to, bytes, &from) == bytes;
}

bool tacet_segment_writable(const struct elf_phdr *segment)
{
	return segment->p_flags & PF_W;
}

/* The loader makes the whole pages of @segment read-only. If the file is damaged it may be
 * anywhere: then it does not matter. */
static void settle(struct tacet_image *image, const struct elf_phdr *segment)
{
	u64 end = PAGE_ALIGN(segment->p_vaddr + segment->p_memsz);

	if (end > image->settled && end <= image->end)
		image->settled = end;
}

/* Adds the next segment, by address: text first, then data. NULL, or why that cannot be. */
static const char *add_segment(struct tacet_image *image, const struct elf_phdr *segment)
{
	u64 first = segment->p_vaddr & PAGE_MASK;
	u64 end = segment->p_vaddr + segment->p_memsz;

	if (segment->p_memsz < segment->p_filesz || end < segment->p_vaddr ||
	    end >= TASK_SIZE_MAX || first < image->end ||
	    offset_in_page(segment->p_vaddr) != offset_in_page(segment->p_offset))
		return "its segments are not in order";
	if (!image->end)
		image->text = first;
	if (tacet_segment_writable(segment) && !image->data)
		image->data = first;
	if (tacet_segment_writable(segment) && segment->p_flags & PF_X)
		return "it has a segment to write and execute";
	if (!tacet_segment_writable(segment) && image->data)
		return "a segment to read follows one to write";
	if (!tacet_segment_writable(segment) && segment->p_memsz != segment->p_filesz)
		return "a segment to read is not all in its file";
	image->end = PAGE_ALIGN(end);
	image->alignment = max_t(u64, image->alignment, segment->p_align);
	return NULL;
}

static const char *add_segments(struct tacet_image *image)
{
	const char *reason = NULL;
	unsigned int i;

	for (i = 0; i < image->header_count && !reason; i++)
		if (image->headers[i].p_type == PT_LOAD && image->headers[i].p_memsz)
			reason = add_segment(image, &image->headers[i]);
	if (reason)
		return reason;
	if (!image->data)
		return "it has no segment to write";
	if (image->data == image->text)
		return "its first segment is one to write";
	if (!is_power_of_2(image->alignment) || image->alignment > TACET_RANGE_BYTES)
		return "its alignment is no power of 2";
	image->alignment = max_t(u64, image->alignment, PAGE_SIZE);
	image->settled = image->data;
	for (i = 0; i < image->header_count; i++)
		if (image->headers[i].p_type == PT_GNU_RELRO)
			settle(image, &image->headers[i]);
	if (image->end - image->data > MOST_BYTES || image->data - image->text > MOST_BYTES)
		return "its text or its data are larger than 32 GiB";
	return NULL;
}

/* Reads the program's headers from its file. */
static const char *read_headers(struct tacet_image *image, struct elfhdr *header)
{
	size_t bytes;

	if (!tacet_image_read(image->file, header, sizeof(*header), 0) ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_phentsize != sizeof(struct elf_phdr))
		return "it is not a 64-bit ELF file";
	if (header->e_type != ET_DYN)
		return "it is not position-independent";
	if (!header->e_phnum || header->e_phnum > MOST_HEADERS)
		return "it has too many segments";
	bytes = header->e_phnum * sizeof(struct elf_phdr);
	image->header_count = header->e_phnum;
	image->headers = kmalloc(bytes, GFP_KERNEL);
	if (!image->headers || !tacet_image_read(image->file, image->headers, bytes, header->e_phoff))
		return "its segments cannot be read";
	return add_segments(image);
}

/* The program is where Linux has put it, and has not begun. */
static const char *check_place(struct tacet_image *image, const struct elfhdr *header,
			       const struct pt_regs *regs)
{
	u64 entry = tacet_auxiliary(AT_ENTRY);

	image->bias = entry - header->e_entry;
	if (header->e_entry < image->text || header->e_entry >= image->end)
		return "its entry point is outside its segments";
	if (offset_in_page(image->bias) || image->bias > TASK_SIZE_MAX ||
	    tacet_auxiliary(AT_PHDR) - image->bias >= image->end)
		return "it is not where its file says";
	if (regs->sp != current->mm->start_stack || (!tacet_auxiliary(AT_BASE) && regs->ip != entry))
		return "it has executed instructions";
	return NULL;
}

/* Reads the calling thread's new program, which is about to begin. NULL, or why its data cannot
 * be in a range. The caller releases what @image has in any case. */
const char *tacet_image_find(struct tacet_image *image, const struct pt_regs *regs)
{
	struct elfhdr header;
	const char *reason;

	image->file = file_at(tacet_auxiliary(AT_PHDR));
	if (!image->file)
		return "it has no file";
	reason = read_headers(image, &header);
	return reason ?: check_place(image, &header, regs);
}

static unsigned long segment_protection(const struct elf_phdr *segment)
{
	return (segment->p_flags & PF_R ? PROT_READ : 0) | (segment->p_flags & PF_X ? PROT_EXEC : 0);
}

static int map_segment(struct tacet_image *image, u64 bias, const struct elf_phdr *segment)
{
	unsigned long start = bias + (segment->p_vaddr & PAGE_MASK), at;

	at = vm_mmap(image->file, start, PAGE_ALIGN(bias + segment->p_vaddr + segment->p_memsz) - start,
		     segment_protection(segment), MAP_PRIVATE | MAP_FIXED_NOREPLACE,
		     segment->p_offset & PAGE_MASK);
	return at == start ? 0 : IS_ERR_VALUE(at) ? (int)at : -EINVAL;
}

/* Maps the writable pages before the border. The caller reads their content. */
static int map_first_data(struct tacet_image *image)
{
	unsigned long start = image->wanted + image->data, at;

	if (image->border == image->data)
		return 0;
	at = vm_mmap(NULL, start, image->border - image->data, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, 0);
	if (at != start)
		return IS_ERR_VALUE(at) ? (int)at : -EINVAL;
	image->mapped = image->border;
	return 0;
}

/* Maps what lies below the range at @base: the text and the first data. -EEXIST: something
 * else is there. */
int tacet_image_map_below(struct tacet_image *image, u64 base)
{
	unsigned int i;
	int error = 0;

	image->wanted = base - image->border;	/* aligned, as both are */
	if (!image->wanted)
		return -EINVAL;
	for (i = 0; i < image->header_count && !error; i++) {
		const struct elf_phdr *segment = &image->headers[i];

		if (segment->p_type != PT_LOAD || !segment->p_memsz || tacet_segment_writable(segment))
			continue;
		error = map_segment(image, image->wanted, segment);
		if (error)
			break;
		image->mapped = PAGE_ALIGN(segment->p_vaddr + segment->p_memsz);
	}
	error = error ?: map_first_data(image);
	if (error)
		tacet_image_unmap_below(image);
	return error;
}

/* Undoes it: unmaps what was mapped, and no other mapping. */
void tacet_image_unmap_below(struct tacet_image *image)
{
	unsigned int i;

	for (i = 0; i < image->header_count; i++) {
		const struct elf_phdr *segment = &image->headers[i];
		u64 start = segment->p_vaddr & PAGE_MASK;

		if (segment->p_type == PT_LOAD && segment->p_memsz && !tacet_segment_writable(segment) &&
		    start < image->mapped)
			vm_munmap(image->wanted + start,
				  PAGE_ALIGN(segment->p_vaddr + segment->p_memsz) - start);
	}
	if (image->mapped > image->data)
		vm_munmap(image->wanted + image->data, image->border - image->data);
	image->mapped = 0;
}

/* How many pages at the beginning of the range are for the data. */
u64 tacet_image_pages(const struct tacet_image *image)
{
	return (image->end - image->border) >> PAGE_SHIFT;
}
