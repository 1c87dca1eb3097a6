// SPDX-License-Identifier: GPL-2.0
/*
 * Bad memory: what the processor or Linux calls so is marked as Linux marks it, and no program
 * gets it again.
 *
 * - A core's machine checks: the program that used bad memory comes here as it comes with any
 *   exception (delegate/serve.c), in its own context, before its thread continues; the watch
 *   collects addresses that nobody has used yet.
 * - Linux's own findings (machine checks of its CPUs, firmware, tests): Linux's tracepoint tells.
 *
 * A frame of the partition goes into the list that the cores look at before they hand out a
 * frame. A page with Linux's mark raises SIGBUS when a program touches it on Linux, and
 * partition/blocks.c does not give it back to Linux's allocator.
 */
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/tracepoint.h>

#include "compat.h"
#include "memory/memory.h"
#include "tacet.h"

static DEFINE_RAW_SPINLOCK(bad_lock);	/* writers of the list; any context */
static struct tracepoint *failure_event;	/* NULL: this kernel has none */
static bool enabled;			/* control lock */

/* Any context. False: it is none of the partition's frames. */
static bool list(u64 frame)
{
	struct tacet_memory *memory = tacet_partition.memory;
	unsigned long flags;
	bool new = true;
	u32 count, i;

	if (!memory || !tacet_frames_have(frame, 1))
		return false;
	raw_spin_lock_irqsave(&bad_lock, flags);
	count = memory->bad_count;
	for (i = 0; i < count; i++)
		new &= memory->bad[i] != frame;
	if (new && count < TACET_BAD_FRAMES) {
		memory->bad[count] = frame;
		smp_store_release(&memory->bad_count, count + 1);
	}
	raw_spin_unlock_irqrestore(&bad_lock, flags);
	if (new)
		tacet_report(TACET_LOG_WARNING, "bad memory at %#llx: no program gets it again%s",
			     frame << PAGE_SHIFT,
			     count < TACET_BAD_FRAMES ? "" : " once the partition is started anew");
	return true;
}

/* The partition's frame is bad, so that nobody may read or write it. Any context. */
bool tacet_bad_has(u64 frame)
{
	const struct tacet_memory *memory = tacet_partition.memory;
	u32 count = memory ? smp_load_acquire(&memory->bad_count) : 0, i;

	for (i = 0; i < count; i++)
		if (memory->bad[i] == frame)
			return true;
	return PageHWPoison(pfn_to_page(frame));
}

/* @address is physical. In the context of a thread that used it, if @used. Sleeps. */
static void mark(u64 address, bool used)
{
	u64 frame = address >> PAGE_SHIFT;

	if (list(frame)) {
		tacet_mark_bad(frame);
		if (!used)
			return;		/* a program may never touch it */
	}
	tacet_memory_failure(frame, used);
}

/*
 * The calling thread used bad memory on a core. After this it continues on Linux, which raises
 * SIGBUS with the address that the program used: at once, if Linux maps the page, or when the
 * thread touches the page again. Sleeps.
 */
void tacet_bad_used(u64 address)
{
	if (address == U64_MAX || !tacet_can_mark_bad())
		force_sig(SIGBUS);
	else
		mark(address, true);
}

/* The watch looks at what @core has found. Sleeps. */
void tacet_bad_look(struct tacet_core *core)
{
	struct tacet_cpu *shared = core->shared;
	u64 count = smp_load_acquire(&shared->bad_count);

	if (count - core->bad_seen > TACET_BAD_ADDRESSES)
		core->bad_seen = count - TACET_BAD_ADDRESSES;
	for (; core->bad_seen != count; core->bad_seen++) {
		u64 address = READ_ONCE(shared->bad_addresses[core->bad_seen % TACET_BAD_ADDRESSES]);

		tacet_report(TACET_LOG_WARNING, "cpu %u: machine check, status %#llx, address %#llx",
			     core->cpu, READ_ONCE(shared->bad_status), address);
		mark(address, false);
	}
}

/* Linux has dealt with bad memory, as well as it could. Any context. */
static void on_failure(void *data, unsigned long frame, int type, int result)
{
	if (READ_ONCE(tacet_partition.state) != TACET_PARTITION_NONE)
		list(frame);
}

static void find(struct tracepoint *point, void *data)
{
	if (!strcmp(point->name, "memory_failure_event"))
		failure_event = point;
}

/* The partition has its memory; or it is about to go. Sleep. */
void tacet_bad_start(void)
{
	lockdep_assert_held(&tacet_control_lock);
	for_each_kernel_tracepoint(find, NULL);
	enabled = failure_event && !tracepoint_probe_register(failure_event, on_failure, NULL);
}

void tacet_bad_stop(void)
{
	lockdep_assert_held(&tacet_control_lock);
	if (!enabled)
		return;
	tracepoint_probe_unregister(failure_event, on_failure, NULL);
	tracepoint_synchronize_unregister();
	enabled = false;
}
