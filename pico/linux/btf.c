// SPDX-License-Identifier: GPL-2.0
/*
 * Reads BTF. Everything that a buffer says is doubted: tacet_btf_open walks once through all
 * types and refuses one that does not fit, and each later read is checked again, since a
 * number in one type may name any other.
 *
 * Called by layout.c. Any context: it neither allocates nor sleeps, but a walk takes some
 * milliseconds.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "btf.h"

#define MAGIC 0xeb9f
#define VERSION 1
/* Words of the header up to the strings, and with the sizes of kinds (Linux 7 and later). */
#define HEADER_BYTES 24
#define HEADER_BYTES_WITH_SIZES 32
#define TYPE_BYTES 12
#define MOST_TYPES 0xfffff

struct header {
	u16 magic;
	u8 version, flags;
	u32 header_bytes, types, types_bytes, strings, strings_bytes, sizes, sizes_bytes;
};

/* 0 outside of the types. */
static u32 word(const struct tacet_btf_part *part, u64 at)
{
	u32 value;

	if (at + sizeof(value) > part->types_bytes)
		return 0;
	memcpy(&value, part->types + at, sizeof(value));
	return value;
}

/* The bytes that follow a type; false: this kind is unknown, so that its end is too. */
static bool details_bytes(const struct tacet_btf_part *part, u32 kind, u32 count, u64 *bytes)
{
	switch (kind) {
	case TACET_BTF_POINTER:
	case TACET_BTF_FORWARD:
	case TACET_BTF_TYPEDEF:
	case TACET_BTF_VOLATILE:
	case TACET_BTF_CONST:
	case TACET_BTF_RESTRICT:
	case TACET_BTF_FUNCTION:
	case TACET_BTF_FLOAT:
	case TACET_BTF_TYPE_TAG:
		*bytes = 0;
		return true;
	case TACET_BTF_INT:
	case TACET_BTF_VARIABLE:
	case TACET_BTF_DECLARATION_TAG:
		*bytes = 4;
		return true;
	case TACET_BTF_ARRAY:
		*bytes = 12;
		return true;
	case TACET_BTF_STRUCT:
	case TACET_BTF_UNION:
	case TACET_BTF_SECTION:
	case TACET_BTF_ENUM64:
		*bytes = 12ull * count;
		return true;
	case TACET_BTF_ENUM:
	case TACET_BTF_PROTOTYPE:
		*bytes = 8ull * count;
		return true;
	}
	/* A kind that is newer than this code: the kernel may tell its sizes. */
	if (!kind || kind >= part->kinds)
		return false;
	*bytes = part->sizes[4 * kind] + (u64)part->sizes[4 * kind + 1] * count;
	return true;
}

/* The type at @at, and the place of the one after it; false: none, or it does not fit. */
static bool read_type(const struct tacet_btf_part *part, u32 at, struct tacet_btf_type *type, u32 *next)
{
	u32 info = word(part, (u64)at + 4);
	u64 bytes;

	if ((u64)at + TYPE_BYTES > part->types_bytes)
		return false;
	*type = (struct tacet_btf_type){
		.part = part,
		.name = word(part, at),
		.kind = (info >> 24) & 0x7f,
		.flag = info >> 31,
		.count = info & 0xffffff,
		.value = word(part, (u64)at + 8),
		.details = at + TYPE_BYTES,
	};
	if (!details_bytes(part, type->kind, type->count, &bytes))
		return false;
	if (bytes > part->types_bytes - type->details)
		return false;
	*next = type->details + bytes;
	return true;
}

/* One mark more; if there is no room, every other mark goes. */
static void mark(struct tacet_btf_part *part, u32 index, u32 at)
{
	u32 i;

	if (index % part->stride)
		return;
	if (index / part->stride == TACET_BTF_MARKS) {
		for (i = 0; i < TACET_BTF_MARKS / 2; i++)
			part->marks[i] = part->marks[2 * i];
		part->stride *= 2;
	}
	part->marks[index / part->stride] = at;
}

static const char *count_types(struct tacet_btf_part *part)
{
	struct tacet_btf_type type;
	u32 at, next;

	part->stride = 1;
	for (at = 0; at < part->types_bytes; at = next) {
		if (!read_type(part, at, &type, &next))
			return "a type does not fit or is of an unknown kind";
		if (part->first + part->count > MOST_TYPES)
			return "too many types";
		mark(part, part->count++, at);
	}
	return NULL;
}

/* True: the range lies in @room bytes. */
static bool fits(u32 start, u32 bytes, size_t room)
{
	return start <= room && bytes <= room - start;
}

