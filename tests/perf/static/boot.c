// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A plugin of the emulator that counts the instructions of a boot, from reset to the first instruction of a program.
 *
 * arguments: entry=ADDRESS, the kernel's first instruction. Without it all instructions are the kernel's.
 * Writes once, when a program executes a marker of the kind MARK_REGION_END (noise/exact/marker.h) of a region that has
 * not begun, or at the emulator's end:
 *   boot CPUS firmware F kernel K waited W stored S copied C marked 0|1
 *   at PC times T instructions N		the kernel's blocks, but for times that only waited
 * At the end of a region that has begun, for all CPUs, besides instructions below 2^63, which are programs':
 *   region LABEL kernel K waited W
 * W of the kernel's instructions only waited: they lie between two instructions that wait (PAUSE, HLT) with less than
 * the argument round=NUMBER in between, so nothing was done but to look. A string instruction counts once however often it repeats; S and C are the bytes that STOS and MOVS wrote with a
 * repetition prefix, since the entry. Called by QEMU 10 or later: earlier ones count each repetition. Must never change
 * guest state.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interface.h"
#include "marker.h"

#define BUCKETS 65536
#define MOST_CPUS 64
#define MOST_RECENT 1024	/* blocks of a round that only waits */

typedef void (*touched)(unsigned cpu, uint32_t info, uint64_t address, void *data);
typedef void (*ended)(uint64_t id_or_data, void *data);

unsigned qemu_plugin_mem_size_shift(uint32_t info);
void qemu_plugin_register_vcpu_mem_cb(struct instruction *, touched call, int flags, int which, void *data);
void qemu_plugin_register_atexit_cb(plugin_id id, ended call, void *data);

enum { WRITES = 2 };

EXPORTED int qemu_plugin_version;

struct site {			/* one block of the kernel; never freed */
	uint64_t address, instructions;
	_Atomic uint64_t times, waits;	/* `waits`: of the times, those between two waits */
	struct site *next;
};

static plugin_id own_id;
static uint64_t entry;
static atomic_bool entered, written;
static _Atomic uint64_t firmware, kernel, stored, copied;
static struct site *sites[BUCKETS];
static atomic_flag adding = ATOMIC_FLAG_INIT;
static int cpus;
static uint64_t longest_round = 1000;
static _Atomic uint64_t waited, high;	/* `high`: instructions of the upper half, the kernel's once it has booted */
static bool begun;
static uint64_t high_then, waited_then;
static uint64_t since_wait[MOST_CPUS];	/* instructions; each CPU has its own element, here and below */
static struct site *recent[MOST_CPUS][MOST_RECENT];	/* blocks since then; `recents` may be more */
static unsigned recents[MOST_CPUS];

__attribute__((constructor)) static void choose_version(void)
{
	qemu_plugin_version = interface_version();
}

static struct site *site_of(uint64_t address, uint64_t instructions)
{
	struct site **at = &sites[(address ^ address >> 16) % BUCKETS], *site;

	while (atomic_flag_test_and_set_explicit(&adding, memory_order_acquire))
		;
	for (site = *at; site; site = site->next)
		if (site->address == address && site->instructions == instructions)
			break;
	if (!site) {
		site = calloc(1, sizeof(*site));
		if (!site)
			abort();
		site->address = address;
		site->instructions = instructions;
		site->next = *at;
		*at = site;
	}
	atomic_flag_clear_explicit(&adding, memory_order_release);
	return site;
}

static void block_executed(unsigned cpu, void *data)
{
	struct site *site = data;

	if (!entered && (!entry || site->address == entry))
		entered = true;
	if (!entered) {
		atomic_fetch_add_explicit(&firmware, site->instructions, memory_order_relaxed);
		return;
	}
	atomic_fetch_add_explicit(&kernel, site->instructions, memory_order_relaxed);
	atomic_fetch_add_explicit(&site->times, 1, memory_order_relaxed);
	if (site->address >> 63) {
		atomic_fetch_add_explicit(&high, site->instructions, memory_order_relaxed);
		since_wait[cpu] += site->instructions;
		if (recents[cpu] < MOST_RECENT)
			recent[cpu][recents[cpu]++] = site;
	}
}

static void wait_executed(unsigned cpu, void *data)
{
	(void)data;
	if (since_wait[cpu] < longest_round) {
		atomic_fetch_add_explicit(&waited, since_wait[cpu], memory_order_relaxed);
		for (unsigned i = 0; i < recents[cpu]; i++)
			atomic_fetch_add_explicit(&recent[cpu][i]->waits, 1, memory_order_relaxed);
	}
	since_wait[cpu] = recents[cpu] = 0;
}

