// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs for cores, which the controller makes and deletes on commands in Linux's own admin
 * queue. They have no interrupt: cores poll.
 *
 * Called by pico/linux/queues.c and devices.c, with the control lock held; sleeps. Must never
 * touch an id at or below the highest that Linux uses.
 */
#include "pico/nvme/linux/nvme.h"
#include "tacet.h"

/* The controller's answer if there is no queue of this number: a reset has deleted it. */
#define NO_SUCH_QUEUE (NVME_SC_QID_INVALID)
#define STATUS 0x7ff	/* the code and its type, without the bits beside them */

static int submit(struct tacet_nvme *nvme, struct nvme_command *command)
{
	return tacet_nvme_command(nvme, command, NULL, 0);
}

static int make_completions(struct tacet_nvme *nvme, u16 id, u64 ring)
{
	struct nvme_command command = { .create_cq = {
		.opcode = nvme_admin_create_cq,
		.prp1 = cpu_to_le64(ring),
		.cqid = cpu_to_le16(id),
		.qsize = cpu_to_le16(nvme->depth - 1),
		.cq_flags = cpu_to_le16(NVME_QUEUE_PHYS_CONTIG),
	} };

	return submit(nvme, &command);
}

static int make_submissions(struct tacet_nvme *nvme, u16 id, u64 ring)
{
	struct nvme_command command = { .create_sq = {
		.opcode = nvme_admin_create_sq,
		.prp1 = cpu_to_le64(ring),
		.sqid = cpu_to_le16(id),
		.qsize = cpu_to_le16(nvme->depth - 1),
		.sq_flags = cpu_to_le16(NVME_QUEUE_PHYS_CONTIG),
		.cqid = cpu_to_le16(id),
	} };

	return submit(nvme, &command);
}

/* 0: there is no such queue any more. */
static int delete(struct tacet_nvme *nvme, u8 opcode, u16 id)
{
	struct nvme_command command = { .delete_queue = {
		.opcode = opcode,
		.qid = cpu_to_le16(id),
	} };
	int status = submit(nvme, &command);

	return status > 0 && (status & STATUS) == NO_SUCH_QUEUE ? 0 : status;
}

/* Where the doorbells of queue @id begin. */
static u32 doorbell(const struct tacet_nvme *nvme, u16 id)
{
	return id * 2 * nvme->stride;
}

static void describe(struct tacet_nvme *nvme, struct tacet_pico_queue *queue, u16 id)
{
	u32 at = doorbell(nvme, id), words = nvme->stride / sizeof(u32);
	u64 registers = nvme->doorbells + at - nvme->first_page * PAGE_SIZE;

	queue->submission_doorbell = registers;
	queue->completion_doorbell = registers + nvme->stride;
	queue->depth = nvme->depth;
	queue->most_bytes = nvme->most_bytes;
	queue->segments = nvme->segments;
	queue->id = id;
	if (!nvme->shadows)
		return;
	queue->submission_shadow = nvme->shadows + at;
	queue->completion_shadow = nvme->shadows + at + nvme->stride;
	queue->submission_event = nvme->events + at;
	queue->completion_event = nvme->events + at + nvme->stride;
	/* Words of our own queue: Linux does not use them. */
	at /= sizeof(u32);
	WRITE_ONCE(nvme->driver.shadows[at], 0);
	WRITE_ONCE(nvme->driver.shadows[at + words], 0);
	WRITE_ONCE(nvme->driver.events[at], 0);
	WRITE_ONCE(nvme->driver.events[at + words], 0);
}

int tacet_nvme_make(struct tacet_pico_unit *unit, unsigned int core)
{
	struct tacet_nvme *nvme = unit->own;
	void *rings = tacet_pico_rings(unit->index, core);
	u16 id = tacet_nvme_id(nvme, core);
	int error;

	if (!id)
		return -ENOSPC;
	describe(nvme, tacet_pico_queue(unit->index, core), id);
	error = make_completions(nvme, id, tacet_pico_for_device(unit, rings + PAGE_SIZE));
	if (error)
		return error > 0 ? -ENOSPC : -EIO;	/* refused, or no answer */
	error = make_submissions(nvme, id, tacet_pico_for_device(unit, rings));
	if (!error)
		return 0;
	return delete(nvme, nvme_admin_delete_cq, id) ? -EIO : -ENOSPC;
}

int tacet_nvme_end(struct tacet_pico_unit *unit, unsigned int core)
{
	struct tacet_nvme *nvme = unit->own;
	u16 id = tacet_nvme_id(nvme, core);

	if (!id || tacet_nvme_silent(nvme))
		return 0;
	if (!delete(nvme, nvme_admin_delete_sq, id) && !delete(nvme, nvme_admin_delete_cq, id))
		return 0;
	return tacet_nvme_silent(nvme) ? 0 : -EIO;
}
