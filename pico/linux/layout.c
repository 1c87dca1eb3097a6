// SPDX-License-Identifier: GPL-2.0
/*
 * Finds wanted fields in a kernel's types: the structure by its name, the member in it and in
 * the anonymous structures and unions within, then the member's type against the expected one.
 *
 * Called by the device folders of pico/. Any context. Must never accept a field that it is
 * not sure of: structures of one name that disagree are refused.
 *
 * TRICK fields of drivers by BTF: fields of structures that no header declares are found by the
 * kernel's own description of its types.
 * BREAKS a kernel without BTF, or with other types.
 * NOTICED each field's type is compared; the device has no fast path otherwise, and `tacet status`
 * says which field.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "layout.h"
#include "layout_text.h"

/* Anonymous structures in one another. */
#define MOST_DEPTH 8
/* Members that one search looks at: hostile types could nest without an end in sight. */
#define MOST_MEMBERS 20000

struct search {
	const struct tacet_btf *btf;
	const char *member;
	u32 left;			/* of MOST_MEMBERS */
};

struct hit {
	u32 type;
	u64 offset_bits;
	u32 bits;
};

int tacet_layout_open(struct tacet_btf *btf, const void *base, size_t base_bytes,
		      const void *split, size_t split_bytes, char refusal[TACET_LAYOUT_REFUSAL])
{
	const char *reason = tacet_btf_open(btf, base, base_bytes, split, split_bytes);

	if (!reason)
		return 0;
	snprintf(refusal, TACET_LAYOUT_REFUSAL, "the kernel's description of its types (BTF): %s", reason);
	return -EINVAL;
}

static bool find_member(struct search *search, const struct tacet_btf_type *type, u64 base_bits,
			unsigned int depth, struct hit *hit)
{
	u32 i;

	for (i = 0; i < type->count && search->left; i++, search->left--) {
		struct tacet_btf_member member = tacet_btf_member(type, i);
		const char *name = tacet_btf_name(search->btf, member.name);
		u64 offset_bits = base_bits + member.offset_bits;
		struct tacet_btf_type inner;

		if (!strcmp(name, search->member)) {
			*hit = (struct hit){ member.type, offset_bits, member.bits };
			return true;
		}
		if (*name || depth == MOST_DEPTH || !tacet_btf_resolve(search->btf, member.type, &inner))
			continue;
		if (inner.kind != TACET_BTF_STRUCT && inner.kind != TACET_BTF_UNION)
			continue;
		if (find_member(search, &inner, offset_bits, depth + 1, hit))
			return true;
		if (!search->left)
			return false;
	}
	return false;
}

static bool is_named(const struct tacet_btf *btf, const struct tacet_btf_type *type, const char *name)
{
	return !strcmp(tacet_btf_name(btf, type->name), name);
}

static bool is_integer(const struct tacet_btf_type *type, u32 bytes)
{
	bool sane = type->kind == TACET_BTF_INT && type->value && type->value <= sizeof(u64);

	return sane && (!bytes || type->value == bytes);
}

static bool is_enum(u32 kind)
{
	return kind == TACET_BTF_ENUM || kind == TACET_BTF_ENUM64;
}

/* A structure that only other files know is declared here, and is as good. */
static bool points_to(const struct tacet_btf *btf, const struct tacet_field *field, u32 number)
{
	struct tacet_btf_type type;
	bool is_struct;

	if (!tacet_btf_resolve(btf, number, &type))
		return false;
	is_struct = type.kind == TACET_BTF_STRUCT || (type.kind == TACET_BTF_FORWARD && !type.flag);
	if (field->type)
		return is_struct && is_named(btf, &type, field->type);
	return field->bytes ? is_integer(&type, field->bytes) : type.kind == TACET_BTF_VOID;
}

/* The size of a member whose type is the wanted one; 0: another type. */
static u32 matching_bytes(const struct tacet_btf *btf, const struct tacet_field *field, u32 number)
{
	struct tacet_btf_type type, element;
	u64 bytes;

	if (!tacet_btf_resolve(btf, number, &type))
		return 0;
	switch (field->kind) {
	case TACET_FIELD_POINTER:
		return type.kind == TACET_BTF_POINTER && points_to(btf, field, type.value) ? sizeof(void *) : 0;
	case TACET_FIELD_INTEGER:
		return is_integer(&type, field->bytes) ? type.value : 0;
	case TACET_FIELD_INTEGERS:
		if (type.kind != TACET_BTF_ARRAY ||
		    !tacet_btf_resolve(btf, tacet_btf_detail(&type, 0), &element) ||
		    !is_integer(&element, field->bytes))
			return 0;
		bytes = (u64)element.value * tacet_btf_detail(&type, 2);
		return bytes <= U32_MAX ? bytes : 0;
	case TACET_FIELD_STRUCT:
		return type.kind == TACET_BTF_STRUCT && is_named(btf, &type, field->type) ? type.value : 0;
	case TACET_FIELD_ENUM:
		return is_enum(type.kind) && is_named(btf, &type, field->type) ? type.value : 0;
	default:
		return 0;
	}
}

