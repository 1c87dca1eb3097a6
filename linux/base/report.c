// SPDX-License-Identifier: GPL-2.0
/*
 * The log's records: the module's own, and those of the cores.
 *
 * Every file reports here, in any context. A core writes its records into its shared
 * page; when the core goes, a copy stays here. doors/log.c reads both.
 */
#include <linux/slab.h>
#include <linux/ktime.h>

#include "tacet.h"

static struct tacet_log_entry own[TACET_LOG_RECORDS];	/* own_lock */
static u64 own_written;
static DEFINE_SPINLOCK(own_lock);

/* Copies of the last partition's records; control lock. */
static struct { u32 cpu; struct tacet_log log; } *captured;
static unsigned int captured_count;

/* Writes a line into the kernel's log and a record into ours. Any context. */
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

/* The number of the module's newest record, from 1. */
u64 tacet_report_count(void)
{
	return READ_ONCE(own_written);
}

/* The module's record number @sequence, or what has replaced it. */
void tacet_report_read(u64 sequence, struct tacet_log_entry *entry)
{
	unsigned long irq;

	spin_lock_irqsave(&own_lock, irq);
	*entry = own[sequence % TACET_LOG_RECORDS];
	spin_unlock_irqrestore(&own_lock, irq);
}

/* The records of the core on @cpu, of this partition or of the last one. */
const struct tacet_log *tacet_log_of(u32 cpu)
{
	struct tacet_core *core = tacet_core_of(cpu);
	unsigned int i;

	lockdep_assert_held(&tacet_control_lock);
	if (core)
		return &core->shared->log;
	for (i = 0; i < captured_count; i++)
		if (captured[i].cpu == cpu)
			return &captured[i].log;
	return NULL;
}

/* Copies what the cores said: their memory is about to go. */
void tacet_log_capture(struct tacet_partition *partition)
{
	unsigned int i;

	lockdep_assert_held(&tacet_control_lock);
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
