/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The places of fields in Linux's private structures, found by name when the module needs
 * them. No header has these structures, and their fields move from one kernel to the next.
 *
 * Called by the device folders of pico/ with a table of wanted fields. Finds a field only if
 * its type is the expected one, and refuses with one line otherwise: a wrong place would make
 * the module write into a stranger's memory. The buffers are the kernel's own description of
 * its types. They must come from the kernel's memory and never from a program: where Linux is
 * locked down, root may not choose at which places this module reads and writes.
 */
#ifndef TACET_PICO_LAYOUT_H
#define TACET_PICO_LAYOUT_H

#include <linux/types.h>

#include "btf.h"

/* The longest refusal, with its 0. */
#define TACET_LAYOUT_REFUSAL 200

enum tacet_field_kind {
	TACET_FIELD_POINTER,		/* to struct @type; to void if @type is NULL and @bytes 0;
					 * to an integer of @bytes */
	TACET_FIELD_INTEGER,		/* of @bytes; 0: any size */
	TACET_FIELD_INTEGERS,		/* an array of integers of @bytes */
	TACET_FIELD_STRUCT,		/* struct @type itself */
	TACET_FIELD_ENUM,		/* enum @type */
	TACET_FIELD_ENUMERATOR,		/* no place, but a value: @structure is an enum's name */
};

struct tacet_field {
	enum tacet_field_kind kind;
	u32 bytes;
	const char *type;
	/* The second place is for kernels that lack the first; @structure NULL: no second one. */
	struct {
		const char *structure, *member;
	} at[2];
};

struct tacet_field_place {
	u32 offset, bytes;
	u32 which;			/* the index in @at */
	s64 value;			/* of an enumerator */
};

/* 0, or -EINVAL with a refusal: these buffers cannot be read. @split is the driver's part, NULL
 * if the driver is built in. About 17 KiB: not for a stack. */
int tacet_layout_open(struct tacet_btf *btf, const void *base, size_t base_bytes,
		      const void *split, size_t split_bytes, char refusal[TACET_LAYOUT_REFUSAL]);

/* Fills all @count places, or -ENOENT with a refusal that names the first field at fault. Takes
 * some milliseconds per field; never sleeps. */
int tacet_layout_find(const struct tacet_btf *btf, const struct tacet_field *fields,
		      unsigned int count, struct tacet_field_place *places,
		      char refusal[TACET_LAYOUT_REFUSAL]);

#endif
