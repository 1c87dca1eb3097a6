/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The log of one core: fixed records in a circle. Each core has its own, so that no
 * core waits for another to log. The memory outlives the core: Linux reads it while
 * the core runs and after the core died.
 *
 * Only the core writes it. `sequence` is 0 while the core writes a record, and the
 * record's ordinal (from 1) when it is whole; Linux copies the record and checks that
 * the ordinal is the same before and after.
 */
#ifndef TACET_ABI_LOG_H
#define TACET_ABI_LOG_H

#include "types.h"

#define TACET_LOG_RECORDS 64u
#define TACET_LOG_TEXT_BYTES 104u

enum tacet_log_level {
	TACET_LOG_INFO = 0,
	TACET_LOG_WARNING = 1,
	TACET_LOG_FATAL = 2,
};

struct tacet_log_record {
	__u64 sequence;
	__u64 tsc;			/* time-stamp counter when the core wrote it */
	__u32 level;			/* enum tacet_log_level */
	__u32 length;			/* bytes of text in use */
	__u8 text[TACET_LOG_TEXT_BYTES];
};

static_assert(sizeof(struct tacet_log_record) == 128, "log record layout");

struct tacet_log {
	__u64 written;			/* ordinal of the newest record */
	__u64 reserved[15];
	struct tacet_log_record records[TACET_LOG_RECORDS];
};

static_assert(sizeof(struct tacet_log) == 8320, "log layout");

#endif
