// SPDX-License-Identifier: GPL-2.0
/*
 * Cores are started and stopped, and each gets an interrupt by which Linux hears it.
 *
 * Called by partition/partition.c, as steps, with the control lock held. arch/ knows how a
 * processor is started; how long Linux waits for it is decided here.
 */
#include <linux/err.h>

#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "partition/partition.h"
#include "tacet.h"

#define FIRST_PATIENCE_NS (100 * NSEC_PER_MSEC)
#define SECOND_PATIENCE_NS (2 * NSEC_PER_SEC)
#define HALT_PATIENCE_NS (5 * NSEC_PER_SEC)
#define PROOF_PATIENCE_NS (100 * NSEC_PER_MSEC)	/* doubled with each attempt */
#define PROOF_ATTEMPTS 6

int tacet_core_open(struct tacet_core *core, char *message)
{
	int error = tacet_arch_notify_open(core, tacet_notified);

	if (error)
		tacet_complain(message, error, "cpu %u: no interrupt vector left for it", core->cpu);
	return error;
}

int tacet_cores_open(struct tacet_up *request)
{
	unsigned int i;
	int error = 0;

	for (i = 0; i < tacet_partition.core_count && !error; i++)
		if (tacet_core_is_here(&tacet_partition.cores[i]))
			error = tacet_core_open(&tacet_partition.cores[i], request->message);
	return error;
}

void tacet_cores_close(void)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.core_count; i++)
		tacet_arch_notify_close(&tacet_partition.cores[i]);
}

static int is_online(const struct tacet_wait *wait)
{
	return smp_load_acquire(&wait->core->shared->state) == TACET_CPU_ONLINE;
}

static bool online_after_send(struct tacet_core *core, u64 patience_ns)
{
	struct tacet_wait wait = {
		.core = core,
		.done = is_online,
		.pause = TACET_PAUSE_SLEEP,
		.patience_ns = patience_ns,
	};

	tacet_arch_start_send(core);
	return !tacet_await(&wait);
}

static int proven(const struct tacet_wait *wait)
{
	return tacet_arch_proven();
}

/* INIT takes its time. Proves that a killed core stores nothing any more, since what it used is
 * given back next. If there is no proof, nothing is given back, which tacet_partition.unproven
 * says. */
static bool prove_stopped(struct tacet_core *core)
{
	struct tacet_wait wait = {
		.core = core,
		.done = proven,
		.pause = TACET_PAUSE_SLEEP,
		.patience_ns = PROOF_PATIENCE_NS,
		.killed = true,
	};
	struct tacet_arch_proof *proof = tacet_arch_proof_begin(core);
	bool stopped = false;
	unsigned int i;

	for (i = 0; proof && i < PROOF_ATTEMPTS && !stopped; i++) {
		tacet_arch_proof_send(core);
		stopped = !tacet_await(&wait);
		wait.patience_ns *= 2;
		wait.since_ns = 0;
	}
	if (proof)
		tacet_arch_proof_end(proof, core);
	if (stopped)
		return true;
	tacet_report(TACET_LOG_FATAL,
		     "cpu %u: not known to have stopped: the partition's memory is not given back",
		     core->cpu);
	tacet_partition.unproven = true;
	return false;
}

/* As before the core's first start, but for what outlasts a stay in the partition: the log, which
 * frames programs have, and the count of flushes, which somebody may still wait for. */
static void renew(struct tacet_core *core)
{
	unsigned int index = core - tacet_partition.cores;
	struct tacet_cpu *shared = core->shared;
	u64 taken = shared->frames_taken, returned = shared->frames_returned;
	u64 flushes = shared->flush_requested;

	memset(shared, 0, offsetof(struct tacet_cpu, log));
	memset_after(shared, 0, log);
	shared->frames_taken = taken;
	shared->frames_returned = returned;
	shared->flush_requested = flushes;
	shared->flush_acknowledged = flushes;
	memset(tacet_partition.private + index * TACET_PRIVATE_BYTES, 0, TACET_PRIVATE_BYTES);
	core->watched_steps = 0;
	core->stuck_jiffies = 0;
	core->turn_over = false;
	core->bad_seen = 0;
}

/* Sends an offline CPU into the co-kernel. -EIO: it did not report. */
int tacet_core_start(struct tacet_core *core, char *message)
{
	struct tacet_arch_start *start;

	renew(core);
	start = tacet_arch_start_begin(&tacet_partition, core);
	if (IS_ERR(start))
		return PTR_ERR(start);
	core->started = online_after_send(core, FIRST_PATIENCE_NS) ||
			online_after_send(core, SECOND_PATIENCE_NS);
	if (core->started) {
		tacet_retarget(core);	/* renew() has forgotten it, and CPUs have gone since it was opened */
		tacet_arch_listen(core);
	} else {
		tacet_arch_kill(core);
	}
	/* A core that is not known to have stopped may still execute what _end frees. */
	if (core->started || prove_stopped(core))
		tacet_arch_start_end(start);
	if (core->started)
		return 0;
	return tacet_complain(message, -EIO, "cpu %u: did not come up in the co-kernel", core->cpu);
}

int tacet_cores_start(struct tacet_up *request)
{
	unsigned int i;
	int error = 0;

	for (i = 0; i < tacet_partition.core_count && !error; i++)
		if (tacet_core_is_here(&tacet_partition.cores[i]))
			error = tacet_core_start(&tacet_partition.cores[i], request->message);
	return error;
}

static int halted(const struct tacet_wait *wait)
{
	return smp_load_acquire(&wait->core->shared->state) == TACET_CPU_HALTED;
}

/* A core that was asked to halt: one that has done so is in a loop of HLT that stores nothing. One
 * that does not is stopped by INIT. */
static void await_halt(struct tacet_core *core)
{
	struct tacet_wait wait = {
		.core = core,
		.done = halted,
		.pause = TACET_PAUSE_SLEEP,
		.patience_ns = HALT_PATIENCE_NS,
	};

	if (!core->started)
		return;
	tacet_await(&wait);
	tacet_arch_kill(core);
	if (!halted(&wait))
		prove_stopped(core);
	core->started = false;
}

static void ask_to_halt(struct tacet_core *core)
{
	if (core->started && !tacet_partition.failed)
		tacet_attention(core, TACET_ATTENTION_HALT);
}

/* The core runs no thread, and nobody asks it anything. */
void tacet_core_stop(struct tacet_core *core)
{
	ask_to_halt(core);
	await_halt(core);
}

void tacet_cores_stop(void)
{
	unsigned int i;

	for (i = 0; i < tacet_partition.core_count; i++)
		ask_to_halt(&tacet_partition.cores[i]);
	for (i = 0; i < tacet_partition.core_count; i++)
		await_halt(&tacet_partition.cores[i]);
}
