// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel half of the roots of a job's cores, where that job is kept apart from others (partition/apart.c).
 *
 * Owns partition->apart: for such a job, tables that map the image and what all cores share, and of all that
 * has users' data only the job's: its own memory, the contexts of its threads, and the private regions of its
 * cores. Tables of the image, of devices' queues and of the records of blocks that join are those of all.
 *
 * The job's cores have these tables loaded while they change. Entries are added only, until no core has the
 * tables loaded any more: so nobody flushes.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <asm/pgtable.h>

#include "arch/arch.h"
#include "arch/x86/tables.h"
#include "compat.h"
#include "tacet.h"

#define SHARED_FLAGS (ENTRY_FLAGS | _PAGE_NX)

static u64 contexts_base(const struct tacet_partition *partition)
{
	return TACET_SHARED_BASE + partition->core_count * (u64)TACET_CPU_BYTES;
}

static bool is_own(u64 address)
{
	return address >= TACET_SHARED_BASE && address < TACET_PICO_BASE;
}

/* What cores have of the last GiB: tables of all, but for contexts and private regions. */
static int map_last(struct tacet_partition *partition, struct tacet_tables *tables,
		    const struct cpumask *cpus)
{
	const struct tacet_tables *all = partition->tables;
	u64 address, contexts = contexts_base(partition);
	unsigned int i;
	int error;

	for (address = LAST_GIB, i = 0; i < PTRS_PER_PMD; i++, address += PMD_SIZE)
		if (!is_own(address))
			tables->middle[i] = all->middle[i];
	error = tacet_tables_map_bytes(tables, TACET_SHARED_BASE, partition->cpu_pages,
				       (size_t)partition->core_count * TACET_CPU_BYTES, SHARED_FLAGS);
	/* The tables for contexts are made now: they are shown under a spinlock. */
	for (address = contexts; address < tacet_tables_spaces(partition) && !error; address += PAGE_SIZE)
		error = tacet_tables_map_page(tables, address, 0, 0);
	error = error ?: tacet_tables_map_bytes(tables, tacet_tables_spaces(partition), partition->spaces,
						PAGE_ALIGN(partition->context_count * sizeof(*partition->spaces)),
						SHARED_FLAGS);
	for (i = 0; i < partition->core_count && !error; i++)
		if (cpumask_test_cpu(partition->cores[i].cpu, cpus))
			error = tacet_tables_map_private(partition, tables, i, 1);
	return error;
}

/* The records of all frames and ranges, which lie in front of the first frame for programs; and those of blocks
 * that join, whenever they do. */
static int map_records(struct tacet_partition *partition, struct tacet_tables *tables)
{
	const struct tacet_memory *memory = partition->memory;
	u64 end = __pa(partition->frames) + PAGE_ALIGN((u64)memory->slot_count * sizeof(struct tacet_frame));
	unsigned int shift = PUD_SHIFT + 9;
	u64 *slot = tacet_tables_slot(tables, TACET_JOINED_BASE, shift);
	const u64 *all = tacet_tables_slot(partition->tables, TACET_JOINED_BASE, shift);

	if (!slot || !all)
		return -ENOMEM;
	*slot = *all;
	return tacet_tables_map_direct(tables, __pa(memory), end);
}

/* Tables for the cores of job number @job, which are on @cpus; they map no memory of programs yet. */
int tacet_tables_job_begin(struct tacet_partition *partition, unsigned int job, const struct cpumask *cpus)
{
	struct tacet_tables *tables = tacet_tables_new();
	int error;

	lockdep_assert_held(&tacet_control_lock);
	if (!tables)
		return -ENOMEM;
	error = map_last(partition, tables, cpus) ?: map_records(partition, tables);
	if (error)
		tacet_tables_drop(tables);
	else
		WRITE_ONCE(partition->apart[job - 1], tables);
	return error;
}

/* No core has the tables loaded. There may be none. */
void tacet_tables_job_end(struct tacet_partition *partition, unsigned int job)
{
	struct tacet_tables *tables = partition->apart[job - 1];

	lockdep_assert_held(&tacet_control_lock);
	WRITE_ONCE(partition->apart[job - 1], NULL);
	if (tables)
		tacet_tables_drop(tables);
}

/* No core runs any more. */
void tacet_tables_jobs_free(struct tacet_partition *partition)
{
	unsigned int job;

	for (job = 1; job <= TACET_JOBS; job++)
		tacet_tables_job_end(partition, job);
}

/* The job has @pages frames from number @first on for itself. Sleeps. */
int tacet_tables_job_give(struct tacet_partition *partition, unsigned int job, u64 first, u64 pages)
{
	return tacet_tables_map_direct(partition->apart[job - 1], PFN_PHYS(first), PFN_PHYS(first + pages));
}

/* A thread of the job has context number @number. Any context. */
void tacet_tables_job_show(struct tacet_partition *partition, unsigned int job, unsigned int number)
{
	struct tacet_tables *tables = partition->apart[job - 1];
	u64 done, address = contexts_base(partition) + number * (u64)TACET_CONTEXT_BYTES;

	/* The tables are there: this allocates nothing. */
	for (done = 0; done < TACET_CONTEXT_BYTES; done += PAGE_SIZE)
		tacet_tables_map_page(tables, address + done, __pa(&partition->contexts[number]) + done, SHARED_FLAGS);
}

static void visit_table(u64 *table, unsigned int first, unsigned int shift,
			void (*visit)(u64 physical, u64 bytes, void *data), void *data)
{
	unsigned int i;

	for (i = first; i < PTRS_PER_PTE; i++) {
		u64 entry = READ_ONCE(table[i]), physical = entry & PTE_PFN_MASK;

		if (!(entry & _PAGE_PRESENT))
			continue;
		if (shift > PAGE_SHIFT && !(shift <= PUD_SHIFT && entry & _PAGE_PSE))
			visit_table(__va(physical), 0, shift - 9, visit, data);
		else if (!(entry & _PAGE_PCD))	/* else it is a device */
			visit(physical & ~((1ull << shift) - 1), 1ull << shift, data);
	}
}

/* Visits all memory that the kernel half of the root at physical address @root maps. Sleeps if @visit does. */
void tacet_tables_visit(u64 root, void (*visit)(u64 physical, u64 bytes, void *data), void *data)
{
	visit_table(__va(root & PTE_PFN_MASK), PTRS_PER_PGD / 2, PGDIR_SHIFT, visit, data);
}
