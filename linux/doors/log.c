// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the log (TACET_LOG_READ): the records of base/report.c, checked and copied to
 * user space. Called by doors/device.c with the control lock held.
 */
#include <linux/math64.h>
#include <linux/ktime.h>
#include <linux/uaccess.h>
#include <asm/tsc.h>

#include "compat.h"
#include "doors/doors.h"
#include "tacet.h"

/* The core writes records at any time. False: this one has been overwritten. */
static bool core_record(const struct tacet_log *log, u32 cpu, u64 sequence,
			struct tacet_log_entry *entry)
{
	const struct tacet_log_record *record = &log->records[sequence % TACET_LOG_RECORDS];
	u64 age_ticks, now = rdtsc();
	u32 length;

	if (smp_load_acquire(&record->sequence) != sequence)
		return false;
	memset(entry, 0, sizeof(*entry));
	length = min_t(u32, READ_ONCE(record->length), TACET_LOG_TEXT_BYTES - 1);
	memcpy(entry->text, record->text, length);
	age_ticks = now > record->tsc ? now - record->tsc : 0;
	entry->sequence = sequence;
	entry->time_ns = ktime_get_mono_fast_ns() -
			 mul_u64_u64_div_u64(age_ticks, NSEC_PER_SEC / 1000, tsc_khz);
	entry->cpu = cpu;
	entry->level = record->level;
	smp_rmb();
	return READ_ONCE(record->sequence) == sequence;
}

/* @log: a core's records, or NULL for the module's own, of which @written exist. */
static int copy_entries(struct tacet_log_read *request, const struct tacet_log *log, u64 written)
{
	struct tacet_log_entry __user *to = u64_to_user_ptr(request->address);
	u64 sequence = request->sequence + 1;
	struct tacet_log_entry entry;

	request->count = 0;
	request->lost = 0;
	if (request->sequence > written)
		return -EINVAL;
	if (written > TACET_LOG_RECORDS && sequence <= written - TACET_LOG_RECORDS) {
		request->lost = written - TACET_LOG_RECORDS + 1 - sequence;
		sequence = written - TACET_LOG_RECORDS + 1;
	}
	for (; sequence <= written && request->count < request->capacity; sequence++) {
		if (!log)
			tacet_report_read(sequence, &entry);
		else if (!core_record(log, request->cpu, sequence, &entry))
			continue;
		if (copy_to_user(&to[request->count], &entry, sizeof(entry)))
			return -EFAULT;
		request->count++;
	}
	return 0;
}

int tacet_read_log(struct tacet_log_read *request)
{
	const struct tacet_log *log;

	lockdep_assert_held(&tacet_control_lock);
	if (request->cpu == TACET_LOG_MODULE)
		return copy_entries(request, NULL, tacet_report_count());
	log = tacet_log_of(request->cpu);
	if (!log)
		return -ENODEV;
	return copy_entries(request, log, smp_load_acquire(&log->written));
}
