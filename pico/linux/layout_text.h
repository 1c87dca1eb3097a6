/* SPDX-License-Identifier: GPL-2.0 */
/* Words of a refusal. Called by layout.c alone. A line never grows beyond its room. */
#ifndef TACET_PICO_LAYOUT_TEXT_H
#define TACET_PICO_LAYOUT_TEXT_H

#include "layout.h"

struct tacet_line {
	char *text;
	size_t room, used;
};

void tacet_line_add(struct tacet_line *line, const char *words);
/* The type that a field should have: "struct request_queue *". */
void tacet_line_add_expected(struct tacet_line *line, const struct tacet_field *field);
/* The type that it has. */
void tacet_line_add_type(struct tacet_line *line, const struct tacet_btf *btf, u32 number);

#endif
