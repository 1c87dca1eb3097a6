// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The end of a core: last words, then silence.
//!
//! Works from any state: it trusts neither GS nor the stack it came on, takes
//! nothing that could be held, and calls nothing that could fail.

use crate::core_local::CoreLocal;
use crate::shared::Shared;
use crate::{apic, registers};
use core::fmt;
use core::ptr::NonNull;
use tacet_abi::{TACET_CPU_DEAD, TACET_LOG_FATAL, TACET_TEXT_BYTES, tacet_cpu, tacet_last_words};

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

/// An exception in the co-kernel; from entry.S.
#[unsafe(no_mangle)]
extern "C" fn tacet_fatal_trap(frame: *const Frame) -> ! {
    // SAFETY: entry.S passes the frame that the processor just pushed.
    let Frame { vector, error, rip, rsp, .. } = unsafe { frame.read() };
    let words = tacet_last_words {
        vector,
        error,
        rip,
        rsp,
        fault_address: registers::fault_address(),
        text: [0; TACET_TEXT_BYTES as usize],
    };
    end(words, format_args!("exception {vector} in the co-kernel, error {error:#x}, rip {rip:#x}, rsp {rsp:#x}"))
}

/// A check in the co-kernel failed.
pub fn die(reason: fmt::Arguments<'_>) -> ! {
    let words = tacet_last_words {
        vector: u64::MAX,
        error: 0,
        rip: 0,
        rsp: 0,
        fault_address: 0,
        text: [0; TACET_TEXT_BYTES as usize],
    };
    end(words, reason)
}

fn end(mut words: tacet_last_words, reason: fmt::Arguments<'_>) -> ! {
    let text = tacet_logic::text::Text::<{ TACET_TEXT_BYTES as usize }>::format(reason);
    for (to, from) in words.text.iter_mut().zip(text.as_bytes()) {
        *to = *from;
    }
    let region = registers::gdt_base() & !u64::from(tacet_abi::TACET_PRIVATE_BYTES - 1);
    // SAFETY: the GDT lies in the core's private region, which starts with
    // CoreLocal; the shared page's address in it never changes.
    let shared = unsafe { NonNull::new((*(region as *const CoreLocal)).shared as *mut tacet_cpu) };
    if let Some(shared) = shared {
        // SAFETY: it is this core's page.
        let shared = unsafe { Shared::new(shared) };
        shared.log(TACET_LOG_FATAL, text.as_bytes());
        shared.last_words(&words);
        shared.set_state(TACET_CPU_DEAD);
        let (destination, command) = shared.notify_target();
        apic::send(destination, command);
    }
    registers::stop()
}
