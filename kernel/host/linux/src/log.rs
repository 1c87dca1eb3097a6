// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A CPU's log (`log.h`). The other end is `linux/doors/log.c`.

use crate::page::{Page, field};
use core::sync::atomic::{AtomicU64, Ordering};
use tacet_abi::{TACET_LOG_RECORDS, TACET_LOG_TEXT_BYTES, tacet_log_record};
use tacet_arch::native;

impl Page {
    /// Appends a record; it overwrites the oldest one.
    pub fn log(&self, level: u32, text: &[u8]) {
        let written = field!(self, AtomicU64, log.written);
        let sequence = written.load(Ordering::Relaxed) + 1;
        let slot = (sequence % u64::from(TACET_LOG_RECORDS)) as usize;
        let length = text.len().min(TACET_LOG_TEXT_BYTES as usize);
        // SAFETY: (1) the slot is within the array; (2) only this CPU writes
        // records, and readers check `sequence` before and after they copy.
        unsafe {
            let record = (&raw mut (*self.at.as_ptr()).log.records).cast::<tacet_log_record>().add(slot);
            let ordinal = AtomicU64::from_ptr(&raw mut (*record).sequence);
            ordinal.store(0, Ordering::SeqCst);
            (&raw mut (*record).tsc).write_volatile(native::cycles());
            (&raw mut (*record).level).write_volatile(level);
            (&raw mut (*record).length).write_volatile(length as u32);
            core::ptr::copy_nonoverlapping(text.as_ptr(), (&raw mut (*record).text).cast(), length);
            ordinal.store(sequence, Ordering::Release);
        }
        written.store(sequence, Ordering::Release);
    }
}
