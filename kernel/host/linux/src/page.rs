// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page that a CPU shares with Linux (`cpu.h`), apart from the signals that CPUs exchange too
//! (`tacet_arch::signals`).
//!
//! Every access is one atomic or volatile access to one field: Linux writes its half at any time. Nothing here trusts a
//! value that Linux's programs could have written, because they cannot: the page is the kernel's.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tacet_abi::{TACET_BAD_ADDRESSES, tacet_cpu};

/// A CPU's view of its own page.
#[derive(Clone, Copy)]
pub struct Page {
    pub(crate) at: NonNull<tacet_cpu>,
}

macro_rules! field {
    ($page:expr, $atomic:ident, $($path:tt)+) => {{
        // SAFETY: (1) the page is mapped for as long as the CPU runs; (2) the
        // field is aligned; (3) both sides access it atomically.
        unsafe { $atomic::from_ptr(&raw mut (*$page.at.as_ptr()).$($path)+) }
    }};
}
pub(crate) use field;

impl Page {
    /// # Safety
    /// `at` is this CPU's shared page, mapped and writable for ever.
    pub const unsafe fn new(at: NonNull<tacet_cpu>) -> Self {
        Self { at }
    }

    pub fn set_state(&self, state: u32) {
        // Pairs with Linux's acquire: whatever we wrote before is visible.
        field!(self, AtomicU32, state).store(state, Ordering::Release);
    }

    /// The clock that this CPU asks for; before it is online.
    pub fn set_performance(&self, request: u64) {
        field!(self, AtomicU64, performance_now).store(request, Ordering::Relaxed);
    }

    pub fn take_test(&self) -> u32 {
        field!(self, AtomicU32, test).swap(0, Ordering::AcqRel)
    }

    /// One more or one fewer of this CPU's threads waits in a local call.
    pub fn count_waiting(&self, more: bool) {
        let waiting = field!(self, AtomicU32, blocked);
        let now = waiting.load(Ordering::Relaxed);
        waiting.store(if more { now.wrapping_add(1) } else { now.wrapping_sub(1) }, Ordering::Release);
    }

    #[inline]
    pub fn count_entry(&self) {
        bump(field!(self, AtomicU64, kernel_entries));
    }

    #[inline]
    pub fn count_progress(&self) {
        bump(field!(self, AtomicU64, progress));
    }

    /// Only a machine check's handler writes these words, and it does not interrupt itself.
    pub fn note_bad_memory(&self, status: u64, address: Option<u64>) {
        field!(self, AtomicU64, bad_status).store(status, Ordering::Relaxed);
        if let Some(address) = address {
            let count = field!(self, AtomicU64, bad_count);
            let number = count.load(Ordering::Relaxed);
            field!(self, AtomicU64, bad_addresses[number as usize % TACET_BAD_ADDRESSES as usize])
                .store(address, Ordering::Relaxed);
            count.store(number.wrapping_add(1), Ordering::Release);
        }
        bump(field!(self, AtomicU64, machine_checks));
    }

    pub fn count_notification(&self) {
        bump(field!(self, AtomicU64, notifications));
    }

    pub fn switched_to(&self, thread: u32) {
        field!(self, AtomicU32, current_context).store(thread, Ordering::Relaxed);
        bump(field!(self, AtomicU64, switches));
    }

    /// Where frames taken and returned are counted, and progress.
    pub fn frame_counters(&self) -> [&'static AtomicU64; 3] {
        [
            field!(self, AtomicU64, frames_taken),
            field!(self, AtomicU64, frames_returned),
            field!(self, AtomicU64, progress),
        ]
    }
}

/// Only this CPU writes its counters: no read-modify-write is needed.
#[inline]
fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}
