// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that devices have: the buffers of calls in flight.
//!
//! A page that is lent to a device keeps its frame, or the device would write into memory of somebody else. A CPU lends
//! under the locks of the pieces, and whoever takes frames away looks under the same locks whether they are lent
//! (`Work::unmirrored_of`); then the call waits, holding nothing. On Linux it would not wait, because there each page
//! counts its users; here a program that unmaps a buffer in use pays, and nobody else: each thread has one call in flight,
//! so all loans are one word for each thread.
//!
//! Threads in flight are never given back, so a host that waits for all threads of a process waits for its loans too
//! (fork, exec, exit, and before a range's number is another's: the number is enough here). A host that takes a range from running threads waits until no call uses a grant
//! (`tacet_pico::FastPath::end`), after it closed the range.

use super::{Extent, Range};
use crate::common::THREADS;
use crate::host::Host;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tacet_logic::paging::{Entry, Protection, Span};
use tacet_pico::Forward;

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
    fn begin(&self, thread: u32, range: u32, span: Span) -> bool {
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

impl<H: Host> Range<'_, H> {
    /// Lends all pages that some bytes lie in to a device, for a thread, if `begin` succeeds in giving it memory of them. It is told the
    /// physical address of each page that it asks for; `None`: the page is not among them, or does not allow `access`.
    /// Until [`Loans::end`] they stay where they are.
    pub fn lend<T>(
        &mut self,
        thread: u32,
        (first, end): (u64, u64),
        access: Protection,
        begin: impl FnOnce(&mut dyn FnMut(u64) -> Option<u64>) -> Result<T, Forward>,
    ) -> Result<T, Forward> {
        let first = first & !4095;
        let Extent::Inside(span) = self.extent(first, end.saturating_sub(first)) else {
            return Err(Forward::Buffer);
        };
        if span.pages() > 0xf_ffff || self.name.number > 0xffff {
            return Err(Forward::Room);
        }
        let (cpu, number) = (self.cpu, self.name.number);
        let lent = self.change(span.pieces(), |work| {
            let mut frame = |address: u64| {
                let page = u32::try_from(address.checked_sub(first)? >> 12).ok()?;
                let at = span.first().checked_add(page).filter(|&at| at < span.end())?;
                let view = work.space.view(at)?;
                match view.entry {
                    Entry::Leaf(leaf) if !leaf.pending && leaf.attributes.protection.allows(access) => {
                        Some((leaf.frame + u64::from(at - view.first)) << 12)
                    }
                    _ => None,
                }
            };
            // Lent before the device can have begun.
            if !cpu.common().loans.begin(thread, number, span) {
                return Ok(Err(Forward::State));
            }
            let begun = begin(&mut frame);
            if begun.is_err() {
                cpu.common().loans.end(thread);
            }
            Ok(begun)
        });
        lent.unwrap_or(Err(Forward::Buffer))
    }
}
