// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of Linux to a core that the core answers: a wake-up (wake.c) or a question (ask.c).
 * The other end is kernel/logic/src/handshake/slot.rs.
 *
 * A core has a slot of each kind in its page (enum tacet_slot_state, cpu.h), so many requests
 * are open at once, one for each core. Any core can serve them, since all share the
 * co-kernel's books. A core that is in the middle of something takes none: then the request
 * is withdrawn and goes to another core. So nobody waits for what another user's program has
 * a core do, for as long as one core is free of such work.
 *
 * A job that is kept apart has cores that map its memory alone (partition/apart.c): they serve no request that touches
 * another one's, and others none that touches this one's.
 *
 * A request about a job goes to that job's cores, and one about no job to cores without a job, for as
 * long as there are any: no core executes anything for another job.
 *
 * Sleeps. Ends when the request is served, no core answers any more, or the waiting thread is
 * killed, if the request says so.
 */
#include "border/border.h"
#include "compat.h"
#include "tacet.h"

/* A core that is idle, or runs a program, takes a request within microseconds. */
#define TAKE_PATIENCE_NS (2 * NSEC_PER_MSEC)
/* The work is bounded. */
#define ANSWER_PATIENCE_NS (20 * NSEC_PER_SEC)

#define IN_COKERNEL 1024u
#define TRIED 2048u

static u32 *state_of(const struct tacet_core *core, enum tacet_slot slot)
{
	return slot == TACET_SLOT_WAKE ? &core->shared->wake_state : &core->shared->ask_state;
}

static u32 attention_for(enum tacet_slot slot)
{
	return slot == TACET_SLOT_WAKE ? TACET_ATTENTION_WAKE : TACET_ATTENTION_ASK;
}

static bool answers(const struct tacet_core *core)
{
	return core->started && tacet_core_is_here(core) && READ_ONCE(core->audible) &&
	       !READ_ONCE(tacet_partition.failed) &&
	       READ_ONCE(core->shared->state) == TACET_CPU_ONLINE;
}

/* The core maps what it takes to serve the request. */
static bool can_serve(const struct tacet_core *core, const struct tacet_request *request)
{
	return request->no_content || READ_ONCE(core->maps) == tacet_job_maps(request->job);
}

static bool job_answers(unsigned int job)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.core_count; i++)
		if (READ_ONCE(tacet_partition.cores[i].job) == job && answers(&tacet_partition.cores[i]))
			return true;
	return false;
}

/* The core for which this is least is asked: one that idles, else one of the asking process,
 * which disturbs no other user, else one with few threads. */
static unsigned int reluctance(const struct tacet_core *core, const struct tacet_request *request)
{
	unsigned int tried = core == request->core ? TRIED : 0;
	bool own = core == request->first;

	switch (READ_ONCE(core->shared->mode)) {
	case TACET_MODE_IDLE:
	case TACET_MODE_SPINNING:
		return tried + !own;
	case TACET_MODE_KERNEL:
		tried += IN_COKERNEL;
	}
	return tried + 2 + (own ? 0 : 1 + min(atomic_read(&core->posted), 1000));
}

/* Takes the slot of the best core whose slot is free; that becomes request->core. */
static int take_slot(const struct tacet_wait *wait)
{
	struct tacet_request *request = wait->subject;
	unsigned int i, least = UINT_MAX;
	struct tacet_core *best = NULL;
	bool any = false, within = job_answers(request->job);

	for (i = 0; i < tacet_partition.core_count; i++) {
		struct tacet_core *core = &tacet_partition.cores[i];
		unsigned int cost;

		if (!answers(core) || !can_serve(core, request) || (request->only && core != request->only))
			continue;
		any = true;
		if (within && !request->only && READ_ONCE(core->job) != request->job)
			continue;
		cost = reluctance(core, request);
		if (cost < least && !mutex_is_locked(&core->slots[request->slot])) {
			least = cost;
			best = core;
		}
	}
	if (!best || !mutex_trylock(&best->slots[request->slot]))
		return any ? 0 : -EIO;
	/* Since the look the core may have begun to leave, or to map something else: tacet_requests_settle() waits for us,
	 * or we see it. */
	if (!answers(best) || !can_serve(best, request)) {
		mutex_unlock(&best->slots[request->slot]);
		return 0;
	}
	request->core = best;
	return 1;
}

/* The core has left the set of CPUs that answer: waits for the requests that it has. Sleeps. */
void tacet_requests_settle(struct tacet_core *core)
{
	unsigned int slot;

	for (slot = 0; slot < TACET_SLOTS; slot++) {
		mutex_lock(&core->slots[slot]);
		mutex_unlock(&core->slots[slot]);
	}
}

static int taken(const struct tacet_wait *wait)
{
	return READ_ONCE(*(u32 *)wait->subject) != TACET_SLOT_OPEN;
}

static int answered(const struct tacet_wait *wait)
{
	return smp_load_acquire((u32 *)wait->subject) == TACET_SLOT_ANSWERED;
}

/* -ETIMEDOUT: the core is busy, and has not seen the request. */
static int open(struct tacet_core *core, const struct tacet_request *request, u32 *state)
{
	struct tacet_wait wait = {
		.core = core,
		.done = taken,
		.subject = state,
		.pause = TACET_PAUSE_SLEEP,
		.patience_ns = TAKE_PATIENCE_NS,
		.whatever_it_does = true,
		.killable = request->killable,
		.while_online = true,
	};
	int error;

	request->write(core->shared, request);
	smp_store_release(state, TACET_SLOT_OPEN);
	tacet_attention(core, attention_for(request->slot));
	error = tacet_await(&wait);
	/* The core has taken it if that fails: then it answers. */
	return error && cmpxchg(state, TACET_SLOT_OPEN, TACET_SLOT_FREE) == TACET_SLOT_OPEN ? error : 0;
}

/* The core is at work. It looks up from long work if it is rung, and has done a part of it. */
static int await_answer(struct tacet_core *core, const struct tacet_request *request, u32 *state)
{
	struct tacet_wait wait = {
		.core = core,
		.done = answered,
		.subject = state,
		.pause = TACET_PAUSE_SLEEP,
		.patience_ns = ANSWER_PATIENCE_NS,
		.killable = request->killable,
		.while_online = true,
		.failure = request->failure,
	};
	int error = tacet_await(&wait);

	if (error != -EINTR)
		return error;
	tacet_attention(core, attention_for(request->slot));
	wait.killable = false;
	return tacet_await(&wait);
}

static int serve(struct tacet_core *core, struct tacet_request *request)
{
	u32 *state = state_of(core, request->slot);
	int error = open(core, request, state) ?: await_answer(core, request, state);

	if (error)
		return error;
	request->read(core->shared, request);
	WRITE_ONCE(*state, TACET_SLOT_FREE);
	return 0;
}

/* Has a core serve the request. -EIO: no core answers any more. -EINTR: the thread is killed,
 * and no core has seen the request. Else request->read() has been called. */
int tacet_request(struct tacet_request *request)
{
	struct tacet_wait wait = {
		.done = take_slot,
		.subject = request,
		.pause = TACET_PAUSE_SLEEP,
		.killable = request->killable,
	};
	int error;

	do {
		error = tacet_await(&wait);
		if (error)
			return error;
		error = serve(request->core, request);
		mutex_unlock(&request->core->slots[request->slot]);
	} while (error == -ETIMEDOUT);
	return error;
}
