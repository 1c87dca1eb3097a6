// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Counts, per virtual CPU, the instructions of the measured program, of other programs, and those outside user mode.
 *
 * Owns: the counters, and the choice of instrumentation for each block. Loaded by QEMU; record.c keeps what happens
 * between markers. Bit 63 of the program counter tells the kernel from user mode: wrong only in early boot and in the
 * vsyscall page. The measured program is recognised by its addresses (marker.h). Both are known when QEMU translates
 * the code, so the distinction costs nothing at run time. With interface 3 and later user code costs two inline stores
 * a block; with 1 (QEMU 7.2) everything is a callback. A block that faults in the middle is counted whole, so kernel
 * counts are never too low. Blocks with a marker are counted instruction by instruction: user counts are exact. With
 * the argument sites=on regions too list the kernel code that ran; with own=FIRST-END, in hexadecimal, the measured
 * program has these addresses. Must never change guest state.
 */
#include <stdio.h>
#include <string.h>

#include "count.h"
#include "interface.h"
#include "../marker.h"

EXPORTED int qemu_plugin_version;

static plugin_id own_id;
static struct scoreboard *board;
static struct counters fallback[MAX_CPUS];
static uint64_t own_first = PROGRAM_BASE, own_end = PROGRAM_END;

__attribute__((constructor)) static void choose_version(void)
{
	qemu_plugin_version = interface_version();
}

struct counters *counters_of(unsigned cpu)
{
	return board ? qemu_plugin_scoreboard_find(board, cpu) : &fallback[cpu];
}

bool sees_interrupts(void)
{
	return qemu_plugin_register_vcpu_discon_cb != NULL;
}

/* Records a kernel block while this CPU is measured. `data` is the struct site of the block. */
static void measured_kernel_block(unsigned cpu, void *data)
{
	record_kernel_block(cpu, data);
}

/* Records a block of another program. `data` is the number of instructions. */
static void measured_other_block(unsigned cpu, void *data)
{
	record_other_block(cpu, (uintptr_t)data);
}

/* Linux loads its modules here, wherever it has put itself. */
static bool in_module(uint64_t address)
{
	return address >= 0xffffffffc0000000;
}

/* The longest round of a loop that looks, in instructions. */
#define LONGEST_ROUND 64

/* A block with a PAUSE begins. If it was executed a moment ago, all since then was one round of a loop that looks. */
static void look(struct counters *counters, const struct site *site)
{
	uint64_t round = counters->kernel - counters->looked_at;

	counters->looks += counters->looked == site && round < LONGEST_ROUND ? round : site->instructions;
	counters->looked = site;
	counters->looked_at = counters->kernel;
}

static void look_block(unsigned cpu, void *data)
{
	look(counters_of(cpu), data);
}

/* Interface 1 counts by callbacks. `data`: a struct site for kernel blocks, else the number of instructions. */
static void kernel_block(unsigned cpu, void *data)
{
	struct site *site = data;

	if (site->looks)
		look(&fallback[cpu], site);
	fallback[cpu].kernel += site->instructions;
	fallback[cpu].switches += site->switches;
	fallback[cpu].halts += site->halts;
	if (fallback[cpu].measured)
		record_kernel_block(cpu, site);
}

static void own_block(unsigned cpu, void *data)
{
	fallback[cpu].own += (uintptr_t)data;
	fallback[cpu].was_user = 1;
}

static void other_block(unsigned cpu, void *data)
{
	fallback[cpu].other += (uintptr_t)data;
	fallback[cpu].was_user = 1;
	if (fallback[cpu].measured)
		record_other_block(cpu, (uintptr_t)data);
}

static void marker(unsigned cpu, void *data)
{
	record_marker(cpu, (uintptr_t)data & 0xff, (uintptr_t)data >> 8);
}

/* The instruction's @size bytes, in @copy if the emulator copies them. */
static const unsigned char *bytes_of(const struct instruction *instruction, unsigned char *copy, size_t size)
{
	uintptr_t answer = qemu_plugin_insn_data(instruction, copy, size);

	return qemu_plugin_version < 3 ? (const unsigned char *)answer : copy;
}

/* KIND | LABEL << 8 if this is a marker, else 0. */
static uintptr_t marker_of(const struct instruction *instruction)
{
	unsigned char copy[8] = { 0 };
	const unsigned char *bytes;

	if (qemu_plugin_insn_size(instruction) != 7)
		return 0;
	bytes = bytes_of(instruction, copy, 7);
	if (memcmp(bytes, "\x0f\x1f\x80", 3) || bytes[5] != 'T' || bytes[6] != 'C')
		return 0;
	return bytes[3] | bytes[4] << 8;
}

