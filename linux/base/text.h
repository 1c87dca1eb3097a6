/* SPDX-License-Identifier: GPL-2.0 */
/* A text that grows. Any context that may sleep. */
#ifndef TACET_BASE_TEXT_H
#define TACET_BASE_TEXT_H

#include <linux/types.h>

/* @start has a 0 after @bytes once anything was appended; before that it is NULL. */
struct tacet_text {
	char *start;
	size_t bytes, room;
};

int tacet_text_reserve(struct tacet_text *text, size_t more);
int tacet_text_append(struct tacet_text *text, const char *from, size_t bytes);
__printf(2, 3) int tacet_text_print(struct tacet_text *text, const char *format, ...);
int tacet_text_read_file(struct tacet_text *text, const char *path);
void tacet_text_empty(struct tacet_text *text);
void tacet_text_free(struct tacet_text *text);

/* The line at @line of a text that ends at @end: where the next one begins. */
const char *tacet_text_next_line(const char *line, const char *end);

#endif
