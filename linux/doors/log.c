// SPDX-License-Identifier: GPL-2.0
/*
 * The log as a reader sees it: the module's own records and those of each core,
 * from the shared page while the core runs, from a copy after it is gone.
 */
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <asm/tsc.h>

#include "compat.h"
#include "tacet.h"

static struct tacet_log_entry own[TACET_LOG_RECORDS];	/* own_lock */
static u64 own_written;
static DEFINE_SPINLOCK(own_lock);

/* Copies of the last partition's circles; control lock. */
static struct { u32 cpu; struct tacet_log log; } *captured;
static unsigned int captured_count;

/* Into the kernel's log and ours. Any context. */
void tacet_report(u32 level, const char *format, ...)
{
	char text[TACET_LOG_TEXT_BYTES];
	struct tacet_log_entry *entry;
	unsigned long irq;
	va_list arguments;

	va_start(arguments, format);
	vscnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (level == TACET_LOG_INFO)
		pr_info("tacet: %s\n", text);
	else if (level == TACET_LOG_WARNING)
		pr_warn("tacet: %s\n", text);
	else
		pr_err("tacet: %s\n", text);

	spin_lock_irqsave(&own_lock, irq);
	entry = &own[++own_written % TACET_LOG_RECORDS];
	entry->sequence = own_written;
	entry->time_ns = ktime_get_mono_fast_ns();
	entry->cpu = TACET_LOG_MODULE;
	entry->level = level;
	strscpy(entry->text, text, sizeof(entry->text));
	spin_unlock_irqrestore(&own_lock, irq);
}

static void own_record(u64 sequence, struct tacet_log_entry *entry)
{
	unsigned long irq;

	spin_lock_irqsave(&own_lock, irq);
	*entry = own[sequence % TACET_LOG_RECORDS];
	spin_unlock_irqrestore(&own_lock, irq);
}

/* The co-kernel writes records at any time: what changed meanwhile is skipped. */
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

/* Control lock held. */
static const struct tacet_log *log_of(u32 cpu)
{
	struct tacet_core *core = tacet_core_of(cpu);
	unsigned int i;

	if (core)
		return &core->shared->log;
	for (i = 0; i < captured_count; i++)
		if (captured[i].cpu == cpu)
			return &captured[i].log;
	return NULL;
}

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
			own_record(sequence, &entry);
		else if (!core_record(log, request->cpu, sequence, &entry))
			continue;
		if (copy_to_user(&to[request->count], &entry, sizeof(entry)))
			return -EFAULT;
		request->count++;
	}
	return 0;
}

/* Control lock held. */
int tacet_log_read(struct tacet_log_read *request)
{
	const struct tacet_log *log;

	if (request->cpu == TACET_LOG_MODULE)
		return copy_entries(request, NULL, READ_ONCE(own_written));
	log = log_of(request->cpu);
	if (!log)
		return -ENODEV;
	return copy_entries(request, log, smp_load_acquire(&log->written));
}

/* Keeps what the cores said; their memory is about to go. Control lock held. */
void tacet_log_capture(struct tacet_partition *partition)
{
	unsigned int i;

	if (!partition->core_count)
		return;
	kvfree(captured);
	captured_count = 0;
	captured = kvcalloc(partition->core_count, sizeof(*captured), GFP_KERNEL);
	if (!captured)
		return;
	for (i = 0; i < partition->core_count; i++) {
		captured[i].cpu = partition->cores[i].cpu;
		captured[i].log = partition->cores[i].shared->log;
	}
	captured_count = partition->core_count;
}

void tacet_log_exit(void)
{
	kvfree(captured);
}
