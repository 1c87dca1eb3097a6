// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which memory devices have: a word for each thread (`memory/lend.rs` says why that is enough).
//!
//! A CPU lends under the locks of the pieces, and whoever takes frames away looks under the same locks.

use super::sizes::THREADS;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tacet_logic::paging::Span;

/// The loans of all threads.
pub struct Loans {
    /// How many loans there are.
    count: AtomicU32,
    /// Threads from this number on never had one.
    end: AtomicU32,
    /// By thread: its loan, or 0.
    loans: [AtomicU64; THREADS],
}

impl Loans {
    pub const fn new() -> Self {
        let (count, end) = (AtomicU32::new(0), AtomicU32::new(0));
        Self { count, end, loans: [const { AtomicU64::new(0) }; THREADS] }
    }

    /// With the locks of the pieces of `span`, which orders this before all later looks at them.
    pub fn begin(&self, thread: u32, range: u32, span: Span) -> bool {
        let Some(loan) = self.loans.get(thread as usize) else { return false };
        if thread >= self.end.load(Ordering::Relaxed) {
            self.end.fetch_max(thread + 1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        loan.store(pack(range, span), Ordering::Relaxed);
        true
    }

    /// The device is done with what the thread has lent. What it wrote comes before whatever follows a look that finds
    /// nothing.
    pub fn end(&self, thread: u32) {
        if let Some(loan) = self.loans.get(thread as usize)
            && loan.swap(0, Ordering::Release) != 0
        {
            self.count.fetch_sub(1, Ordering::Release);
        }
    }

    /// Whether a device has any of these pages. With the locks of their pieces; so it does not become true meanwhile.
    #[inline]
    pub fn any_of(&self, range: u32, span: Span) -> bool {
        self.count.load(Ordering::Acquire) != 0 && self.overlaps(range, span)
    }

    #[cold]
    fn overlaps(&self, range: u32, span: Span) -> bool {
        let end = self.end.load(Ordering::Relaxed) as usize;
        self.loans.iter().take(end).any(|loan| {
            let (of, lent) = unpack(loan.load(Ordering::Acquire));
            of == range && lent.is_some_and(|lent| lent.overlaps(span))
        })
    }
}

/// 16 bits for the range, 28 for the first page, 20 for how many: a call transfers less than 4 GiB.
fn pack(range: u32, span: Span) -> u64 {
    u64::from(range) << 48 | u64::from(span.first()) << 20 | u64::from(span.pages() & 0xf_ffff)
}

fn unpack(loan: u64) -> (u32, Option<Span>) {
    ((loan >> 48) as u32, Span::new((loan >> 20 & 0xfff_ffff) as u32, (loan & 0xf_ffff) as u32))
}
