// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A machine check: reads the banks, lets `machine_check.rs` judge, and clears what this CPU has dealt with.
//!
//! Called by `entry.S` from any state, on a stack of its own: it takes nothing that could be held, trusts no GS, and
//! sends no interrupt (the code that it came upon may be about to send one).

use super::cpu::CpuLocal;
use super::fatal::{Checked, Trap};
use super::machine_check::{Bank, Found, Model, Severity, Verdict, clears, verdict};
use super::registers::{read_msr, write_msr};
use crate::signals::Signals;
use core::arch::x86_64::__cpuid;
use core::ptr::NonNull;

const CAPABILITIES: u32 = 0x179;
const GLOBAL_STATUS: u32 = 0x17a;
/// The status of the first bank; its address and the rest follow, then those of the next bank.
const STATUS: u32 = 0x401;
const RECOVERS: u64 = 1 << 24;

/// What entry.S does then, and the address that the program's host is told.
#[repr(C)]
struct Answer {
    action: u64,
    address: u64,
}

/// No address: nobody knows.
pub const NOWHERE: u64 = u64::MAX;

/// The interrupted instruction, and what the processor pushed with it.
#[repr(C)]
struct Frame {
    rip: u64,
    cs: u64,
    rflags: u64,
    rsp: u64,
    ss: u64,
}

/// Called with the address of bad memory, or [`NOWHERE`], for each one found, and the status that said so. It must take
/// nothing that could be held.
pub type Survived = extern "C" fn(&'static Signals, status: u64, address: u64);

/// From entry.S; `found`: 0 a program, 1 a routine that can end early, 2 the co-kernel.
#[unsafe(no_mangle)]
extern "C" fn tacet_judge_machine_check(frame: *const Frame, found: u32, local: NonNull<CpuLocal>) -> Answer {
    let found = match found {
        0 => Found::Program,
        1 => Found::Routine,
        _ => Found::Kernel,
    };
    let (model, global) = (model(), read_msr(GLOBAL_STATUS));
    // SAFETY: the CPU's own structure, written before this entry was set.
    let (survived, fatal, signals) = unsafe {
        let local = local.as_ptr();
        ((*local).survived, (*local).fatal, &*((*local).signals as *const Signals))
    };
    let (mut worst, mut worst_bank, mut worst_number) = (Severity::None, Bank::default(), u32::MAX);
    for number in 0..(read_msr(CAPABILITIES) & 0xff) as u32 {
        let bank = read_bank(number);
        let severity = bank.severity(model, global, found);
        if let Severity::Bad(address) | Severity::Used(address) = severity {
            survived(signals, bank.status, address.unwrap_or(NOWHERE));
        }
        if clears(model, global, severity) {
            // SAFETY: the error is dealt with; zero is what a bank without one has.
            unsafe { write_msr(STATUS + 4 * number, 0) };
        }
        if severity > worst || worst_number == u32::MAX {
            (worst, worst_bank, worst_number) = (severity, bank, number);
        }
    }
    let (action, address) = match verdict(global, found, worst) {
        Verdict::Continue => (0, NOWHERE),
        Verdict::EndRoutine => (1, NOWHERE),
        Verdict::EndProgram(address) => (2, address.unwrap_or(NOWHERE)),
        Verdict::Fatal(why) => {
            // SAFETY: entry.S passes the frame that the processor just pushed.
            let Frame { rip, rsp, .. } = unsafe { frame.read() };
            let checked = Some(Checked { why, bank: worst_number, status: worst_bank.status, address: worst_bank.address });
            fatal(&Trap { vector: 18, error: global, instruction: rip, stack: rsp, fault_address: 0, checked });
        }
    };
    // The next machine check may come: until here it would have shut the machine down.
    // SAFETY: this ends a machine check, and has no other effect.
    unsafe { write_msr(GLOBAL_STATUS, 0) };
    Answer { action, address }
}

/// Takes the corrected errors out of the banks that this CPU sees: how many there were. Others stay for a machine check.
pub fn take_corrected() -> u64 {
    const COUNTS: u64 = 1 << 10;
    const MACHINE_CHECKS: u32 = 1 << 7 | 1 << 14;
    if __cpuid(1).edx & MACHINE_CHECKS != MACHINE_CHECKS {
        return 0;
    }
    let (model, capabilities) = (model(), read_msr(CAPABILITIES));
    let mut errors = 0;
    for number in 0..(capabilities & 0xff) as u32 {
        let corrected = read_bank(number).corrected(model, capabilities & COUNTS != 0);
        if corrected != 0 {
            // SAFETY: the errors are counted; zero is what a bank without one has.
            unsafe { write_msr(STATUS + 4 * number, 0) };
        }
        errors += corrected;
    }
    errors
}

fn model() -> Model {
    let name = __cpuid(0);
    let amd = matches!((name.ebx, name.edx), (0x6874_7541, 0x6974_6e65) | (0x6f67_7948, 0x6e65_476e));
    if !amd {
        return Model::Intel { recovers: read_msr(CAPABILITIES) & RECOVERS != 0 };
    }
    let features = if __cpuid(0x8000_0000).eax >= 0x8000_0007 { __cpuid(0x8000_0007).ebx } else { 0 };
    Model::Amd { contains: features & 2 != 0, loses_nothing: features & 1 != 0 }
}

/// The registers of address and rest exist only if the status says so.
fn read_bank(number: u32) -> Bank {
    let first = STATUS + 4 * number;
    let status = read_msr(first);
    let has = |bit: u32, register| if status >> 63 & status >> bit & 1 != 0 { read_msr(register) } else { 0 };
    Bank { status, address: has(58, first + 1), misc: has(59, first + 2) }
}
