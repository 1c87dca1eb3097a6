// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Clears what the last user's threads left in the CPU, before another user's thread runs and at the end of service.
//!
//! The host says what its own kernel would clear on this processor; without any bit nothing is done. The memory that
//! CPUs share is the host's to clear.

use super::boot::{MACHINE_CHECK_STACK, NMI_STACK, PAGE_BYTES};
use super::cpu::CpuLocal;
use super::registers::{FLUSH_COMMAND, PREDICTOR_COMMAND, write_msr};
use super::stack;
use crate::signals::Signals;
use core::arch::asm;
use core::ptr::NonNull;

/// The branch predictors.
pub const PREDICTORS: u32 = 1 << 1;
/// The stack of predicted returns.
pub const RETURNS: u32 = 1 << 2;
/// The buffers of loads, stores and fills.
pub const BUFFERS: u32 = 1 << 3;
/// The first-level data cache.
pub const L1D: u32 = 1 << 4;

/// A selector that may be written, for VERW.
static DATA: u16 = 0x18;

/// An XSAVE area in which all is as after a reset.
#[repr(C, align(64))]
struct Initial {
    x87: [u32; 6],
    mxcsr: u32,
    rest: [u32; 137],
}

static INITIAL: Initial = Initial { x87: [0; 6], mxcsr: 0x1f80, rest: [0; 137] };

/// PKRU's bit among those of XSAVE's features.
const PKRU: u32 = 1 << 9;

/// Registers first: what they held stays in the register file, which VERW clears. Memory next, since clearing it fills
/// the cache; the cache before the buffers, since its lines go through them.
pub fn between_users(local: NonNull<CpuLocal>, own: &Signals, measures: u32) {
    if measures == 0 {
        return;
    }
    let has = |measure| measures & measure != 0;
    clear_vectors();
    clear_stacks(local, own);
    // SAFETY: (1) the host sets a bit only if the processor has the command (`Boot::measures`); (2) VERW changes a flag
    // and, with today's microcode, the buffers; the selector is that of our data segment.
    unsafe {
        if has(L1D) {
            write_msr(FLUSH_COMMAND, 1);
        }
        if has(BUFFERS) {
            asm!("verw word ptr [{}]", in(reg) &raw const DATA, options(nostack, readonly));
        }
        if has(PREDICTORS) {
            write_msr(PREDICTOR_COMMAND, 1);
        }
    }
    if has(RETURNS) {
        fill_returns();
    }
}

/// The last thread's state is saved, and the next one's replaces this one's.
fn clear_vectors() {
    // SAFETY: the area is aligned, says that no feature has a value, and is in the standard format, which every
    // processor with XSAVE takes; code here uses no vector register.
    unsafe {
        asm!("xrstor64 [{}]", in(reg) &raw const INITIAL, in("eax") !PKRU, in("edx") u32::MAX,
            options(nostack, readonly));
    }
}

/// The doorbell's handler saves registers of user mode on its stack, machine checks on theirs; on the main stack lies
/// what calls of the program were about. Stacks are cleared below what is in use.
fn clear_stacks(local: NonNull<CpuLocal>, own: &Signals) {
    let base = local.as_ptr() as u64;
    let page = |number: u64| base + number * PAGE_BYTES;
    // SAFETY: (1) these pages are this CPU's own stacks (`Cpu::start`), and the top words, which tell their handlers
    // whose they are, stay; (2) a doorbell may come at any time: its handler has left its stack before this continues.
    unsafe {
        for stack in [NMI_STACK, MACHINE_CHECK_STACK] {
            asm!("rep stosq", inout("rdi") page(stack) => _, inout("rcx") PAGE_BYTES / 8 - 2 => _, in("rax") 0,
                options(nostack));
        }
        stack::clear(base, own);
    }
}

/// As Linux fills it on a switch: calls that never return, so that no return of the next program is predicted by the
/// last one's calls.
fn fill_returns() {
    // SAFETY: the calls push 32 words onto our stack, which the last instructions take off; no push is returned to.
    unsafe {
        asm!(
            "2: call 4f",
            "3: pause", "lfence", "jmp 3b",
            "4: call 6f",
            "5: pause", "lfence", "jmp 5b",
            "6: dec {count:e}", "jnz 2b",
            "add rsp, 256", "lfence",
            count = inout(reg) 16 => _,
        );
    }
}
