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

int tacet_cores_open(struct tacet_up *request)
{
	unsigned int i;
	int error = 0;

	for (i = 0; i < tacet_partition.core_count && !error; i++) {
		error = tacet_arch_notify_open(&tacet_partition.cores[i], tacet_notified);
		if (error)
			tacet_complain(request->message, error, "cpu %u: no interrupt vector left for it",
				       tacet_partition.cores[i].cpu);
	}
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

/* Sends an offline CPU into the co-kernel. -EIO: it did not report. */
static int start_core(struct tacet_core *core)
{
	struct tacet_arch_start *start = tacet_arch_start_begin(&tacet_partition, core);

	if (IS_ERR(start))
		return PTR_ERR(start);
	core->started = online_after_send(core, FIRST_PATIENCE_NS) ||
			online_after_send(core, SECOND_PATIENCE_NS);
	if (core->started)
		tacet_arch_listen(core);
	else
		tacet_arch_kill(core);
	/* A core that is not known to have stopped may still execute what _end frees. */
	if (core->started || prove_stopped(core))
		tacet_arch_start_end(start);
	return core->started ? 0 : -EIO;
}

int tacet_cores_start(struct tacet_up *request)
{
	unsigned int i;
	int error;

	for (i = 0; i < tacet_partition.core_count; i++) {
		error = start_core(&tacet_partition.cores[i]);
		if (error)
			return tacet_complain(request->message, error,
					      "cpu %u: did not come up in the co-kernel",
					      tacet_partition.cores[i].cpu);
	}
	return 0;
}

static int halted(const struct tacet_wait *wait)
{
	return smp_load_acquire(&wait->core->shared->state) == TACET_CPU_HALTED;
}

/* Asks each core to halt. One that has done so is in a loop of HLT that stores nothing. A core
 * that does not is stopped by INIT. */
void tacet_cores_stop(void)
{
	struct tacet_partition *partition = &tacet_partition;
	struct tacet_wait wait = {
		.done = halted,
		.pause = TACET_PAUSE_SLEEP,
		.patience_ns = HALT_PATIENCE_NS,
	};
	unsigned int i;

	for (i = 0; i < partition->core_count; i++)
		if (partition->cores[i].started && !partition->failed)
			tacet_attention(&partition->cores[i], TACET_ATTENTION_HALT);
	for (i = 0; i < partition->core_count; i++) {
		struct tacet_core *core = &partition->cores[i];

		if (!core->started)
			continue;
		wait.core = core;
		tacet_await(&wait);
		tacet_arch_kill(core);
		if (!halted(&wait))
			prove_stopped(core);
		core->started = false;
	}
}
