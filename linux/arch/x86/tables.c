// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel half of every root that a core loads (image.h), and Linux's top-level entries
 * for its user half.
 *
 * Owns the tables of the kernel half. Below the last top-level entry they map the image
 * with its sections' permissions, the APIC page, and the shared and the private regions in
 * 4 KiB pages; elsewhere the memory that programs get (memory.h); and nothing else. A wild
 * pointer in the co-kernel cannot reach Linux's memory.
 *
 * TRICK Linux's page tables on cores: a core's root repeats the top-level entries of the process's own
 * root, which an MMU notifier keeps up to date.
 * BREAKS a kernel that changes tables without telling notifiers.
 * NOTICED `tests/user/coherence.c`.
 */
#include <linux/mmzone.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <asm/apic.h>
#include <asm/pgtable.h>

#include "arch/arch.h"
#include "arch/x86/tables.h"
#include "compat.h"
#include "tacet.h"

static u64 *table_page(struct tacet_tables *tables)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

	if (!page)
		return NULL;
	list_add(&page->lru, &tables->pages);
	return page_address(page);
}

int tacet_tables_map_page(struct tacet_tables *tables, u64 address, u64 physical, u64 flags)
{
	u64 *slot = &tables->middle[(address - LAST_GIB) >> PMD_SHIFT];
	u64 *leaf;

	if (!*slot) {
		leaf = table_page(tables);
		if (!leaf)
			return -ENOMEM;
		*slot = __pa(leaf) | ENTRY_FLAGS;
	}
	leaf = __va(*slot & PTE_PFN_MASK);
	leaf[(address >> PAGE_SHIFT) & 511] = physical | flags;
	return 0;
}

int tacet_tables_map_bytes(struct tacet_tables *tables, u64 address, void *memory, size_t bytes, u64 flags)
{
	size_t done;
	int error = 0;

	for (done = 0; done < bytes && !error; done += PAGE_SIZE)
		error = tacet_tables_map_page(tables, address + done, __pa(memory) + done, flags);
	return error;
}

static int map_image(struct tacet_partition *partition, struct tacet_tables *tables)
{
	const struct tacet_image_header *header = partition->image;
	u64 text = header->text_bytes, rodata = header->rodata_bytes;
	u64 rest = partition->image_span - text - rodata;
	u64 data = _PAGE_PRESENT | _PAGE_ACCESSED | _PAGE_NX;
	int error;

	error = tacet_tables_map_bytes(tables, TACET_IMAGE_BASE, partition->image, text,
			  _PAGE_PRESENT | _PAGE_ACCESSED);
	if (!error)
		error = tacet_tables_map_bytes(tables, TACET_IMAGE_BASE + text, partition->image + text, rodata,
				  data);
	if (!error)
		error = tacet_tables_map_bytes(tables, TACET_IMAGE_BASE + text + rodata,
				  partition->image + text + rodata, rest,
				  data | _PAGE_RW | _PAGE_DIRTY);
	return error;
}

/* The private regions of @count cores from number @first on. */
int tacet_tables_map_private(struct tacet_partition *partition, struct tacet_tables *tables,
			     unsigned int first, unsigned int count)
{
	unsigned int pages = (first + count) * (TACET_PRIVATE_BYTES / PAGE_SIZE);
	unsigned int i;
	int error = 0;

	for (i = first * (TACET_PRIVATE_BYTES / PAGE_SIZE); i < pages && !error; i++) {
		if (TACET_PRIVATE_GUARD_PAGES >> (i % (TACET_PRIVATE_BYTES / PAGE_SIZE)) & 1)
			continue;
		error = tacet_tables_map_page(tables, TACET_PRIVATE_BASE + i * PAGE_SIZE,
				 __pa(partition->private) + i * PAGE_SIZE, ENTRY_FLAGS | _PAGE_NX);
	}
	return error;
}

/* The slot for @address whose entry maps 1 << @wanted bytes. Tables that are missing are made.
 * NULL: no memory. */
