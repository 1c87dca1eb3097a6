/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tables.c and job_tables.c share: tables of a kernel half in the making. For these two alone.
 */
#ifndef TACET_ARCH_X86_TABLES_H
#define TACET_ARCH_X86_TABLES_H

#include <asm/pgtable.h>

#include "tacet.h"

#define ENTRY_FLAGS (_PAGE_PRESENT | _PAGE_RW | _PAGE_ACCESSED | _PAGE_DIRTY)
#define LAST_GIB 0xffffffffc0000000ull

struct tacet_tables {
	struct page *idle_root;
	u64 *middle;			/* the page directory of the last GiB */
	struct list_head pages;		/* all table pages that are its own, for freeing */
};

/* Sleep. */
struct tacet_tables *tacet_tables_new(void);
void tacet_tables_drop(struct tacet_tables *tables);
u64 *tacet_tables_slot(struct tacet_tables *tables, u64 address, unsigned int wanted);
int tacet_tables_map_page(struct tacet_tables *tables, u64 address, u64 physical, u64 flags);
int tacet_tables_map_bytes(struct tacet_tables *tables, u64 address, void *memory, size_t bytes, u64 flags);
int tacet_tables_map_direct(struct tacet_tables *tables, u64 physical, u64 end);
int tacet_tables_map_private(struct tacet_partition *partition, struct tacet_tables *tables,
			     unsigned int first, unsigned int count);

#endif
