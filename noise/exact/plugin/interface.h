/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The part of QEMU's plugin interface that the plugin uses, for versions 1 (QEMU 7.2) to 7 (11.1).
 *
 * Owns: declarations only. Every function that some version lacks is weak, so one object serves all versions: see
 * interface_version(). Must never include a QEMU header.
 */
#ifndef TACET_EXACT_INTERFACE_H
#define TACET_EXACT_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))
#define WEAK __attribute__((weak))

typedef uint64_t plugin_id;
struct block;			/* qemu_plugin_tb */
struct instruction;		/* qemu_plugin_insn */
struct scoreboard;		/* one element per virtual CPU */

struct machine_info {
	const char *target;
	struct { int least, current; } version;
	bool is_system;
	struct { int initial, most; } cpus;
};

struct field {			/* a uint64_t at `offset` of each scoreboard element */
	struct scoreboard *board;
	size_t offset;
};

struct bytes {			/* the front of GLib's GByteArray */
	uint8_t *data;
	unsigned length;
};

enum { NO_REGISTERS = 0 };
enum { INLINE_ADD = 0, INLINE_STORE = 1 };
enum { CONDITION_NOT_EQUAL = 3 };
enum { DISCON_INTERRUPT = 1, DISCON_EXCEPTION = 2 };

typedef void (*executed)(unsigned cpu, void *data);

/* From version 7 on, callbacks lose the id in front and gain the data at the end; they tell by looking for the id. */
typedef void (*translated)(uint64_t id_or_block, void *block_or_data);
typedef void (*discontinued)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

void qemu_plugin_outs(const char *text);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, translated call, void *data);
void qemu_plugin_register_vcpu_tb_exec_cb(struct block *, executed call, int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct instruction *, executed call, int flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct block *);
uint64_t qemu_plugin_tb_vaddr(const struct block *);
struct instruction *qemu_plugin_tb_get_insn(const struct block *, size_t index);
size_t qemu_plugin_insn_size(const struct instruction *);
/* Versions 1 and 2 return the bytes; later ones copy them and return their number. */
uintptr_t qemu_plugin_insn_data(const struct instruction *, void *to, size_t size);

/* version 3 */
WEAK struct scoreboard *qemu_plugin_scoreboard_new(size_t element);
WEAK void *qemu_plugin_scoreboard_find(struct scoreboard *, unsigned cpu);
WEAK void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct block *, int op, struct field, uint64_t value);
WEAK void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct instruction *, int op, struct field, uint64_t value);
WEAK void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct block *, executed call, int flags, int condition,
						    struct field, uint64_t value, void *data);
/* versions 4, 5, 6 */
WEAK bool qemu_plugin_read_memory_vaddr(uint64_t address, struct bytes *to, size_t size);
WEAK void qemu_plugin_write_memory_vaddr(void);
WEAK void qemu_plugin_register_vcpu_discon_cb(plugin_id id, int types, discontinued call, void *data);

/* From GLib, with which every emulator is linked. */
WEAK struct bytes *g_byte_array_new(void);

/* The version of the emulator that loads us. No function tells 6 and 7 apart: both are reported as 7. */
static inline int interface_version(void)
{
	if (!qemu_plugin_scoreboard_new || !qemu_plugin_register_vcpu_tb_exec_cond_cb)
		return 1;
	if (!qemu_plugin_read_memory_vaddr)
		return 3;
	if (!qemu_plugin_write_memory_vaddr)
		return 4;
	return qemu_plugin_register_vcpu_discon_cb ? 7 : 5;
}

#endif
