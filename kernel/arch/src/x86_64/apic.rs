// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The local APIC. It sends the interrupts that tell another CPU to look, it accepts none, and it wakes a CPU that
//! idles.
//!
//! It is software-disabled (SDM vol. 3, 11.4.7.2): fixed interrupts are not accepted, non-maskable ones are, and
//! sending works. It is enabled only while a CPU idles until a time, for that CPU's own timer: no program runs there
//! then.

use super::registers::{APIC_COMMAND, read_msr, write_msr};
use core::sync::atomic::{AtomicBool, Ordering, fence};

/// Where the APIC's page is mapped, unless the CPU is in x2APIC mode.
pub const APIC_PAGE: u64 = 0xffff_ffff_c020_0000;
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
/// The device that a CPU listens to, if it does ([`listen`]).
pub const LINK_VECTOR: u32 = 0xe0;
pub const SPURIOUS_VECTOR: u64 = 0xff;
const DELIVER_NMI: u32 = 4 << 8;
const ASSERT: u32 = 1 << 14;

/// Written by each CPU at its start; all write the same value.
static X2APIC: AtomicBool = AtomicBool::new(false);

/// Makes this CPU deaf to everything but doorbells.
pub fn silence(has_x2apic: bool) {
    X2APIC.store(has_x2apic, Ordering::Relaxed);
    set(SPURIOUS, SPURIOUS_DISABLED);
}

/// Lets the timer interrupt this CPU once, after `count` of the timer's ticks. Other interrupts arrive too until
/// [`end_alarm`].
pub fn begin_alarm(count: u32) {
    set(SPURIOUS, SPURIOUS_ENABLED);
    // one-shot, not masked; a software-disabled APIC forgets that
    set(TIMER, TIMER_VECTOR);
    set(DIVIDE, DIVIDE_BY_16);
    set(INITIAL_COUNT, count);
}

/// Stops the timer and returns what it had left to count. The APIC still accepts interrupts.
pub fn stop_alarm() -> u32 {
    let left = get(CURRENT_COUNT);
    set(INITIAL_COUNT, 0);
    left
}

/// Makes the CPU deaf again. No interrupt may be pending.
pub fn end_alarm() {
    set(SPURIOUS, SPURIOUS_DISABLED);
}

/// Masks what a firmware may have left on: its timer, and the line from the old controllers.
#[cfg(feature = "machine")]
pub fn forget_firmware() {
    const MASKED: u32 = 1 << 16;
    const LINE_0: u32 = 0x350;
    set(INITIAL_COUNT, 0);
    set(TIMER, MASKED);
    set(LINE_0, MASKED);
}

/// Accepts interrupts from here on: the CPU listens to a device.
#[cfg(feature = "machine")]
pub fn listen() {
    set(SPURIOUS, SPURIOUS_ENABLED);
}

/// Whether `vector` is that of the timer.
pub fn is_alarm(vector: u64) -> bool {
    vector == u64::from(TIMER_VECTOR)
}

/// Interrupts a CPU as its host asked for. `command` is the low word of the command register.
pub fn send(destination: u32, command: u32) {
    // What the other CPU must see is in memory before the interrupt is on its way;
    // WRMSR to the x2APIC does not order by itself (SDM vol. 3, 11.12.3).
    fence(Ordering::SeqCst);
    if X2APIC.load(Ordering::Relaxed) {
        // SAFETY: (1) the register exists in x2APIC mode; (2) the host named the
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

/// Rings another CPU: a non-maskable interrupt to one APIC (SDM vol. 3, 11.6.1).
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
        // SAFETY: (1) the register exists in x2APIC mode; (2) only the timer's registers are written here, and those
        // that accept and end interrupts: no interrupt is expected that would be lost.
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
    // SAFETY: the host mapped the APIC's page here, uncached, for every CPU that is not in x2APIC mode.
    unsafe { core::ptr::write_volatile((APIC_PAGE + offset) as *mut u32, value) };
}

fn read(offset: u64) -> u32 {
    // SAFETY: as in `write`.
    unsafe { core::ptr::read_volatile((APIC_PAGE + offset) as *const u32) }
}
