// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The local APIC, used for two things: to send the interrupts that tell
//! Linux or another core to look, and to receive none.
//!
//! It is software-disabled (SDM vol. 3, 11.4.7.2): fixed interrupts are not
//! accepted, non-maskable ones are, and sending works.

use crate::registers::{APIC_BASE_EOI, APIC_COMMAND, APIC_SPURIOUS, write_msr};
use core::sync::atomic::{AtomicBool, Ordering, fence};

const PAGE: u64 = tacet_abi::TACET_LAPIC_BASE as u64;
const SPURIOUS_DISABLED: u32 = 0xff;
const DELIVER_NMI: u32 = 4 << 8;
const ASSERT: u32 = 1 << 14;

/// Written once by the first core at start, the same value by all.
static X2APIC: AtomicBool = AtomicBool::new(false);

/// Makes this core deaf to everything but doorbells.
pub fn silence(has_x2apic: bool) {
    X2APIC.store(has_x2apic, Ordering::Relaxed);
    if has_x2apic {
        // SAFETY: the register exists in x2APIC mode; the value is not ours to
        // lose: no interrupt is expected.
        unsafe { write_msr(APIC_SPURIOUS, u64::from(SPURIOUS_DISABLED)) };
    } else {
        write(0xf0, SPURIOUS_DISABLED);
    }
}

/// Interrupts a Linux CPU. `command` is the low word of the command register.
pub fn send(destination: u32, command: u32) {
    // What Linux is to see is in memory before the interrupt is on its way;
    // WRMSR to the x2APIC does not order by itself (SDM vol. 3, 11.12.3).
    fence(Ordering::SeqCst);
    if X2APIC.load(Ordering::Relaxed) {
        // SAFETY: (1) the register exists in x2APIC mode; (2) Linux named the
        // vector as its own.
        unsafe {
            core::arch::asm!("mfence", "lfence", options(nostack));
            write_msr(APIC_COMMAND, u64::from(destination) << 32 | u64::from(command));
        }
        return;
    }
    while read(0x300) & 1 << 12 != 0 {
        core::hint::spin_loop();
    }
    write(0x310, destination << 24);
    write(0x300, command);
}

/// Rings another core: a non-maskable interrupt to one APIC (SDM vol. 3, 11.6.1).
pub fn ring(apic_id: u32) {
    send(apic_id, DELIVER_NMI | ASSERT);
}

/// Ends an interrupt that should not have come.
pub fn end_of_interrupt() {
    if X2APIC.load(Ordering::Relaxed) {
        // SAFETY: the register exists in x2APIC mode and takes 0.
        unsafe { write_msr(APIC_BASE_EOI, 0) };
    } else {
        write(0xb0, 0);
    }
}

fn write(offset: u64, value: u32) {
    // SAFETY: Linux mapped the APIC page here, uncached, for every core that is
    // not in x2APIC mode.
    unsafe { core::ptr::write_volatile((PAGE + offset) as *mut u32, value) };
}

fn read(offset: u64) -> u32 {
    // SAFETY: as in `write`.
    unsafe { core::ptr::read_volatile((PAGE + offset) as *const u32) }
}
