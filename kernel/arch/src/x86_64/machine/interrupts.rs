// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one interrupt of devices that there is: the link's, to the boot CPU, while that CPU wants it.
//!
//! A device on the PCI bus writes a message (MSI-X); the others have a line to an I/O APIC, which ACPI's tables name. Its
//! pins are programmed for edges: a device's line falls when the driver acknowledges, and rises again later.

use super::super::apic::LINK_VECTOR;
use super::state::{STATE, State};
use super::tables::DEVICE;
use core::ptr::NonNull;

/// I/O APICs that are remembered.
pub const IO_APICS: usize = 8;
const INDEX: usize = 0;
const DATA: usize = 0x10;
const VERSION: u32 = 1;
const FIRST_PIN: u32 = 0x10;
const MESSAGES: u64 = 0xfee0_0000;

/// An I/O APIC: where its registers are, and the number of its first line.
#[derive(Clone, Copy)]
pub struct IoApic {
    pub registers: u64,
    pub first_line: u32,
}

/// The message by which a device interrupts the boot CPU: address and data. `None`: the CPU's number is too large.
pub fn message() -> Option<(u64, u32)> {
    Some((MESSAGES | u64::from(boot_cpu()?) << 12, LINK_VECTOR))
}

/// Masks every pin that a firmware has left open: its devices are nobody's.
pub fn mask_all() {
    const MASKED: u32 = 1 << 16;
    let apics = STATE.with(|state| state.io_apics);
    for apic in apics.iter().flatten() {
        let Some(registers) = STATE.with(|state| registers(state, apic)) else { continue };
        for pin in 0..=(read(registers, VERSION) >> 16 & 0xff) {
            if read(registers, FIRST_PIN + 2 * pin) & MASKED == 0 {
                write(registers, FIRST_PIN + 2 * pin, MASKED);
            }
        }
    }
}

fn registers(state: &mut State, apic: &IoApic) -> Option<NonNull<u8>> {
    let page = state.device_page(apic.registers & !0xfff)?;
    // SAFETY: within the page, whose registers are aligned to 1 KiB.
    Some(unsafe { page.add((apic.registers & 0xfff) as usize) })
}

/// The line of the first device of QEMU's microvm, whose tables say it in ACPI's language: the second I/O APIC's first,
/// if there are two.
pub fn first_line_of_microvm() -> u32 {
    const WITH_ONE: u32 = 16;
    STATE.with(|state| state.io_apics.iter().flatten().map(|apic| apic.first_line).max()).unwrap_or(0).max(WITH_ONE)
}

/// Makes an interrupt of a line go to the boot CPU. False: no I/O APIC has the line.
pub fn route(line: u32) -> bool {
    let Some(cpu) = boot_cpu() else { return false };
    STATE.with(|state| route_with(state, line, cpu)).is_some()
}

fn route_with(state: &mut State, line: u32, cpu: u8) -> Option<()> {
    let below = state.io_apics.iter().flatten().filter(|apic| apic.first_line <= line);
    let apic = *below.max_by_key(|apic| apic.first_line)?;
    let registers = registers(state, &apic)?;
    let pin = line - apic.first_line;
    if pin > read(registers, VERSION) >> 16 & 0xff {
        return None;
    }
    write(registers, FIRST_PIN + 2 * pin + 1, u32::from(cpu) << 24);
    write(registers, FIRST_PIN + 2 * pin, LINK_VECTOR);
    Some(())
}

/// The boot CPU's number, as far as interrupts without remapping can name it.
fn boot_cpu() -> Option<u8> {
    let identity = STATE.with(|state| state.identities.first().copied())?;
    u8::try_from(identity).ok().filter(|&identity| identity != u8::MAX)
}

fn read(registers: NonNull<u8>, register: u32) -> u32 {
    // SAFETY: an I/O APIC's registers (ACPI's tables), which the boot CPU alone uses, before others run.
    unsafe {
        registers.add(INDEX).cast::<u32>().write_volatile(register);
        registers.add(DATA).cast::<u32>().read_volatile()
    }
}

fn write(registers: NonNull<u8>, register: u32, value: u32) {
    // SAFETY: as in `read`; the pin is the link's, and the vector is the link's.
    unsafe {
        registers.add(INDEX).cast::<u32>().write_volatile(register);
        registers.add(DATA).cast::<u32>().write_volatile(value);
    }
}

/// A table of messages: its first entry becomes the boot CPU's.
pub fn write_first_message(table: u64) -> bool {
    let Some((address, data)) = message() else { return false };
    let Some(entry) = STATE.with(|state| state.window(table, 16, DEVICE)) else { return false };
    for (index, value) in [address as u32, (address >> 32) as u32, data, 0].into_iter().enumerate() {
        // SAFETY: the table of the link's device (its capability), just mapped.
        unsafe { entry.cast::<u32>().add(index).write_volatile(value) };
    }
    true
}