u64 *tacet_tables_slot(struct tacet_tables *tables, u64 address, unsigned int wanted)
{
	u64 *table = page_address(tables->idle_root);
	unsigned int shift = PGDIR_SHIFT;

	for (; ; shift -= 9) {
		u64 *slot = &table[(address >> shift) & 511];

		if (shift == wanted)
			return slot;
		if (!*slot) {
			table = table_page(tables);
			if (!table)
				return NULL;
			smp_store_release(slot, __pa(table) | ENTRY_FLAGS);
		}
		table = __va(*slot & PTE_PFN_MASK);
	}
}

/* The slot whose entry maps @address, or would; 1 << *@shift bytes are mapped by it. */
static u64 *find_slot(struct tacet_tables *tables, u64 address, unsigned int *shift)
{
	u64 *table = page_address(tables->idle_root), *slot;

	for (*shift = PGDIR_SHIFT; ; *shift -= 9) {
		slot = &table[(address >> *shift) & 511];
		if (*shift == PAGE_SHIFT || !(*slot & _PAGE_PRESENT) || (*shift <= PUD_SHIFT && *slot & _PAGE_PSE))
			return slot;
		table = __va(*slot & PTE_PFN_MASK);
	}
}

/* log2 of the largest page at @physical that does not reach beyond @end. */
static unsigned int direct_shift(u64 physical, u64 end)
{
	if (boot_cpu_has(X86_FEATURE_GBPAGES) && !(physical % PUD_SIZE) && end - physical >= PUD_SIZE)
		return PUD_SHIFT;
	return !(physical % PMD_SIZE) && end - physical >= PMD_SIZE ? PMD_SHIFT : PAGE_SHIFT;
}

int tacet_tables_map_direct(struct tacet_tables *tables, u64 physical, u64 end)
{
	unsigned int shift;

	for (; physical < end; physical += 1ull << shift) {
		unsigned int found;
		u64 *slot;

		/* A table stays: a core may have cached that there is one. */
		find_slot(tables, TACET_DIRECT_BASE + physical, &found);
		shift = min(direct_shift(physical, end), found);
		slot = tacet_tables_slot(tables, TACET_DIRECT_BASE + physical, shift);
		if (!slot)
			return -ENOMEM;
		*slot = physical | ENTRY_FLAGS | _PAGE_NX | (shift > PAGE_SHIFT ? _PAGE_PSE : 0);
	}
	return 0;
}

static u64 records_address(const struct tacet_partition *partition, const struct tacet_block *block)
{
	u64 place = block - partition->blocks;

	return TACET_JOINED_BASE + (place << TACET_JOINED_SHIFT) * sizeof(struct tacet_frame);
}

/* Every root has a copy of the top level: it has all entries that blocks may need later. */
static int map_nothing(struct tacet_tables *tables)
{
	u64 end = 0, physical;
	int node;

	for_each_online_node(node)
		end = max_t(u64, end, PFN_PHYS(node_end_pfn(node)));
	for (physical = 0; physical < end; physical += PGDIR_SIZE)
		if (!tacet_tables_slot(tables, TACET_DIRECT_BASE + physical, PGDIR_SHIFT - 9))
			return -ENOMEM;
	return tacet_tables_slot(tables, TACET_JOINED_BASE, PUD_SHIFT) ? 0 : -ENOMEM;
}

/* Maps a block that joins, and its records. Cores do not look there yet. */
int tacet_tables_map_block(struct tacet_partition *partition, const struct tacet_block *block)
{
	u64 address = records_address(partition, block), *top = page_address(((struct tacet_tables *)partition->tables)->idle_root);
	size_t bytes = block->pages * sizeof(struct tacet_frame), done;
	u64 from = PFN_PHYS(block->pfn), *slot;

	if (!top[tacet_tables_index(TACET_DIRECT_BASE + from)])
		return -ERANGE;		/* memory that Linux got while the partition was up */
	for (done = 0; done < bytes; done += PAGE_SIZE) {
		slot = tacet_tables_slot(partition->tables, address + done, PAGE_SHIFT);
		if (!slot)
			return -ENOMEM;
		*slot = page_to_phys(vmalloc_to_page((void *)block->records + done)) | ENTRY_FLAGS | _PAGE_NX;
	}
	return tacet_tables_map_direct(partition->tables, from, from + ((u64)block->pages << PAGE_SHIFT));
}

