// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU of Linux that halts in the context of a proxy, and the interrupt by which a core ends that.
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
#include <asm/apic.h>
#include <asm/irq_vectors.h>
#include <asm/smp.h>

#include "arch/arch.h"
#include "tacet.h"

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