static int find_in_struct(const struct tacet_btf *btf, const struct tacet_field *field, u32 which,
			  const struct tacet_btf_type *type, struct tacet_field_place *place, struct tacet_line *line)
{
	struct search search = { btf, field->at[which].member, MOST_MEMBERS };
	struct hit hit;
	u32 bytes;

	if (!find_member(&search, type, 0, 0, &hit)) {
		tacet_line_add(line, search.left ? "no such member in this kernel" : "too many members");
		return -ENOENT;
	}
	bytes = matching_bytes(btf, field, hit.type);
	if (!bytes || hit.bits) {
		tacet_line_add_expected(line, field);
		tacet_line_add(line, " expected, found ");
		tacet_line_add_type(line, btf, hit.type);
		tacet_line_add(line, hit.bits ? " as a bit field" : "");
		return -EINVAL;
	}
	if (hit.offset_bits % 8 || hit.offset_bits / 8 + bytes > type->value) {
		tacet_line_add(line, "it lies outside of its structure");
		return -EINVAL;
	}
	*place = (struct tacet_field_place){ .offset = hit.offset_bits / 8, .bytes = bytes, .which = which };
	return 0;
}

static int find_in_enum(const struct tacet_btf *btf, const struct tacet_field *field, u32 which,
			const struct tacet_btf_type *type, struct tacet_field_place *place, struct tacet_line *line)
{
	u32 i, name;

	for (i = 0; i < type->count; i++) {
		s64 value = tacet_btf_enumerator(type, i, &name);

		if (!strcmp(tacet_btf_name(btf, name), field->at[which].member)) {
			*place = (struct tacet_field_place){ .which = which, .value = value };
			return 0;
		}
	}
	tacet_line_add(line, "no such value in this kernel");
	return -ENOENT;
}

static bool is_wanted_kind(const struct tacet_field *field, u32 kind)
{
	if (field->kind == TACET_FIELD_ENUMERATOR)
		return is_enum(kind);
	return kind == TACET_BTF_STRUCT;
}

static int find_in_type(const struct tacet_btf *btf, const struct tacet_field *field, u32 which,
			const struct tacet_btf_type *type, struct tacet_field_place *place, struct tacet_line *line)
{
	if (field->kind == TACET_FIELD_ENUMERATOR)
		return find_in_enum(btf, field, which, type, place, line);
	return find_in_struct(btf, field, which, type, place, line);
}

/* In one buffer. All types of that name must agree. -ESRCH: there is none. */
static int find_in_part(const struct tacet_btf *btf, const struct tacet_btf_part *part,
			const struct tacet_field *field, u32 which, struct tacet_field_place *place,
			struct tacet_line *line)
{
	struct tacet_btf_type type;
	struct tacet_field_place found;
	bool one = false;
	u32 at = 0;
	int error;

	while (tacet_btf_next(part, &at, &type)) {
		if (!is_wanted_kind(field, type.kind) || !is_named(btf, &type, field->at[which].structure))
			continue;
		error = find_in_type(btf, field, which, &type, &found, line);
		if (error)
			return error;
		if (one && (found.offset != place->offset || found.bytes != place->bytes ||
			    found.value != place->value)) {
			tacet_line_add(line, "two types of that name disagree");
			return -EINVAL;
		}
		*place = found;
		one = true;
	}
	return one ? 0 : -ESRCH;
}

/* The driver's own types first: Linux's of the same name would be another driver's. */
static int find_at(const struct tacet_btf *btf, const struct tacet_field *field, u32 which,
		   struct tacet_field_place *place, struct tacet_line *line)
{
	int error;

	tacet_line_add(line, field->at[which].structure);
	tacet_line_add(line, ".");
	tacet_line_add(line, field->at[which].member);
	tacet_line_add(line, ": ");
	error = find_in_part(btf, &btf->parts[1], field, which, place, line);
	if (error == -ESRCH)
		error = find_in_part(btf, &btf->parts[0], field, which, place, line);
	if (error == -ESRCH)
		tacet_line_add(line, "no such type in this kernel");
	return error;
}

int tacet_layout_find(const struct tacet_btf *btf, const struct tacet_field *fields,
		      unsigned int count, struct tacet_field_place *places,
		      char refusal[TACET_LAYOUT_REFUSAL])
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct tacet_line line = { .text = refusal, .room = TACET_LAYOUT_REFUSAL };
		int error = find_at(btf, &fields[i], 0, &places[i], &line);

		/* A member of another type is no reason to look elsewhere. */
		if (fields[i].at[1].structure && (error == -ENOENT || error == -ESRCH)) {
			tacet_line_add(&line, "; ");
			error = find_at(btf, &fields[i], 1, &places[i], &line);
		}
		if (error)
			return -ENOENT;
	}
	refusal[0] = 0;
	return 0;
}