static bool unmap(struct tacet_tables *tables, u64 address, u64 end)
{
	unsigned int shift;
	bool any = false;

	for (; address < end; address += 1ull << shift) {
		u64 *slot = find_slot(tables, address, &shift);

		any |= *slot;
		WRITE_ONCE(*slot, 0);
	}
	return any;
}

/* True: something was mapped, and the cores have to flush. */
bool tacet_tables_unmap_block(struct tacet_partition *partition, const struct tacet_block *block)
{
	u64 address = records_address(partition, block), from = TACET_DIRECT_BASE + PFN_PHYS(block->pfn);
	bool any = unmap(partition->tables, address, address + block->pages * sizeof(struct tacet_frame));

	return unmap(partition->tables, from, from + ((u64)block->pages << PAGE_SHIFT)) || any;
}

/* The memory of programs and its records: all of the partition behind the contexts and
 * spaces. */
static int map_memory(struct tacet_partition *partition, struct tacet_tables *tables)
{
	const struct tacet_memory *memory = partition->memory;
	const struct tacet_block *block = partition->blocks;
	unsigned int i;
	int error;

	if (!memory)
		return 0;
	error = map_nothing(tables) ?: tacet_tables_map_direct(tables, __pa(memory), PFN_PHYS(block->pfn + block->pages));
	for (i = 1; i < partition->block_count && !error; i++) {
		block = &partition->blocks[i];
		error = tacet_tables_map_direct(tables, PFN_PHYS(block->pfn), PFN_PHYS(block->pfn + block->pages));
	}
	return error;
}

/* The address of partition->spaces for cores: behind the contexts. */
u64 tacet_tables_spaces(const struct tacet_partition *partition)
{
	return TACET_SHARED_BASE + partition->core_count * (u64)TACET_CPU_BYTES +
	       partition->context_count * (u64)TACET_CONTEXT_BYTES;
}

/* All tables for it are made at once: those of jobs' cores name them too. */
static int map_pico(struct tacet_partition *partition, struct tacet_tables *tables)
{
	u64 address;

	for (address = TACET_PICO_BASE; partition->pico && address < TACET_PICO_BASE + TACET_PICO_LIMIT_BYTES;
	     address += PMD_SIZE)
		if (!tacet_tables_slot(tables, address, PAGE_SHIFT))
			return -ENOMEM;
	return tacet_tables_map_bytes(tables, TACET_PICO_BASE, partition->pico, partition->pico_bytes,
				      ENTRY_FLAGS | _PAGE_NX);
}

static int map_everything(struct tacet_partition *partition, struct tacet_tables *tables)
{
	u64 shared = ENTRY_FLAGS | _PAGE_NX;
	size_t cpu_bytes = (size_t)partition->core_count * TACET_CPU_BYTES;
	u64 apic_base;
	int error;

	error = map_image(partition, tables);
	if (!error)
		error = tacet_tables_map_bytes(tables, TACET_SHARED_BASE, partition->cpu_pages, cpu_bytes, shared);
	if (!error)
		error = tacet_tables_map_bytes(tables, TACET_SHARED_BASE + cpu_bytes, partition->contexts,
				  (size_t)partition->context_count * TACET_CONTEXT_BYTES, shared);
	if (!error)
		error = tacet_tables_map_bytes(tables, tacet_tables_spaces(partition), partition->spaces,
				  PAGE_ALIGN(partition->context_count * sizeof(*partition->spaces)),
				  shared);
	if (!error)
		error = map_pico(partition, tables);
	if (!error)
		error = tacet_tables_map_private(partition, tables, 0, partition->core_count);
	if (!error && !x2apic_enabled()) {
		rdmsrq(MSR_IA32_APICBASE, apic_base);
		error = tacet_tables_map_page(tables, TACET_LAPIC_BASE, apic_base & MSR_IA32_APICBASE_BASE,
				 shared | _PAGE_PCD | _PAGE_PWT);
	}
	return error;
}

/* Tables that map nothing yet. NULL: no memory. */
struct tacet_tables *tacet_tables_new(void)
{
	struct tacet_tables *tables = kzalloc(sizeof(*tables), GFP_KERNEL);
	u64 *root;

