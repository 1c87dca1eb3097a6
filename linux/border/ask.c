// SPDX-License-Identifier: GPL-2.0
/*
 * Questions to a core about ranges and frames (memory.h); the other end is
 * kernel/host/linux/src/ask.rs.
 *
 * One question is open at each core (slot.c). A long one is answered in portions, perhaps by
 * several cores in turn. Sleeps; called with a range's mutex or the mmap lock held, never with
 * a lock that cores take.
 */
#include <linux/delay.h>
#include <linux/sched/signal.h>

#include "border/border.h"
#include "compat.h"
#include "tacet.h"

struct question {
	struct tacet_request request;
	enum tacet_ask kind;
	u64 arguments[4];
	struct tacet_core *only;	/* the core that is asked, or NULL */
	int result;
};

static void write_question(struct tacet_cpu *shared, const struct tacet_request *request)
{
	const struct question *question = container_of(request, struct question, request);

	memcpy(shared->ask_arguments, question->arguments, sizeof(shared->ask_arguments));
	shared->ask_kind = question->kind;
}

static void read_answer(const struct tacet_cpu *shared, struct tacet_request *request)
{
	container_of(request, struct question, request)->result = READ_ONCE(shared->ask_result);
}

static u64 two(u32 high, u32 low)
{
	return (u64)high << 32 | low;
}

/* Writes down at which page the question continues. */
static void continue_at(struct question *question, u32 page)
{
	switch (question->kind) {
	case TACET_ASK_CLEAR:
		question->arguments[1] = page;
		break;
	case TACET_ASK_COPY:
		question->arguments[2] = page;
		break;
	case TACET_ASK_DISCARD:
		question->arguments[2] = page;
		break;
	case TACET_ASK_MAP:
		question->arguments[2] = two(question->arguments[2] >> 32, page);
		break;
	default:
		break;	/* is never answered in portions */
	}
}

/* What ends a process, frees a frame or changes the pool is done also for a thread that is killed. */
static bool must_be_done(enum tacet_ask kind)
{
	return kind == TACET_ASK_CLEAR || kind == TACET_ASK_FREE || kind == TACET_ASK_DISCARD ||
	       kind == TACET_ASK_JOIN || kind == TACET_ASK_LEAVE || kind == TACET_ASK_GIVE ||
	       kind == TACET_ASK_TAKE;
}

/* A core on which the calling thread's process runs, or NULL. */
static struct tacet_core *own_core(void)
{
	struct tacet_core *core = NULL;
	struct tacet_space *space;

	rcu_read_lock();
	space = current->mm ? tacet_space_find(current->mm) : NULL;
	if (space)
		core = &tacet_partition.cores[READ_ONCE(space->last_core)];
	rcu_read_unlock();
	return core;
}

static bool is_about_pool(enum tacet_ask kind)
{
	return kind == TACET_ASK_JOIN || kind == TACET_ASK_LEAVE || kind == TACET_ASK_DRAIN ||
	       kind == TACET_ASK_GIVE || kind == TACET_ASK_TAKE;
}

/* The number of the job that the question is about: that of its range, or that of the calling thread. */
static unsigned int job_of(const struct question *question)
{
	if (is_about_pool(question->kind))
		return 0;
	if (question->kind != TACET_ASK_FREE && question->arguments[0] < tacet_partition.context_count)
		return READ_ONCE(tacet_partition.ranges[question->arguments[0]].job);
	return tacet_hosted_job();
}

/* 0, or the co-kernel's error; -EIO: no core answers; -EINTR: the calling thread is killed, and
 * the question may be answered in part. */
static int ask(struct question *question)
{
	int error;

	question->request = (struct tacet_request){
		.slot = TACET_SLOT_ASK,
		.write = write_question,
		.read = read_answer,
		.first = own_core(),
		.only = question->only,
		.job = job_of(question),
		.no_content = is_about_pool(question->kind) || question->kind == TACET_ASK_FREE,
		.killable = !must_be_done(question->kind),
		.failure = "a core does not finish an answer about memory",
	};
	for (;;) {
		error = tacet_request(&question->request);
		if (error || !question->result || (question->result < 0 && question->result != -EAGAIN))
			return error ?: question->result;
		if (question->request.killable && fatal_signal_pending(current))
			return -EINTR;
		if (question->result > 0)
			continue_at(question, question->result);
		else
			usleep_range(20, 50);	/* another core has a piece's lock */
	}
}

int tacet_ask(enum tacet_ask kind, u64 first, u64 second)
{
	struct question question = { .kind = kind, .arguments = { first, second } };

	return ask(&question);
}

/* A block of 2^@order frames from @first on is in the pool from now on. */
int tacet_ask_join(u32 place, u64 first, u64 order, u64 node)
{
	struct question question = { .kind = TACET_ASK_JOIN, .arguments = { place, first, order, node } };

	return ask(&question);
}

/* @core gives the free frames that it has in store to all. */
int tacet_ask_drain(struct tacet_core *core)
{
	struct question question = { .kind = TACET_ASK_DRAIN, .only = core };

	return ask(&question);
}

/* Job number @job gets a run of 2^@order frames for itself, as near to @core as can be. -ENOMEM: there is none. */
int tacet_ask_give(struct tacet_core *core, u64 job, u64 order)
{
	struct question question = { .kind = TACET_ASK_GIVE, .arguments = { job, order }, .only = core };

	return ask(&question);
}

/* Maps free pages of range @number, readable and writable. */
int tacet_ask_map(u64 number, u64 first, u64 pages, struct tacet_policy policy, u32 nodes)
{
	struct question question = {
		.kind = TACET_ASK_MAP,
		.arguments = { number, pages << 32 | first, two(policy.mode, 0), two(nodes, policy.nodes) },
	};

	return ask(&question);
}

/* Takes back what is behind pages of range @number, which stay mapped. Linux mirrors none of them. */
int tacet_ask_discard(u64 number, u64 first, u64 pages)
{
	struct question question = {
		.kind = TACET_ASK_DISCARD,
		.arguments = { number, pages << 32 | first },
	};

	return ask(&question);
}

/* Gives page @page of range @number a frame. A policy of that page overrides @policy. */
int tacet_ask_touch(u64 number, u64 page, bool write, struct tacet_policy policy, u32 nodes)
{
	struct question question = {
		.kind = TACET_ASK_TOUCH,
		.arguments = { number, page, two(policy.mode, write), two(nodes, policy.nodes) },
	};

	return ask(&question);
}
