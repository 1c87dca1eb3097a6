// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An exception inside the co-kernel: the end of this CPU.
//!
//! Works from any state: it trusts neither GS nor the stack it came on.

use super::boot::PRIVATE_BYTES;
use super::cpu::CpuLocal;
use super::registers;
use crate::signals::Signals;

/// What an exception inside the co-kernel leaves on the stack.
#[repr(C)]
struct Frame {
    vector: u64,
    error: u64,
    rip: u64,
    cs: u64,
    rflags: u64,
    rsp: u64,
    ss: u64,
}

/// The same, for the host's report.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Trap {
    pub vector: u64,
    pub error: u64,
    pub instruction: u64,
    pub stack: u64,
    pub fault_address: u64,
    /// It was a machine check.
    pub checked: Option<Checked>,
}

/// A machine check that cannot be survived, and the bank that says so.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Checked {
    pub why: &'static str,
    pub bank: u32,
    pub status: u64,
    pub address: u64,
}

/// What a host does about it. It must take nothing that could be held, and call nothing that could fail.
pub type Fatal = extern "C" fn(&Trap) -> !;

/// An exception in the co-kernel; from entry.S.
#[unsafe(no_mangle)]
extern "C" fn tacet_fatal_trap(frame: *const Frame) -> ! {
    // SAFETY: entry.S passes the frame that the processor just pushed.
    let Frame { vector, error, rip, rsp, .. } = unsafe { frame.read() };
    // SAFETY: as in `own_signals`; set before the exceptions' entries were.
    let fatal = unsafe { (*local()).fatal };
    let fault_address = registers::fault_address();
    fatal(&Trap { vector, error, instruction: rip, stack: rsp, fault_address, checked: None })
}

/// This CPU's words, found from any state once the CPU has loaded its own GDT ([`Cpu::start`](super::Cpu::start)).
pub fn own_signals() -> Option<&'static Signals> {
    // SAFETY: the GDT lies in the CPU's private region, which starts with
    // CpuLocal; the address in it never changes and is mapped for ever.
    unsafe { ((*local()).signals as *const Signals).as_ref() }
}

fn local() -> *const CpuLocal {
    (registers::gdt_base() & !(PRIVATE_BYTES - 1)) as *const CpuLocal
}