	if (!tables)
		return NULL;
	INIT_LIST_HEAD(&tables->pages);
	root = table_page(tables);
	if (root) {
		tables->idle_root = virt_to_page(root);
		tables->middle = tacet_tables_slot(tables, LAST_GIB, PMD_SHIFT);
	}
	if (tables->middle)
		return tables;
	tacet_tables_drop(tables);
	return NULL;
}

void tacet_tables_drop(struct tacet_tables *tables)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &tables->pages, lru) {
		list_del(&page->lru);
		__free_page(page);
	}
	kfree(tables);
}

int tacet_tables_build(struct tacet_partition *partition)
{
	struct tacet_tables *tables = tacet_tables_new();

	if (!tables)
		return -ENOMEM;
	partition->tables = tables;
	return map_everything(partition, tables) ?: map_memory(partition, tables);
}

/* Maps a page behind TACET_PICO_BASE; @registers: of a device. It may have been mapped before. */
int tacet_tables_map(struct tacet_partition *partition, u64 address, u64 physical, bool registers)
{
	u64 uncached = registers ? _PAGE_PCD | _PAGE_PWT : 0;

	return tacet_tables_map_page(partition->tables, address, physical, ENTRY_FLAGS | _PAGE_NX | uncached);
}

void tacet_tables_free(struct tacet_partition *partition)
{
	if (partition->tables)
		tacet_tables_drop(partition->tables);
	partition->tables = NULL;
}

/* The physical address of the root of a core that has no program, and maps the memory of job number
 * @job alone; 0: all. */
u64 tacet_tables_root(struct tacet_partition *partition, unsigned int job)
{
	struct tacet_tables *tables = job ? partition->apart[job - 1] : partition->tables;

	return page_to_phys(tables->idle_root);
}

void tacet_tables_copy_kernel(struct tacet_partition *partition, struct page *root, unsigned int job)
{
	struct tacet_tables *tables = job ? partition->apart[job - 1] : partition->tables;

	memcpy(page_address(root) + PAGE_SIZE / 2, page_address(tables->idle_root) + PAGE_SIZE / 2,
	       PAGE_SIZE / 2);
}

/*
 * The top-level entry for cores where a process's range begins at @base: @entry is Linux's,
 * @range the range's entry of the fourth level, which replaces Linux's there. With five
 * levels the result points to @fourth, a copy of Linux's table with this one entry replaced; only
 * what maps [@start, @end], within the top-level entry, is copied anew. The range's entry is always.
 */
u64 tacet_tables_with_range(struct page *fourth, u64 entry, unsigned long base, u64 range, unsigned long start,
			    unsigned long end)
{
	unsigned int i, last = end >> TACET_RANGE_SHIFT & 511, place = base >> TACET_RANGE_SHIFT & 511;
	u64 *from, *to;

	if (!pgtable_l5_enabled())
		return range;
	from = entry & _PAGE_PRESENT ? __va(entry & PTE_PFN_MASK) : NULL;
	to = page_address(fourth);
	if (READ_ONCE(to[place]) != range)
		WRITE_ONCE(to[place], range);
	for (i = start >> TACET_RANGE_SHIFT & 511; i <= last; i++) {
		u64 value = i == place ? range : from ? READ_ONCE(from[i]) : 0;

		if (READ_ONCE(to[i]) != value)
			WRITE_ONCE(to[i], value);
	}
	return page_to_phys(fourth) | ENTRY_FLAGS | _PAGE_USER;
}

/* The entry that points to a range's table in @frame. */
u64 tacet_tables_range_entry(u64 frame)
{
	return PFN_PHYS(frame) | ENTRY_FLAGS | _PAGE_USER;
}

/* Linux's top-level entry. With page-table isolation Linux has marked it no-execute for
 * itself. */
u64 tacet_tables_user_entry(struct mm_struct *mm, unsigned int index)
{
	return pgd_val(READ_ONCE(mm->pgd[index])) & ~_PAGE_NX;
}

unsigned int tacet_tables_index(unsigned long address)
{
	return (address >> PGDIR_SHIFT) & (PTRS_PER_PGD - 1);
}
