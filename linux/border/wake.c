// SPDX-License-Identifier: GPL-2.0
/*
 * Has a core wake threads that wait for a private futex on cores. The other end is
 * kernel/host/linux/src/futex.rs. Called by delegate/errand.c; sleeps.
 */
#include "border/border.h"
#include "compat.h"
#include "tacet.h"

struct wake_request {
	struct tacet_request request;
	const struct tacet_wake *wake;
	u32 woken;
};

static void write_wake(struct tacet_cpu *shared, const struct tacet_request *request)
{
	const struct tacet_wake *wake = container_of(request, struct wake_request, request)->wake;

	shared->wake_root = wake->root;
	shared->wake_address = wake->address;
	shared->wake_bitset = wake->bitset;
	shared->wake_count = wake->woken;
	shared->wake_moved = wake->moved;
	shared->wake_to = wake->to;
}

static void read_woken(const struct tacet_cpu *shared, struct tacet_request *request)
{
	container_of(request, struct wake_request, request)->woken = READ_ONCE(shared->wake_woken);
}

/* How many threads a core has woken or moved. 0 if the calling thread is killed meanwhile. */
u32 tacet_wake(const struct tacet_wake *wake)
{
	struct wake_request wanted = {
		.request = {
			.slot = TACET_SLOT_WAKE,
			.write = write_wake,
			.read = read_woken,
			.first = &tacet_partition.cores[wake->core],
			.job = wake->job,
			.killable = true,
			.failure = "a core does not finish a wake-up",
		},
		.wake = wake,
	};

	return tacet_request(&wanted.request) ? 0 : wanted.woken;
}
