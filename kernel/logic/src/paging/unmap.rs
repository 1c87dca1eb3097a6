// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Giving memory back: with its address space, or without.

use super::entry::{Attributes, Entry, Leaf};
use super::error::Error;
use super::memory::Memory;
use super::space::AddressSpace;
use super::span::{PAGES, PageSize, Span};

/// A frame that no entry names any more. It is not free: a TLB may still have it, and Linux if it was mirrored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    pub frame: u64,
    /// The order in which it comes back.
    pub order: u8,
    /// Linux may map it.
    pub mirrored: bool,
}

/// What an operation took away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Pages with a frame, in units of 4 KiB: if there are none, no TLB has any of them. Tables that were freed are
    /// another matter: [`Tables::free_table`](super::memory::Tables::free_table) sees to these.
    pub pages: u32,
    /// Pages that Linux may map, in units of 4 KiB: if there are none, Linux need not be asked.
    pub mirrored: u32,
}

impl Removed {
    pub(super) fn count(&mut self, size: PageSize, leaf: &Leaf) {
        self.pages += size.pages();
        self.mirrored += if leaf.mirrored { size.pages() } else { 0 };
    }
}

impl<M: Memory> AddressSpace<'_, M> {
    /// Unmaps whatever is in `span`, and calls `retire` with each frame.
    ///
    /// Large pages are divided at the edges only, tables that become empty are
    /// freed, those of pieces only if all of the piece is in `span`. Fails only for want of a table, and then before
    /// anything is changed. O(entries): one step for each page of the size in which it was mapped; no content is
    /// touched.
    pub fn unmap(&mut self, span: Span, retire: impl FnMut(Retired)) -> Result<Removed, Error> {
        let spares = self.spares(span, false)?;
        self.cut(span, false, spares);
        Ok(self.remove(span, |_| Entry::Absent, Self::prune, retire))
    }

    /// Takes the frames in `span` away but keeps the address space: the next touch finds zeros (`MADV_DONTNEED`).
    ///
    /// What is not mapped is left out; [`Self::hole`] finds it. Otherwise as [`Self::unmap`].
    pub fn discard(&mut self, span: Span, retire: impl FnMut(Retired)) -> Result<Removed, Error> {
        let spares = self.spares(span, false)?;
        self.cut(span, false, spares);
        let reservation = |entry: Entry| entry.attributes().map_or(Entry::Absent, Entry::Reserved);
        Ok(self.remove(span, reservation, |space, page, _| space.join(page), retire))
    }

    /// Takes all pages of `span` away and reserves all of it anew, holes too: nobody else can map there. What remains is
    /// a few entries, which [`Self::unmap`] removes at once. Otherwise as that.
    pub fn renew(&mut self, span: Span, new: Attributes, retire: impl FnMut(Retired)) -> Result<Removed, Error> {
        let spares = self.spares(span, true)?;
        self.cut(span, true, spares);
        Ok(self.remove(span, |_| Entry::Reserved(new), |space, page, _| space.join(page), retire))
    }

    /// Unmaps everything from page `at` on and calls `retire` with each frame: the end of a process, or of its program.
    /// Cannot fail. After each entry `pause` is told how many pages with a frame it had, and may ask for a break: then the
    /// result is the page to continue at.
    pub fn clear(
        &mut self,
        at: u32,
        mut retire: impl FnMut(Retired),
        mut pause: impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        let mut page = at;
        while page < PAGES {
            let slot = self.find(page);
            let mut pages = 0;
            if let Some(leaf) = self.replace(&slot, |_| Entry::Absent) {
                pages = slot.size.pages();
                retire(Retired { frame: leaf.frame, order: slot.size.order(), mirrored: leaf.mirrored });
            } else if slot.entry != Entry::Absent {
                self.set(&slot, Entry::Absent);
            }
            page = if slot.entry == Entry::Absent { self.after(&slot, PAGES) } else { slot.end() };
            if slot.leaves_table(page, PAGES) {
                self.prune(slot.first, Span::ALL);
            }
            if page < PAGES && pause(pages) {
                return Some(page);
            }
        }
        None
    }

    /// Replaces each entry of `span` by one without a frame; no entry crosses an edge. `tidy` looks after the tables.
    fn remove(
        &mut self,
        span: Span,
        instead: impl Fn(Entry) -> Entry,
        tidy: impl Fn(&mut Self, u32, Span),
        mut retire: impl FnMut(Retired),
    ) -> Removed {
        let mut removed = Removed::default();
        let mut page = span.first();
        while page < span.end() {
            let slot = self.find(page);
            let mut unchanged = false;
            match slot.entry {
                Entry::Leaf(_) => {
                    if let Some(leaf) = self.replace(&slot, |leaf| instead(Entry::Leaf(leaf))) {
                        removed.count(slot.size, &leaf);
                        retire(Retired { frame: leaf.frame, order: slot.size.order(), mirrored: leaf.mirrored });
                    }
                }
                Entry::Reserved(_) | Entry::Absent if instead(slot.entry) != slot.entry => {
                    self.set(&slot, instead(slot.entry));
                }
                _ => unchanged = true,
            }
            page = if unchanged { self.after(&slot, span.end()) } else { slot.end() };
            if slot.leaves_table(page, span.end()) {
                // What is behind the last page differs from it, mostly: so a search from there ends at once.
                tidy(self, page - 1, span);
            }
        }
        removed
    }
}
