/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The types of a kernel, as BTF describes them: Linux's own, and those that one driver adds.
 *
 * Owns the places of types in two buffers, which the caller keeps unchanged. Called by
 * layout.c alone. Must never read outside the buffers, whatever they contain, and never
 * allocate or sleep.
 *
 * No library does this: libbpf and its like need a C library and a heap, and this code runs
 * in the kernel. Masks and kinds are not Linux's header's either: those of an old kernel's
 * headers are too narrow for what a newer pahole writes.
 */
#ifndef TACET_PICO_BTF_H
#define TACET_PICO_BTF_H

#include <linux/types.h>

/* Types that are remembered by their place; the others are found from the one before. */
#define TACET_BTF_MARKS 2048
/* A type is found in at most so many steps through typedef, const and the like. */
#define TACET_BTF_STEPS 32

enum tacet_btf_kind {
	TACET_BTF_VOID = 0,
	TACET_BTF_INT = 1,
	TACET_BTF_POINTER = 2,
	TACET_BTF_ARRAY = 3,
	TACET_BTF_STRUCT = 4,
	TACET_BTF_UNION = 5,
	TACET_BTF_ENUM = 6,
	TACET_BTF_FORWARD = 7,
	TACET_BTF_TYPEDEF = 8,
	TACET_BTF_VOLATILE = 9,
	TACET_BTF_CONST = 10,
	TACET_BTF_RESTRICT = 11,
	TACET_BTF_FUNCTION = 12,
	TACET_BTF_PROTOTYPE = 13,
	TACET_BTF_VARIABLE = 14,
	TACET_BTF_SECTION = 15,
	TACET_BTF_FLOAT = 16,
	TACET_BTF_DECLARATION_TAG = 17,
	TACET_BTF_TYPE_TAG = 18,
	TACET_BTF_ENUM64 = 19,
};

/* One buffer: its types are numbered from @first on, its strings from @first_string. */
struct tacet_btf_part {
	const u8 *types, *sizes;
	const char *strings;
	u32 types_bytes, strings_bytes, kinds;	/* @kinds: entries of @sizes */
	u32 first, count, first_string;
	u32 stride;				/* types from one mark to the next */
	u32 marks[TACET_BTF_MARKS];
};

/* Linux's own types, then the driver's (count 0: the driver is part of Linux). */
struct tacet_btf {
	struct tacet_btf_part parts[2];
};

struct tacet_btf_type {
	const struct tacet_btf_part *part;
	u32 name;
	u32 kind;
	bool flag;
	u32 count;	/* of members, enumerators, … */
	u32 value;	/* bytes, or the number of another type */
	u32 details;	/* where that which follows the type begins */
};

struct tacet_btf_member {
	u32 name, type;
	u32 offset_bits, bits;	/* @bits: 0 unless a bit field */
};

/* NULL, or the reason for which these buffers are no BTF. @split may be NULL. */
const char *tacet_btf_open(struct tacet_btf *btf, const void *base, size_t base_bytes,
			   const void *split, size_t split_bytes);

/* The first type of a part, or the next one; false at the end. @at begins as 0. */
bool tacet_btf_next(const struct tacet_btf_part *part, u32 *at, struct tacet_btf_type *type);
/* The type without typedef, const, volatile and tags; false: the buffers contradict
 * themselves. */
bool tacet_btf_resolve(const struct tacet_btf *btf, u32 number, struct tacet_btf_type *type);
/* A string; "" if there is none at that place. */
const char *tacet_btf_name(const struct tacet_btf *btf, u32 name);
/* A member of a structure or union; @index < type->count. */
struct tacet_btf_member tacet_btf_member(const struct tacet_btf_type *type, u32 index);
/* An enumerator of an enumeration of either size. */
s64 tacet_btf_enumerator(const struct tacet_btf_type *type, u32 index, u32 *name);
/* Word @index of that which follows a type: an array's is {element, index type, count}. */
u32 tacet_btf_detail(const struct tacet_btf_type *type, u32 index);

#endif
