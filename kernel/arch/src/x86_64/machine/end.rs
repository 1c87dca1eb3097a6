// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The end of the machine: last words on the serial port, then off.
//!
//! Works from any state: it takes nothing that could be held for ever, trusts no stack but the one it came on, and
//! calls nothing that could fail.

use super::super::{Checked, NOWHERE, Trap, registers};
use super::acpi::{Off, Register};
use super::pci::stop_devices;
use super::ports::{out8, out16};
use super::serial::{log, log_at_the_end};
use super::state::STATE;
use super::tables::DEVICE;
use crate::signals::Signals;
use core::fmt::Arguments;
use tacet_logic::text::Text;

/// Status of a machine whose kernel died.
pub const DIED: u8 = 70;
/// QEMU's device isa-debug-exit, where our command puts it.
pub const DEBUG_EXIT: u16 = 0xf4;
const LINE_BYTES: usize = 240;
/// The highest page.
const NEVER_MAPPED: u64 = 0xffff_ffff_ffff_f000;

/// An exception in the kernel.
pub extern "C" fn trapped(trap: &Trap) -> ! {
    let Trap { vector, error, instruction, stack, fault_address, checked } = *trap;
    if let Some(Checked { why, bank, status, address }) = checked {
        die(format_args!("machine check: {why}: bank {bank}, status {status:#x}, address {address:#x}"));
    }
    die(format_args!(
        "exception {vector} in the kernel, error {error:#x}, rip {instruction:#x}, rsp {stack:#x}, address {fault_address:#x}"
    ))
}

/// A machine check called memory bad, and the CPU continues.
pub extern "C" fn survived(_: &'static Signals, status: u64, address: u64) {
    let text = match address {
        NOWHERE => Text::<LINE_BYTES>::format(format_args!("bad memory, status {status:#x}, at an unknown address")),
        _ => Text::<LINE_BYTES>::format(format_args!("bad memory at {address:#x}, status {status:#x}")),
    };
    log_at_the_end(text.as_bytes());
}

/// The kernel's last words: a line on the serial port, then the end of the machine with status 70.
pub fn die(reason: Arguments<'_>) -> ! {
    let text = Text::<LINE_BYTES>::format(format_args!("tacet: the kernel ends: {reason}"));
    log_at_the_end(text.as_bytes());
    power_off(DIED)
}

/// Ends the machine, with `status` where an emulator takes one (QEMU's isa-debug-exit at port 0xf4 ends QEMU with
/// 2 × status + 1); otherwise as ACPI's tables say. Where nothing of that ends it, all that is left is to halt.
pub fn power_off(status: u8) -> ! {
    stop_devices();
    // SAFETY: the port is that device's, or no device's.
    unsafe { out8(DEBUG_EXIT, status) };
    match STATE.try_with(|state| state.off.map(|off| (off, state.window(address(off), 1, DEVICE)))) {
        Some(Some((Off { register: Register::Port(port), value }, _))) => {
            // SAFETY: the firmware names this port for this purpose.
            unsafe { out16(port, value) };
        }
        Some(Some((Off { register: Register::Byte(_), value }, Some(at)))) => {
            // SAFETY: just mapped; the firmware names this register for this purpose.
            unsafe { at.write_volatile(value as u8) };
        }
        _ => log(b"tacet: this machine does not turn itself off"),
    }
    registers::stop()
}

/// Begins the machine anew: as ACPI's tables say, otherwise by the keyboard controller, which did this in the first PCs.
pub fn reset() -> ! {
    const KEYBOARD_CONTROLLER: u16 = 0x64;
    const PULSE_RESET: u8 = 0xfe;
    match STATE.try_with(|state| state.reset.map(|reset| (reset, state.window(address(reset), 1, DEVICE)))) {
        Some(Some((Off { register: Register::Port(port), value }, _))) => {
            // SAFETY: the firmware names this port for this purpose.
            unsafe { out8(port, value as u8) };
        }
        Some(Some((Off { register: Register::Byte(_), value }, Some(at)))) => {
            // SAFETY: just mapped; the firmware names this register for this purpose.
            unsafe { at.write_volatile(value as u8) };
        }
        _ => {}
    }
    // SAFETY: the controller's port, or nobody's.
    unsafe { out8(KEYBOARD_CONTROLLER, PULSE_RESET) };
    log(b"tacet: this machine does not begin anew");
    registers::stop()
}

/// Reads where nothing is ever mapped: a test of what a fault of the kernel leaves.
pub fn fault() {
    // SAFETY: the caller wants the fault, of which the kernel dies. Nothing is read.
    unsafe { core::arch::asm!("mov rax, [{}]", in(reg) NEVER_MAPPED, out("rax") _, options(nostack)) };
}

/// The page to be mapped; a port needs none, and any page does.
fn address(off: Off) -> u64 {
    match off.register {
        Register::Byte(at) => at,
        Register::Port(_) => 0,
    }
}
