// SPDX-License-Identifier: GPL-2.0
/*
 * Starting, ringing and stopping a core: INIT, SIPI and NMI through the local
 * APIC (SDM vol. 3, ch. 9.4 and 11.6), and the one interrupt by which a core
 * reaches Linux.
 *
 * Called by partition/cores.c to start a core, with the control lock held, and by border/
 * to ring and stop it, in any context. The low page is touched only between saving and
 * restoring it.
 *
 * TRICK the low page 0x8000: a core starts by INIT and SIPI from this page, which Linux reserves and
 * does not use after its own boot; it is saved and restored. INIT, SIPI and NMI go by
 * `apic->icr_write()`.
 * BREAKS a kernel that keeps something there while it runs; a machine without real mode.
 * NOTICED each core has to prove that it started and stopped; `tacet up` says which did not;
 * confidential guests are refused (`tacet_arch_check()`).
 */
#include <linux/cc_platform.h>
#include <linux/delay.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <asm/apic.h>
#include <asm/cpufeature.h>
#include <asm/fpu/xcr.h>
#include <asm/irqdomain.h>
#include <asm/smp.h>
#include <asm/special_insns.h>
#include <asm/tlbflush.h>
#include <asm/tsc.h>

#include "arch/arch.h"
#include "compat.h"
#include "tacet.h"

#define LOW_PAGE 0x8000ul
#define CR4_FRED BIT_ULL(32)
#define COMMAND_PATIENCE_NS NSEC_PER_MSEC

extern const char tacet_trampoline[], tacet_trampoline_end[], tacet_trampoline_gdtr[],
	tacet_trampoline_gdt[], tacet_trampoline_cr4[], tacet_trampoline_cr3[],
	tacet_trampoline_efer[], tacet_trampoline_cr0[], tacet_trampoline_far[],
	tacet_trampoline_long[], tacet_trampoline_argument[], tacet_trampoline_entry[];

int tacet_arch_check(char *message, size_t size)
{
	const char *missing = NULL;

	if (!boot_cpu_has(X86_FEATURE_XSAVE))
		missing = "the processor has no XSAVE";
	else if (boot_cpu_has(X86_FEATURE_XSAVEC) && !boot_cpu_has(X86_FEATURE_XSAVES))
		missing = "the processor compacts extended state without XSAVES";
	else if (!boot_cpu_has(X86_FEATURE_NX))
		missing = "the processor has no NX";
	else if (!boot_cpu_has(X86_FEATURE_APIC))
		missing = "the processor has no local APIC";
	else if (boot_cpu_has(X86_FEATURE_XENPV))
		missing = "a Xen PV guest has no processors of its own";
	else if (cpu_feature_enabled(X86_FEATURE_SEV_ES) || cpu_feature_enabled(X86_FEATURE_TDX_GUEST))
		missing = "an encrypted guest cannot start CPUs by INIT and SIPI";
	else if (cc_platform_has(CC_ATTR_MEM_ENCRYPT))
		/* Neither the first instructions nor the tables of a core have the C bit. */
		missing = "its memory is encrypted; boot with mem_encrypt=off";
	if (!missing) {
		if (check_tsc_unstable() || !boot_cpu_has(X86_FEATURE_NONSTOP_TSC))
			/* Linux has warned of it; `tacet doctor` does, too. */
			tacet_report(TACET_LOG_INFO,
				     "the time-stamp counter is not steady: cores forward timed waits, and turns and profiles are inexact");
		return 0;
	}
	snprintf(message, size, "this machine: %s", missing);
	return -EOPNOTSUPP;
}

unsigned int tacet_arch_largest_page(void)
{
	return boot_cpu_has(X86_FEATURE_GBPAGES) ? PUD_SHIFT : PMD_SHIFT;
}

