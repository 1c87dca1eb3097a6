// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/PID/maps, as the hosted process PID reads its own: with the mappings in its range
 * instead of the one mapping that Linux has there. All other lines are Linux's own text.
 *
 * Called by view/files.c with the view's lock. Sleeps.
 */
#include <linux/mman.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "memory/memory.h"
#include "view/view.h"

#define NAME_COLUMN 73	/* of fs/proc/task_mmu.c, with addresses of 8 bytes */

/* Appends a line like Linux's for anonymous memory. */
static int append_run(struct tacet_text *text, const struct tacet_range *range, const struct tacet_run *run)
{
	u64 start = range->base + ((u64)run->page << PAGE_SHIFT);
	u64 end = start + ((u64)run->pages << PAGE_SHIFT);
	bool heap = start < range->shared->break_end && end > range->shared->break_start;
	char line[NAME_COLUMN + 16];
	int bytes;

	bytes = snprintf(line, sizeof(line), "%08llx-%08llx %c%c%cp 00000000 00:00 0 ", start, end,
			 run->protection & PROT_READ ? 'r' : '-',
			 run->protection & PROT_WRITE ? 'w' : '-',
			 run->protection & PROT_EXEC ? 'x' : '-');
	if (heap)
		bytes += snprintf(line + bytes, sizeof(line) - bytes, "%*s[heap]",
				  max(NAME_COLUMN - bytes, 0), "");
	line[bytes++] = '\n';
	return tacet_text_append(text, line, bytes);
}

static int append_range(struct tacet_text *text, struct tacet_range *range)
{
	struct tacet_run run = {};
	int error = 0;

	while (!error && !fatal_signal_pending(current)) {
		run = tacet_range_run(range, run.page + run.pages);
		if (!run.pages)
			break;
		error = append_run(text, range, &run);
	}
	return error;
}

/* Copies Linux's text, with the range's lines instead of those that begin in the range. */
static int merge(struct tacet_text *text, const struct tacet_text *linux_text, struct tacet_range *range)
{
	const char *line = linux_text->start, *end = line + linux_text->bytes;
	bool listed = false;
	int error = 0;

	while (line < end && !error) {
		const char *next = tacet_text_next_line(line, end);
		u64 start = simple_strtoull(line, NULL, 16);

		if (start >= range->base && !listed) {
			error = append_range(text, range);
			listed = true;
		}
		if (!error && (start < range->base || start - range->base >= TACET_RANGE_BYTES))
			error = tacet_text_append(text, line, next - line);
		line = next;
	}
	return error;
}

int tacet_view_maps(const struct tacet_view *view, const struct tacet_text *from, struct tacet_text *to)
{
	struct tacet_range *range = view->range;
	bool open = false;
	int error = 0;

	if (range && READ_ONCE(range->visibility) == TACET_RANGE_VISIBLE) {
		mutex_lock(&range->lock);
		open = READ_ONCE(range->visibility) == TACET_RANGE_VISIBLE && !range->partition_gone && !range->lost;
		if (open)
			error = merge(to, from, range);
		mutex_unlock(&range->lock);
	}
	return open ? error : tacet_text_append(to, from->start, from->bytes);
}
