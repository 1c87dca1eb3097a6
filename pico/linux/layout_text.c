// SPDX-License-Identifier: GPL-2.0
/*
 * Words of a refusal. Names of types come from a buffer that nobody vouches for, and the line
 * goes to the kernel's log: only printable characters pass.
 *
 * Called by layout.c. Any context.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "layout_text.h"

void tacet_line_add(struct tacet_line *line, const char *words)
{
	for (; *words && line->used + 1 < line->room; words++)
		line->text[line->used++] = *words >= ' ' && *words <= '~' ? *words : '?';
	line->text[line->used] = 0;
}

static void add_number(struct tacet_line *line, u32 number)
{
	char digits[12];

	snprintf(digits, sizeof(digits), "%u", number);
	tacet_line_add(line, digits);
}

static void add_integer(struct tacet_line *line, u32 bytes)
{
	tacet_line_add(line, "integer");
	if (!bytes)
		return;
	tacet_line_add(line, " of ");
	add_number(line, bytes);
	tacet_line_add(line, bytes == 1 ? " byte" : " bytes");
}

void tacet_line_add_expected(struct tacet_line *line, const struct tacet_field *field)
{
	switch (field->kind) {
	case TACET_FIELD_POINTER:
		if (field->type) {
			tacet_line_add(line, "struct ");
			tacet_line_add(line, field->type);
		} else if (field->bytes) {
			add_integer(line, field->bytes);
		} else {
			tacet_line_add(line, "void");
		}
		tacet_line_add(line, " *");
		return;
	case TACET_FIELD_INTEGER:
		add_integer(line, field->bytes);
		return;
	case TACET_FIELD_INTEGERS:
		tacet_line_add(line, "array of ");
		add_integer(line, field->bytes);
		return;
	default:
		tacet_line_add(line, field->kind == TACET_FIELD_STRUCT ? "struct " : "enum ");
		tacet_line_add(line, field->type);
	}
}

static const char *keyword(const struct tacet_btf_type *type)
{
	switch (type->kind) {
	case TACET_BTF_VOID:
		return "void";
	case TACET_BTF_STRUCT:
		return "struct ";
	case TACET_BTF_UNION:
		return "union ";
	case TACET_BTF_FORWARD:
		return type->flag ? "union " : "struct ";
	case TACET_BTF_ENUM:
	case TACET_BTF_ENUM64:
		return "enum ";
	case TACET_BTF_PROTOTYPE:
		return "function";
	default:
		return "";
	}
}

void tacet_line_add_type(struct tacet_line *line, const struct tacet_btf *btf, u32 number)
{
	unsigned int pointers = 0;
	struct tacet_btf_type type;

	while (tacet_btf_resolve(btf, number, &type)) {
		if (type.kind == TACET_BTF_POINTER && pointers < TACET_BTF_STEPS) {
			pointers++;
			number = type.value;
			continue;
		}
		if (type.kind == TACET_BTF_ARRAY && !pointers && line->used + 1 < line->room) {
			tacet_line_add(line, "array of ");
			number = tacet_btf_detail(&type, 0);
			continue;
		}
		tacet_line_add(line, keyword(&type));
		if (type.kind != TACET_BTF_VOID)
			tacet_line_add(line, tacet_btf_name(btf, type.name));
		tacet_line_add(line, pointers ? " " : "");
		while (pointers--)
			tacet_line_add(line, "*");
		return;
	}
	tacet_line_add(line, "a type without an end");
}