/* The core gets the settings of the CPU that runs this. */
static void fill_boot(struct tacet_partition *partition, struct tacet_core *core)
{
	struct tacet_cpu_boot *boot = &core->shared->boot;
	unsigned int index = core - partition->cores;

	core->shared->revision = TACET_ABI_REVISION;
	boot->cr0 = read_cr0();
	/* TSD and PCE belong to the calling thread; the co-kernel knows no PCID and no FRED. */
	boot->cr4 = __read_cr4() & ~(X86_CR4_PCIDE | CR4_FRED | X86_CR4_TSD | X86_CR4_PCE);
	rdmsrq(MSR_EFER, boot->efer);
	rdmsrq(MSR_IA32_CR_PAT, boot->pat);
	rdmsrq(MSR_STAR, boot->star);
	boot->xcr0 = xgetbv(XCR_XFEATURE_ENABLED_MASK);
	boot->has_xsave = 1;
	boot->has_xsaves = boot_cpu_has(X86_FEATURE_XSAVES);
	if (boot->has_xsaves)
		rdmsrq(MSR_IA32_XSS, boot->xss);
	boot->has_xfd = boot_cpu_has(X86_FEATURE_XFD);
	boot->has_tsc_aux = boot_cpu_has(X86_FEATURE_RDTSCP) || boot_cpu_has(X86_FEATURE_RDPID);
	boot->tsc_aux = core->cpu | (u64)core->node << 12;
	boot->has_pku = boot_cpu_has(X86_FEATURE_OSPKE);
	boot->has_cet = boot->cr4 & X86_CR4_CET ? 1 : 0;
	boot->has_x2apic = x2apic_enabled();
	boot->has_spec_ctrl = boot_cpu_has(X86_FEATURE_MSR_SPEC_CTRL);
	boot->spec_ctrl = tacet_speculation_learn();
	boot->measures = partition->measures;
	boot->root = tacet_tables_root(partition, 0);
	boot->private_base = TACET_PRIVATE_BASE + index * (u64)TACET_PRIVATE_BYTES;
	boot->private_bytes = TACET_PRIVATE_BYTES;
	boot->stack_top = boot->private_base + TACET_PRIVATE_BYTES;
	boot->contexts_base = TACET_SHARED_BASE + partition->core_count * (u64)TACET_CPU_BYTES;
	boot->context_count = partition->context_count;
	boot->cpu = core->cpu;
	boot->node = core->node;
	boot->lapic_base = TACET_LAPIC_BASE;
	boot->apic_id = core->apicid;
	boot->has_smap = boot->cr4 & X86_CR4_SMAP ? 1 : 0;
	boot->core_count = partition->core_count;
	boot->index = index;
	boot->spaces_base = tacet_tables_spaces(partition);
	boot->space_count = partition->context_count;
	boot->memory_base = partition->memory ? TACET_DIRECT_BASE + __pa(partition->memory) : 0;
	boot->pico_base = partition->pico ? TACET_PICO_BASE : 0;
	boot->tsc_khz = tsc_khz;
	boot->look_ns = tacet_core_looks_ns();
	boot->performance = core->performance.control;
	boot->performance_before = core->performance.before;
	boot->performance_highest = core->performance.highest;
	boot->has_energy_bias = core->performance.has_bias;
}

/* Tables below 4 GiB: the first 2 MiB identity-mapped, and the co-kernel's half. */
struct low_tables {
	struct page *pages[4];
	int count;
};

struct tacet_arch_start {
	struct low_tables low;
	char saved[];			/* what was in the low page */
};

static void low_tables_free(struct low_tables *low)
{
	while (low->count)
		__free_page(low->pages[--low->count]);
}

static int low_tables_build(struct tacet_partition *partition, struct low_tables *low)
{
	int levels = pgtable_l5_enabled() ? 4 : 3;
	u64 *table;
	int i;

	low->count = 0;
	for (i = 0; i < levels; i++) {
		low->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO | GFP_DMA32);
		if (!low->pages[i]) {
			low_tables_free(low);
			return -ENOMEM;
		}
		low->count++;
	}
	for (i = 0; i < levels - 1; i++) {
		table = page_address(low->pages[i]);
		table[0] = page_to_phys(low->pages[i + 1]) | _PAGE_PRESENT | _PAGE_RW;
	}
	table = page_address(low->pages[levels - 1]);
	table[0] = _PAGE_PRESENT | _PAGE_RW | _PAGE_PSE;
	tacet_tables_copy_kernel(partition, low->pages[0], 0);
	return 0;
}

static void *patch(char *copy, const char *symbol)
{
	return copy + (symbol - tacet_trampoline);
}

static void write_trampoline(struct tacet_partition *partition, struct tacet_core *core,
			     struct low_tables *low)
{
	const struct tacet_image_header *header = partition->image;
	const struct tacet_cpu_boot *boot = &core->shared->boot;
	unsigned int index = core - partition->cores;
	char *copy = __va(LOW_PAGE);