static void string_wrote(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
	(void)cpu;
	(void)address;
	if (entered)
		atomic_fetch_add_explicit((_Atomic uint64_t *)data, 1u << qemu_plugin_mem_size_shift(info),
					  memory_order_relaxed);
}

static void write_once(bool marked)
{
	char line[256];

	if (atomic_exchange(&written, true))
		return;
	snprintf(line, sizeof(line), "boot %d firmware %lu kernel %lu waited %lu stored %lu copied %lu marked %d\n", cpus, firmware,
		 kernel, waited, stored, copied, marked);
	qemu_plugin_outs(line);
	for (size_t b = 0; entry && b < BUCKETS; b++)
		for (struct site *s = sites[b]; s; s = s->next)
			if (s->times > s->waits) {
				snprintf(line, sizeof(line), "at %lx times %lu instructions %lu\n", s->address,
					 s->times - s->waits, s->instructions);
				qemu_plugin_outs(line);
			}
}

static void marker_executed(unsigned cpu, void *data)
{
	unsigned kind = (uintptr_t)data & 0xff, label = (uintptr_t)data >> 8;
	char line[96];

	(void)cpu;
	if (kind == MARK_REGION) {
		begun = true;
		high_then = high;
		waited_then = waited;
	} else if (!begun) {
		write_once(true);
	} else {
		snprintf(line, sizeof(line), "region %u kernel %lu waited %lu\n", label, high - high_then,
			 waited - waited_then);
		qemu_plugin_outs(line);
	}
}

static void emulator_ends(uint64_t id_or_data, void *data)
{
	(void)id_or_data;
	(void)data;
	write_once(false);
}

/* The counter of a string instruction that repeats a store; none if it is another instruction. */
static _Atomic uint64_t *counter_of(const unsigned char *bytes, size_t size)
{
	size_t i = 0;
	bool repeats = false;

	for (; i < size; i++) {
		if (bytes[i] == 0xf2 || bytes[i] == 0xf3)
			repeats = true;
		else if (bytes[i] != 0x66 && bytes[i] != 0x67 && bytes[i] >> 4 != 4)
			break;
	}
	if (!repeats || i + 1 != size)
		return NULL;
	if (bytes[i] == 0xaa || bytes[i] == 0xab)
		return &stored;
	return bytes[i] == 0xa4 || bytes[i] == 0xa5 ? &copied : NULL;
}

static void translate(uint64_t first, void *second)
{
	struct block *block = first == own_id ? second : (struct block *)first;
	size_t n = qemu_plugin_tb_n_insns(block);

	qemu_plugin_register_vcpu_tb_exec_cb(block, block_executed, NO_REGISTERS,
					     site_of(qemu_plugin_tb_vaddr(block), n));
	for (size_t i = 0; i < n; i++) {
		struct instruction *instruction = qemu_plugin_tb_get_insn(block, i);
		size_t size = qemu_plugin_insn_size(instruction);
		unsigned char bytes[16] = { 0 };
		_Atomic uint64_t *counter;

		if (size > sizeof(bytes))
			continue;
		qemu_plugin_insn_data(instruction, bytes, size);
		counter = counter_of(bytes, size);
		if (counter)
			qemu_plugin_register_vcpu_mem_cb(instruction, string_wrote, NO_REGISTERS, WRITES,
							 (void *)counter);
		if ((size == 2 && bytes[0] == 0xf3 && bytes[1] == 0x90) || (size == 1 && bytes[0] == 0xf4))
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, wait_executed, NO_REGISTERS, NULL);
		if (size == 7 && !memcmp(bytes, "\x0f\x1f\x80", 3) && bytes[5] == 'T' && bytes[6] == 'C' &&
		    (bytes[3] == MARK_REGION || bytes[3] == MARK_REGION_END))
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, marker_executed, NO_REGISTERS,
							       (void *)(uintptr_t)(bytes[3] | bytes[4] << 8));
	}
}

EXPORTED int qemu_plugin_install(plugin_id id, const struct machine_info *info, int argc, char **argv)
{
	if (qemu_plugin_version < 4 || info->cpus.most > MOST_CPUS)
		return -1;
	own_id = id;
	cpus = info->cpus.initial;
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "entry=", 6))
			entry = strtoull(argv[i] + 6, NULL, 0);
		else if (!strncmp(argv[i], "round=", 6))
			longest_round = strtoull(argv[i] + 6, NULL, 0);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate, NULL);
	qemu_plugin_register_atexit_cb(id, emulator_ends, NULL);
	return 0;
}
