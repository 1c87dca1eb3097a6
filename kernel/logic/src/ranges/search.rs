// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Looking for a run of free pages in the page table, from the top down.

use crate::paging::{AddressSpace, Entry, Memory, Span};

/// Where a search found a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    At(Span),
    /// There is no such run.
    Nowhere,
    /// There may be one, but looking further would take too long.
    GaveUp,
}

/// One search. Afterwards `skipped` says what it has passed over and, if it gave up, `top` where another may go on: at the
/// end of the free run in which it stopped, which may not be free any more by then.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// The lowest page that may be used.
    pub bottom: u32,
    /// The page above the highest.
    pub top: u32,
    pub pages: u32,
    /// Of the first page; a power of two.
    pub alignment: u32,
    /// How many entries to look at before giving up.
    pub entries: u32,
    /// The largest free run that was too small or not aligned, so far.
    pub skipped: u32,
}

impl Search {
    /// The highest run that is free, aligned and long enough. O(`entries`).
    pub fn run<M: Memory>(&mut self, space: &AddressSpace<M>) -> Found {
        // Pages from `at` to `end` are known to be free.
        let (mut at, mut end) = (self.top, self.top);
        while at > self.bottom {
            let Some(entries) = self.entries.checked_sub(1) else {
                self.top = end;
                return Found::GaveUp;
            };
            self.entries = entries;
            let Some(view) = space.view(at - 1) else { return Found::Nowhere };
            let low = view.first.max(self.bottom);
            if view.entry == Entry::Absent {
                if let Some(span) = self.fit(low, end) {
                    self.skip(end - span.end());
                    return Found::At(span);
                }
            } else {
                self.skip(end - at);
                end = low;
            }
            at = low;
        }
        self.skip(end - at);
        Found::Nowhere
    }

    /// The highest aligned run between two pages.
    fn fit(&self, low: u32, end: u32) -> Option<Span> {
        let first = end.checked_sub(self.pages)? & !(self.alignment - 1);
        Span::new(first, self.pages).filter(|span| span.first() >= low)
    }

    fn skip(&mut self, pages: u32) {
        self.skipped = self.skipped.max(pages);
    }
}