static const char *open_part(struct tacet_btf_part *part, const u8 *buffer, size_t bytes)
{
	struct header header = {};

	if (bytes < HEADER_BYTES)
		return "shorter than a header";
	memcpy(&header, buffer, HEADER_BYTES);
	if (header.magic != MAGIC || header.version != VERSION)
		return "not BTF of version 1";
	if (header.header_bytes < HEADER_BYTES || header.header_bytes > bytes)
		return "the header does not fit";
	if (header.header_bytes >= HEADER_BYTES_WITH_SIZES)
		memcpy(&header, buffer, HEADER_BYTES_WITH_SIZES);
	buffer += header.header_bytes;
	bytes -= header.header_bytes;
	if (!fits(header.types, header.types_bytes, bytes) ||
	    !fits(header.strings, header.strings_bytes, bytes) ||
	    !fits(header.sizes, header.sizes_bytes, bytes))
		return "truncated";
	if (header.strings_bytes && buffer[header.strings + header.strings_bytes - 1])
		return "the last string has no end";
	part->types = buffer + header.types;
	part->types_bytes = header.types_bytes;
	part->strings = (const char *)buffer + header.strings;
	part->strings_bytes = header.strings_bytes;
	part->sizes = buffer + header.sizes;
	part->kinds = header.sizes_bytes / 4;
	return count_types(part);
}

const char *tacet_btf_open(struct tacet_btf *btf, const void *base, size_t base_bytes,
			   const void *split, size_t split_bytes)
{
	struct tacet_btf_part *own = &btf->parts[0], *driver = &btf->parts[1];
	const char *reason;

	memset(btf, 0, sizeof(*btf));
	/* 0 is void */
	own->first = 1;
	reason = open_part(own, base, base_bytes);
	if (reason || !split)
		return reason;
	driver->first = own->first + own->count;
	driver->first_string = own->strings_bytes;
	return open_part(driver, split, split_bytes);
}

bool tacet_btf_next(const struct tacet_btf_part *part, u32 *at, struct tacet_btf_type *type)
{
	return *at < part->types_bytes && read_type(part, *at, type, at);
}

static bool find(const struct tacet_btf_part *part, u32 number, struct tacet_btf_type *type)
{
	u32 index = number - part->first, at, skip;

	if (number < part->first || index >= part->count)
		return false;
	at = part->marks[index / part->stride];
	for (skip = index % part->stride; skip; skip--) {
		if (!read_type(part, at, type, &at))
			return false;
	}
	return read_type(part, at, type, &at);
}

bool tacet_btf_resolve(const struct tacet_btf *btf, u32 number, struct tacet_btf_type *type)
{
	unsigned int step;

	for (step = 0; step < TACET_BTF_STEPS; step++) {
		if (!number) {
			*type = (struct tacet_btf_type){ .part = &btf->parts[0] };
			return true;
		}
		if (!find(&btf->parts[0], number, type) && !find(&btf->parts[1], number, type))
			return false;
		switch (type->kind) {
		case TACET_BTF_TYPEDEF:
		case TACET_BTF_VOLATILE:
		case TACET_BTF_CONST:
		case TACET_BTF_RESTRICT:
		case TACET_BTF_TYPE_TAG:
			number = type->value;
			break;
		default:
			return true;
		}
	}
	return false;
}

const char *tacet_btf_name(const struct tacet_btf *btf, u32 name)
{
	const struct tacet_btf_part *part = &btf->parts[name >= btf->parts[0].strings_bytes];

	name -= part->first_string;
	return name < part->strings_bytes ? part->strings + name : "";
}

u32 tacet_btf_detail(const struct tacet_btf_type *type, u32 index)
{
	return word(type->part, type->details + 4ull * index);
}

struct tacet_btf_member tacet_btf_member(const struct tacet_btf_type *type, u32 index)
{
	u64 first = 3ull * index;
	u32 place = word(type->part, type->details + 4 * (first + 2));

	return (struct tacet_btf_member){
		.name = word(type->part, type->details + 4 * first),
		.type = word(type->part, type->details + 4 * (first + 1)),
		.offset_bits = type->flag ? place & 0xffffff : place,
		.bits = type->flag ? place >> 24 : 0,
	};
}

s64 tacet_btf_enumerator(const struct tacet_btf_type *type, u32 index, u32 *name)
{
	bool wide = type->kind == TACET_BTF_ENUM64;
	u64 at = type->details + (wide ? 12ull : 8ull) * index;
	u32 low = word(type->part, at + 4);

	*name = word(type->part, at);
	if (wide)
		return (s64)((u64)word(type->part, at + 8) << 32 | low);
	return type->flag ? (s32)low : (s64)low;
}
