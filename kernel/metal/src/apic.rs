// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The local APIC, used for three things: to send the interrupts that tell
//! Linux or another core to look, to receive none, and to wake a core that idles.
//!
//! It is software-disabled (SDM vol. 3, 11.4.7.2): fixed interrupts are not
//! accepted, non-maskable ones are, and sending works. Only while a core idles until
//! a time it is enabled, for its own timer: no program runs there then.

use crate::registers::{APIC_COMMAND, read_msr, write_msr};
use core::sync::atomic::{AtomicBool, Ordering, fence};

const PAGE: u64 = tacet_abi::TACET_LAPIC_BASE as u64;
/// Offsets of registers in the page; the model-specific ones are numbered alike (SDM vol. 3, 11.12.1.2).
const EOI: u32 = 0xb0;
const SPURIOUS: u32 = 0xf0;
const TIMER: u32 = 0x320;
const INITIAL_COUNT: u32 = 0x380;
const CURRENT_COUNT: u32 = 0x390;
const DIVIDE: u32 = 0x3e0;

const SPURIOUS_DISABLED: u32 = 0xff;
const SPURIOUS_ENABLED: u32 = 0x1ff;
const DIVIDE_BY_16: u32 = 0b0011;
/// Far above what Linux gives to devices, and not the spurious one, which no handler ends.
const TIMER_VECTOR: u32 = 0xf0;
pub const SPURIOUS_VECTOR: u64 = 0xff;
const DELIVER_NMI: u32 = 4 << 8;
const ASSERT: u32 = 1 << 14;

/// Written once by the first core at start, the same value by all.
static X2APIC: AtomicBool = AtomicBool::new(false);

/// Makes this core deaf to everything but doorbells.
pub fn silence(has_x2apic: bool) {
    X2APIC.store(has_x2apic, Ordering::Relaxed);
    set(SPURIOUS, SPURIOUS_DISABLED);
}

/// Lets the timer interrupt this core after `count` of its own ticks, once. Whoever sends anything else
/// meanwhile is heard too.
pub fn begin_alarm(count: u32) {
    set(SPURIOUS, SPURIOUS_ENABLED);
    // one-shot, not masked; a software-disabled APIC forgets that
    set(TIMER, TIMER_VECTOR);
    set(DIVIDE, DIVIDE_BY_16);
    set(INITIAL_COUNT, count);
}

/// Stops the timer; what it was about to count. The APIC still accepts.
pub fn stop_alarm() -> u32 {
    let left = get(CURRENT_COUNT);
    set(INITIAL_COUNT, 0);
    left
}

/// Deaf again; nothing is pending any more.
pub fn end_alarm() {
    set(SPURIOUS, SPURIOUS_DISABLED);
}

/// Whether it is the timer's.
pub fn is_alarm(vector: u64) -> bool {
    vector == u64::from(TIMER_VECTOR)
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

/// Ends an interrupt.
pub fn end_of_interrupt() {
    set(EOI, 0);
}

/// Writes a register that both modes have, at `offset` of the page.
fn set(offset: u32, value: u32) {
    if X2APIC.load(Ordering::Relaxed) {
        // SAFETY: (1) the register exists in x2APIC mode; (2) only the timer's are written here, and those that
        // accept and end interrupts: none is expected that would be lost.
        unsafe { write_msr(X2APIC_BASE + (offset >> 4), u64::from(value)) };
    } else {
        write(u64::from(offset), value);
    }
}

fn get(offset: u32) -> u32 {
    if X2APIC.load(Ordering::Relaxed) { read_msr(X2APIC_BASE + (offset >> 4)) as u32 } else { read(u64::from(offset)) }
}

const X2APIC_BASE: u32 = 0x800;

fn write(offset: u64, value: u32) {
    // SAFETY: Linux mapped the APIC page here, uncached, for every core that is
    // not in x2APIC mode.
    unsafe { core::ptr::write_volatile((PAGE + offset) as *mut u32, value) };
}

fn read(offset: u64) -> u32 {
    // SAFETY: as in `write`.
    unsafe { core::ptr::read_volatile((PAGE + offset) as *const u32) }
}
