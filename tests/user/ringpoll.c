/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A ring of io_uring whose submissions a thread of the kernel finds by itself: the program makes no call for them. */
#include "check.h"

#include <linux/io_uring.h>
#include <sys/resource.h>

#define ENTRIES 8
#define SUBMISSIONS 64
#define TRIES 5

static struct io_uring_params params;
static int ring;
static char *queues;
static struct io_uring_sqe *sqes;

static uint32_t *field(uint32_t offset)
{
	return (uint32_t *)(queues + offset);
}

static int set_up(uint32_t flags, uint32_t cpu)
{
	params = (struct io_uring_params){ .flags = flags, .sq_thread_cpu = cpu, .sq_thread_idle = 60000 };
	return (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
}

/* A kernel thread that has not yet found anything may sleep: it is woken by a call, and then looks for as long as we said. */
static void wake_if_asleep(void)
{
	__sync_synchronize();
	if (load(field(params.sq_off.flags)) & IORING_SQ_NEED_WAKEUP)
		CHECK(syscall(SYS_io_uring_enter, ring, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0) >= 0);
}

/* How often this thread has waited in the kernel, as a hosted thread whose proxy sleeps does at each of its calls there. */
static long waits(void)
{
	struct rusage usage;

	CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
	return usage.ru_nvcsw;
}

static void submit_and_spin(uint64_t tag)
{
	uint32_t tail = *field(params.sq_off.tail), slot = tail & *field(params.sq_off.ring_mask), head = *field(params.cq_off.head);
	struct io_uring_cqe *cqe = (void *)(queues + params.cq_off.cqes);

	sqes[slot] = (struct io_uring_sqe){ .opcode = IORING_OP_NOP, .fd = -1, .user_data = tag };
	field(params.sq_off.array)[slot] = slot;
	store(field(params.sq_off.tail), tail + 1);
	while (load(field(params.cq_off.tail)) == head)
		wake_if_asleep();
	cqe += head & *field(params.cq_off.ring_mask);
	CHECK(cqe->user_data == tag && cqe->res == 0);
	store(field(params.cq_off.head), head + 1);
}

static void without_calls(void)
{
	size_t size = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	long least = -1;

	if (size < params.sq_off.array + params.sq_entries * 4)
		size = params.sq_off.array + params.sq_entries * 4;
	queues = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	sqes = mmap(NULL, params.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	CHECK(queues != MAP_FAILED && sqes != MAP_FAILED);
	/* more than once: other things make a thread wait, too */
	for (int try = 0; try < TRIES; try++) {
		long before = waits(), between = waits(), more;

		for (int i = 0; i < SUBMISSIONS; i++)
			submit_and_spin(100 + i);
		more = waits() - between - (between - before);
		if (least < 0 || more < least)
			least = more < 0 ? 0 : more;
	}
	/* the proxy of a hosted thread may sleep in so long a stay on a core, and not in the short one before */
	CHECK(least <= 1);
}

int main(void)
{
	const uint32_t flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF;
	cpu_set_t cpus;
	uint32_t cpu = 0;

	CHECK(sched_getaffinity(0, sizeof(cpus), &cpus) == 0);
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	ring = set_up(flags, cpu);
	if (ring >= 0) {
		CHECK(params.flags == flags && params.sq_thread_cpu == cpu);
		without_calls();
		close(ring);
		CHECK_ERRNO(set_up(flags, 1u << 20), EINVAL);
		CHECK(params.flags == flags && params.sq_thread_cpu == 1u << 20);
		CHECK_ERRNO(set_up(flags | 1u << 30, cpu), EINVAL);
		CHECK(params.flags == (flags | 1u << 30));
	} else {
		CHECK(errno == ENOSYS || errno == EPERM);
	}
	say("found without a call\n");
	return 0;
}