/* A switch of tasks is where Linux loads the next one's stack: mov disp32(%rsi), %rsp in __switch_to_asm. */
static void note_waits(struct block *block, struct site *site)
{
	for (size_t i = 0; i < site->instructions; i++) {
		struct instruction *instruction = qemu_plugin_tb_get_insn(block, i);
		size_t size = qemu_plugin_insn_size(instruction);
		unsigned char copy[8];

		if (size == 7)
			site->switches |= !memcmp(bytes_of(instruction, copy, 7), "\x48\x8b\xa6", 3);
		if (size == 1 && in_module(site->address))
			site->halts |= *bytes_of(instruction, copy, 1) == 0xf4;
		if (size == 2)
			site->looks |= !memcmp(bytes_of(instruction, copy, 2), "\xf3\x90", 2);
	}
}

static void instrument_kernel(struct block *block, size_t n)
{
	struct site *site = record_site(qemu_plugin_tb_vaddr(block), n);
	struct field switches = { board, offsetof(struct counters, switches) };
	struct field halts = { board, offsetof(struct counters, halts) };
	struct field kernel = { board, offsetof(struct counters, kernel) };
	struct field measured = { board, offsetof(struct counters, measured) };

	note_waits(block, site);
	if (!board) {
		qemu_plugin_register_vcpu_tb_exec_cb(block, kernel_block, NO_REGISTERS, site);
		return;
	}
	if (site->switches)
		qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, INLINE_ADD, switches, 1);
	if (site->halts)
		qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, INLINE_ADD, halts, 1);
	if (site->looks)
		qemu_plugin_register_vcpu_tb_exec_cb(block, look_block, NO_REGISTERS, site);
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, INLINE_ADD, kernel, n);
	qemu_plugin_register_vcpu_tb_exec_cond_cb(block, measured_kernel_block, NO_REGISTERS, CONDITION_NOT_EQUAL,
						  measured, 0, site);
}

static void instrument_user(struct block *block, size_t n)
{
	uint64_t address = qemu_plugin_tb_vaddr(block);
	bool own = address >= own_first && address < own_end, marked = false;
	struct field field = { board, own ? offsetof(struct counters, own) : offsetof(struct counters, other) };
	struct field was_user = { board, offsetof(struct counters, was_user) };
	struct field measured = { board, offsetof(struct counters, measured) };
	executed counted = own ? own_block : other_block;

	for (size_t i = 0; i < n; i++)
		marked |= marker_of(qemu_plugin_tb_get_insn(block, i)) != 0;
	if (board)
		qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, INLINE_STORE, was_user, 1);
	if (board && !own)
		qemu_plugin_register_vcpu_tb_exec_cond_cb(block, measured_other_block, NO_REGISTERS,
							  CONDITION_NOT_EQUAL, measured, 0, (void *)n);
	if (board && !marked)
		qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, INLINE_ADD, field, n);
	if (!board && !marked)
		qemu_plugin_register_vcpu_tb_exec_cb(block, counted, NO_REGISTERS, (void *)n);
	for (size_t i = 0; marked && i < n; i++) {
		struct instruction *instruction = qemu_plugin_tb_get_insn(block, i);
		uintptr_t mark = marker_of(instruction);

		if (board)
			qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(instruction, INLINE_ADD, field, 1);
		else
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, counted, NO_REGISTERS, (void *)1);
		if (mark)
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, marker, NO_REGISTERS, (void *)mark);
	}
}

static void translate(uint64_t first, void *second)
{
	struct block *block = first == own_id ? second : (struct block *)first;
	size_t n = qemu_plugin_tb_n_insns(block);

	if (qemu_plugin_tb_vaddr(block) >> 63)
		instrument_kernel(block, n);
	else
		instrument_user(block, n);
}

static void discontinue(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	bool with_id = a == own_id;
	struct counters *counters = counters_of((unsigned)(with_id ? b : a));

	(void)d;
	(void)e;
	if ((unsigned)(with_id ? c : b) == DISCON_INTERRUPT)
		counters->interrupts++;
	else
		counters->exceptions++;
}

EXPORTED int qemu_plugin_install(plugin_id id, const struct machine_info *info, int argc, char **argv)
{
	if (!info->is_system || strcmp(info->target, "x86_64") || info->cpus.most > MAX_CPUS)
		return -1;
	own_id = id;
	if (qemu_plugin_version >= 3)
		board = qemu_plugin_scoreboard_new(sizeof(struct counters));
	for (int i = 0; i < argc; i++) {
		region_sites |= !strcmp(argv[i], "sites=on");
		if (!strncmp(argv[i], "own=", 4) && sscanf(argv[i] + 4, "%lx-%lx", &own_first, &own_end) != 2)
			return -1;
	}
	record_start((unsigned)info->cpus.most);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate, NULL);
	if (sees_interrupts()) {
		qemu_plugin_register_vcpu_discon_cb(id, DISCON_INTERRUPT, discontinue, NULL);
		qemu_plugin_register_vcpu_discon_cb(id, DISCON_EXCEPTION, discontinue, NULL);
	}
	return 0;
}
