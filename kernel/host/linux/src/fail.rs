// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The end of a CPU: last words, then silence. The other end is `linux/border/fail.c`.
//!
//! Works from any state: it trusts neither GS nor the stack it came on, takes nothing that could be held, and calls
//! nothing that could fail.

use crate::page::Page;
use core::fmt;
use core::ptr::NonNull;
use tacet_abi::{TACET_CPU_DEAD, TACET_LOG_FATAL, TACET_TEXT_BYTES, tacet_cpu, tacet_last_words};
use tacet_arch::native::{self, Checked, NOWHERE, Trap, own_signals};
use tacet_arch::signals::Signals;
use tacet_logic::text::Text;

const NO_TEXT: [u8; TACET_TEXT_BYTES as usize] = [0; TACET_TEXT_BYTES as usize];

/// An exception in the co-kernel.
pub extern "C" fn trapped(trap: &Trap) -> ! {
    let Trap { vector, error, instruction: rip, stack: rsp, fault_address, checked } = *trap;
    let words = tacet_last_words { vector, error, rip, rsp, fault_address, text: NO_TEXT };
    if let Some(Checked { why, bank, status, address }) = checked {
        end(words, format_args!("machine check: {why}: bank {bank}, status {status:#x}, address {address:#x}"));
    }
    end(words, format_args!("exception {vector} in the co-kernel, error {error:#x}, rip {rip:#x}, rsp {rsp:#x}"))
}

/// A machine check called memory bad, and the CPU continues. Linux looks at the page itself: an interrupt could come
/// between the two words of another one.
pub extern "C" fn survived(signals: &'static Signals, status: u64, address: u64) {
    // SAFETY: as in `end`.
    let page = unsafe { Page::new(NonNull::from(signals).cast::<tacet_cpu>()) };
    page.note_bad_memory(status, (address != NOWHERE).then_some(address));
}

/// A check in the co-kernel failed.
pub fn die(reason: fmt::Arguments<'_>) -> ! {
    end(tacet_last_words { vector: u64::MAX, error: 0, rip: 0, rsp: 0, fault_address: 0, text: NO_TEXT }, reason)
}

fn end(mut words: tacet_last_words, reason: fmt::Arguments<'_>) -> ! {
    let text = Text::<{ TACET_TEXT_BYTES as usize }>::format(reason);
    for (to, from) in words.text.iter_mut().zip(text.as_bytes()) {
        *to = *from;
    }
    if let Some(signals) = own_signals() {
        // SAFETY: it is this CPU's page, mapped for ever, which begins with nothing else.
        let page = unsafe { Page::new(NonNull::from(signals).cast::<tacet_cpu>()) };
        page.log(TACET_LOG_FATAL, text.as_bytes());
        page.last_words(&words);
        page.set_state(TACET_CPU_DEAD);
        page.interrupt_linux();
    }
    native::stop()
}

impl Page {
    /// Writes the last words. The caller then sets the state to dead.
    fn last_words(&self, words: &tacet_last_words) {
        // SAFETY: mapped; Linux reads it only after the state says dead.
        unsafe { (&raw mut (*self.at.as_ptr()).last_words).write_volatile(*words) };
    }
}