	memcpy(copy, tacet_trampoline, tacet_trampoline_end - tacet_trampoline);
	*(u32 *)(patch(copy, tacet_trampoline_gdtr) + 2) =
		LOW_PAGE + (tacet_trampoline_gdt - tacet_trampoline);
	*(u32 *)patch(copy, tacet_trampoline_cr4) =
		boot->cr4 & (X86_CR4_PAE | X86_CR4_LA57 | X86_CR4_PSE | X86_CR4_PGE);
	*(u32 *)patch(copy, tacet_trampoline_cr3) = page_to_phys(low->pages[0]);
	*(u32 *)patch(copy, tacet_trampoline_efer) = boot->efer & ~EFER_LMA;
	*(u32 *)patch(copy, tacet_trampoline_cr0) = CR0_STATE;
	*(u32 *)patch(copy, tacet_trampoline_far) =
		LOW_PAGE + (tacet_trampoline_long - tacet_trampoline);
	*(u64 *)patch(copy, tacet_trampoline_argument) =
		TACET_SHARED_BASE + index * (u64)TACET_CPU_BYTES;
	*(u64 *)patch(copy, tacet_trampoline_entry) = header->entry;
	mb();
}

/* Until the last command has left this CPU's APIC. An x2APIC takes them one after the other.
 * One that never becomes idle is broken; nothing is gained by waiting longer. */
static void await_command(void)
{
	u64 begin;

	if (x2apic_mode || !(apic->read(APIC_ICR) & APIC_ICR_BUSY))
		return;
	begin = ktime_get_mono_fast_ns();
	while (apic->read(APIC_ICR) & APIC_ICR_BUSY &&
	       ktime_get_mono_fast_ns() - begin < COMMAND_PATIENCE_NS)
		cpu_relax();
}

/* With interrupts off: the command register takes two writes in xAPIC mode, and a command that
 * is written over another one replaces it. */
static void write_command(u32 command, u32 apicid)
{
	await_command();
	apic->icr_write(command, apicid);
}

static void send_command(u32 command, u32 apicid)
{
	unsigned long flags;

	local_irq_save(flags);
	write_command(command, apicid);
	local_irq_restore(flags);
}

/*
 * Real-mode code, at the beginning of the low page: it says that it runs, and halts. Only a CPU
 * that INIT has reset obeys a SIPI; so a core that says so executes nothing of what it did before.
 *
 *	2e c6 06 0b 00 01	movb $1, %cs:0x0b
 *	fa			1: cli
 *	f4			hlt
 *	eb fc			jmp 1b
 */
static const u8 witness[] = { 0x2e, 0xc6, 0x06, 0x0b, 0x00, 0x01, 0xfa, 0xf4, 0xeb, 0xfc };
#define WITNESSED 0x0b

struct tacet_arch_proof {
	u8 saved[PAGE_SIZE];		/* what was in the low page */
};

/* The core was killed. NULL: no memory. */
struct tacet_arch_proof *tacet_arch_proof_begin(struct tacet_core *core)
{
	struct tacet_arch_proof *proof = kmalloc(sizeof(*proof), GFP_KERNEL);
	u8 *low = __va(LOW_PAGE);

	lockdep_assert_held(&tacet_control_lock);
	if (!proof)
		return NULL;
	msleep(20);		/* it may be executing the trampoline in this page */
	memcpy(proof->saved, low, PAGE_SIZE);
	memcpy(low, witness, sizeof(witness));
	low[WITNESSED] = 0;
	mb();
	return proof;
}

/* Resets the core once more and sends it to the witness; a SIPI that comes before INIT is over
 * is lost, so the caller repeats this. Sleeps. */
void tacet_arch_proof_send(struct tacet_core *core)
{
	send_command(APIC_INT_LEVELTRIG | APIC_INT_ASSERT | APIC_DM_INIT, core->apicid);
	msleep(20);
	send_command(APIC_INT_LEVELTRIG | APIC_DM_INIT, core->apicid);
	send_command(APIC_DM_STARTUP | LOW_PAGE >> PAGE_SHIFT, core->apicid);
}

bool tacet_arch_proven(void)
{
	return READ_ONCE(((u8 *)__va(LOW_PAGE))[WITNESSED]);
}

/* The core halts in real mode, with interrupts off, until Linux starts it. It is reset before the
 * code under it goes. If it never came there, the low page stays as it is: it may come yet. */
void tacet_arch_proof_end(struct tacet_arch_proof *proof, struct tacet_core *core)
{
	if (tacet_arch_proven()) {
		send_command(APIC_INT_LEVELTRIG | APIC_INT_ASSERT | APIC_DM_INIT, core->apicid);
		msleep(20);
		send_command(APIC_INT_LEVELTRIG | APIC_DM_INIT, core->apicid);
		memcpy(__va(LOW_PAGE), proof->saved, PAGE_SIZE);
	}
	kfree(proof);
}

