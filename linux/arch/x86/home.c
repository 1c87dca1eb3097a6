// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU of Linux that halts in the context of a proxy, and how a core ends that: by a store that the CPU watches
 * (MONITOR and MWAIT, SDM 10.10.4), or by an interrupt.
 *
 * The interrupt is the one by which Linux's CPUs tell each other to schedule: whoever gets it looks at its task's flags,
 * and finds nothing. So no vector is taken, a CPU may go offline at any time, and one interrupt too many does nothing.
 * They count as rescheduling interrupts in /proc/interrupts.
 *
 * Called by delegate/halt.c. Calls nobody.
 *
 * TRICK the rescheduling interrupt as a bell: a core sends it to the CPU of Linux that halts for it.
 * BREAKS a kernel that gives this interrupt another meaning.
 * NOTICED scenario `halts.sh told`: no interrupt of this kind ends a halt any more, proxies halt until the next tick.
 */
#include <linux/irqflags.h>
#include <linux/moduleparam.h>
#include <asm/apic.h>
#include <asm/cpufeature.h>
#include <asm/irq_vectors.h>
#include <asm/mwait.h>
#include <asm/smp.h>

#include "arch/arch.h"
#include "tacet.h"

static int mwait = -1;
module_param(mwait, int, 0644);
MODULE_PARM_DESC(mwait, "With halt: a CPU watches for the answer instead of being interrupted (0: no, 1: yes, -1: where MWAIT is the processor's own)");

/* A CPU may watch memory while it halts. An emulator or hypervisor that has the instructions may spin instead: there
 * only if that was asked for. Never where a store may not end the halt, as Linux knows of some processors. Any context. */
bool tacet_arch_watches(void)
{
	int wanted = READ_ONCE(mwait);

	return wanted && boot_cpu_has(X86_FEATURE_MWAIT) && (wanted > 0 || !boot_cpu_has(X86_FEATURE_HYPERVISOR)) &&
	       !boot_cpu_has_bug(X86_BUG_MONITOR) && !boot_cpu_has_bug(X86_BUG_CLFLUSH_MONITOR);
}

/* From here on a store to @place's cache line ends tacet_arch_halt_watching(), also if it comes before that. */
void tacet_arch_watch(const void *place)
{
	__monitor(place, 0, 0);
}

/* As tacet_arch_halt(), in the least deep state. */
void tacet_arch_halt_watching(void)
{
	trace_hardirqs_on();
	__sti_mwait(0, 0);
}

/* Where this CPU is, as a context's `home`. With preemption off. */
u64 tacet_arch_home(void)
{
	u64 destination = per_cpu(x86_cpu_to_apicid, smp_processor_id());

	return destination << 32 | APIC_DM_FIXED | APIC_DEST_PHYSICAL | RESCHEDULE_VECTOR;
}

/* Halts until an interrupt, also one that waits already. Called with interrupts off, returns with them on. */
void tacet_arch_halt(void)
{
	trace_hardirqs_on();
	native_safe_halt();
}
