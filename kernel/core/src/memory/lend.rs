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

use super::range::{Extent, Range};
use crate::host::Host;
use tacet_logic::paging::{Entry, Protection};
use tacet_pico::Forward;

impl<H: Host> Range<'_, H> {
    /// Lends all pages that some bytes lie in to a device, for a thread, if `begin` succeeds in giving it memory of them. It is told the
    /// physical address of each page that it asks for; `None`: the page is not among them, or does not allow `access`.
    /// Until [`Loans::end`](crate::base::loans::Loans::end) they stay where they are.
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