/* Writes what the core executes first, and resets it. */
struct tacet_arch_start *tacet_arch_start_begin(struct tacet_partition *partition,
						struct tacet_core *core)
{
	struct tacet_arch_start *start = kmalloc(struct_size(start, saved, PAGE_SIZE), GFP_KERNEL);
	int error;

	lockdep_assert_held(&tacet_control_lock);
	if (!start)
		return ERR_PTR(-ENOMEM);
	error = low_tables_build(partition, &start->low);
	if (error) {
		kfree(start);
		return ERR_PTR(error);
	}
	memcpy(start->saved, __va(LOW_PAGE), PAGE_SIZE);
	fill_boot(partition, core);
	write_trampoline(partition, core, &start->low);
	send_command(APIC_INT_LEVELTRIG | APIC_INT_ASSERT | APIC_DM_INIT, core->apicid);
	msleep(20);
	send_command(APIC_INT_LEVELTRIG | APIC_DM_INIT, core->apicid);
	msleep(10);
	return start;
}

/* Most cores need it once, some twice. */
void tacet_arch_start_send(struct tacet_core *core)
{
	send_command(APIC_DM_STARTUP | LOW_PAGE >> PAGE_SHIFT, core->apicid);
}

/* The core is online, or killed. */
void tacet_arch_start_end(struct tacet_arch_start *start)
{
	memcpy(__va(LOW_PAGE), start->saved, PAGE_SIZE);
	low_tables_free(&start->low);
	kfree(start);
}

void tacet_arch_listen(struct tacet_core *core)
{
	core->audible = true;
	WRITE_ONCE(core->shared->audible, 1);
}

/* Resets the core, whatever it does. INIT is on its way when this returns: the core may execute
 * a few more instructions. It must not be rung any more: an NMI would reach a processor that
 * waits for a SIPI. */
void tacet_arch_kill(struct tacet_core *core)
{
	unsigned long flags;

	WRITE_ONCE(core->shared->audible, 0);
	raw_spin_lock_irqsave(&core->bell_lock, flags);
	core->audible = false;
	write_command(APIC_INT_LEVELTRIG | APIC_INT_ASSERT | APIC_DM_INIT, core->apicid);
	await_command();
	raw_spin_unlock_irqrestore(&core->bell_lock, flags);
}

/* The same in a panic, on the last CPU that executes: a CPU that was stopped may hold the bell
 * lock for ever. */
void tacet_arch_kill_in_panic(struct tacet_core *core)
{
	WRITE_ONCE(core->shared->audible, 0);
	core->audible = false;
	write_command(APIC_INT_LEVELTRIG | APIC_INT_ASSERT | APIC_DM_INIT, core->apicid);
}

/* The doorbell. The reason is in memory already. */
void tacet_arch_ring(struct tacet_core *core)
{
	unsigned long flags;

	mb();
	raw_spin_lock_irqsave(&core->bell_lock, flags);
	if (core->audible) {
		core->shared->doorbells_sent++;
		write_command(APIC_DM_NMI | APIC_DEST_PHYSICAL, core->apicid);
	}
	raw_spin_unlock_irqrestore(&core->bell_lock, flags);
}

/* Allocates an interrupt that the core can send to a CPU of Linux. */
int tacet_arch_notify_open(struct tacet_core *core, irq_handler_t handler)
{
	struct irq_alloc_info info = { .mask = cpu_online_mask };
	int virq = irq_domain_alloc_irqs(x86_vector_domain, 1, core->node, &info);
	int error;

	if (virq < 0)
		return virq;
	irq_set_handler(virq, handle_edge_irq);
	error = request_irq(virq, handler, IRQF_NOBALANCING, "tacet", core);
	if (error) {
		irq_dispose_mapping(virq);
		return error;
	}
	core->virq = virq;
	spin_lock(&core->inbox_lock);
	tacet_arch_notify_target(core);
	spin_unlock(&core->inbox_lock);
	return 0;
}

void tacet_arch_notify_close(struct tacet_core *core)
{
	if (!core->virq)
		return;
	free_irq(core->virq, core);
	irq_dispose_mapping(core->virq);
	core->virq = 0;
}

/* Linux may have moved the interrupt: tells the core where it is now. */
void tacet_arch_notify_target(struct tacet_core *core)
{
	struct irq_cfg *config = irqd_cfg(irq_get_irq_data(core->virq));
	u32 command = config->vector | (apic->dest_mode_logical ? APIC_DEST_LOGICAL : 0);

	lockdep_assert_held(&core->inbox_lock);
	WRITE_ONCE(core->shared->notify_destination, config->dest_apicid);
	smp_store_release(&core->shared->notify_command, command);
}
