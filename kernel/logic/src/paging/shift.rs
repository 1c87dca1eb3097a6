// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moving mapped pages to other addresses without copying (`mremap`).

use super::entry::{Entry, Leaf};
use super::error::Error;
use super::memory::Memory;
use super::space::AddressSpace;
use super::span::{PageSize, Span};
use super::unmap::Removed;

impl<M: Memory> AddressSpace<'_, M> {
    /// Extends the mapping that ends with `span` by `pages` pages behind it, with the attributes of its last page.
    ///
    /// [`Error::Occupied`] if it cannot stay where it is; then [`Self::shift`] moves it. Otherwise as [`Self::map`].
    pub fn grow(&mut self, span: Span, pages: u32) -> Result<(), Error> {
        let last = span.end() - 1;
        let attributes = self.find(last).entry.attributes().ok_or(Error::Unmapped(last))?;
        self.map(Span::new(span.end(), pages).ok_or(Error::Outside)?, attributes)
    }

    /// Moves all pages of `from`, with and without frame, to `to` and behind.
    ///
    /// All of `from` must be mapped, all of the new place free. A large page stays one if the new address is aligned
    /// for it. All tables are allocated before the first page moves: all or nothing. The TLBs are flushed and Linux is
    /// asked for `from`. O(entries), no content is touched.
    pub fn shift(&mut self, from: Span, to: u32) -> Result<Removed, Error> {
        let target = Span::new(to, from.pages()).ok_or(Error::Outside)?;
        if from.overlaps(target) {
            return Err(Error::Overlap);
        }
        self.check(from, |entry| entry != Entry::Absent).map_err(Error::Unmapped)?;
        self.check(target, |entry| entry == Entry::Absent).map_err(Error::Occupied)?;
        self.vacate(target);
        let spares = self.spares(from, false)?;
        if let Err(error) = self.prepare(from, target) {
            self.give_back(spares);
            self.prune_all(target, Span::ALL);
            return Err(error);
        }
        self.cut(from, false, spares);
        Ok(self.carry(from, target))
    }

    /// Builds the tables that `target` needs for what is in `from`; its entries stay absent.
    fn prepare(&mut self, from: Span, target: Span) -> Result<(), Error> {
        let mut page = from.first();
        while page < from.end() {
            let slot = self.find(page);
            let there = target.first() + (page - from.first());
            let rest = slot.end().min(from.end()) - page;
            let size = match slot.entry {
                // The part that the edges will leave of a large page.
                Entry::Leaf(_) => slot.size.fitting(page, rest).fitting(there, rest),
                _ => PageSize::Gib1.fitting(there, rest),
            };
            self.divide(there, size)?;
            page += size.pages();
        }
        Ok(())
    }

    /// Moves every entry of `from`; none crosses an edge, and `target` has its tables. Cannot fail.
    fn carry(&mut self, from: Span, target: Span) -> Removed {
        let mut removed = Removed::default();
        let mut page = from.first();
        while page < from.end() {
            let slot = self.find(page);
            let there = target.first() + (page - from.first());
            match slot.entry {
                Entry::Leaf(_) => {
                    if let Some(leaf) = self.replace(&slot, |_| Entry::Absent) {
                        removed.count(slot.size, &leaf);
                        self.set_down(there, slot.size, leaf);
                    }
                }
                entry => {
                    self.set(&slot, Entry::Absent);
                    self.fill(there, slot.size.pages(), entry);
                }
            }
            page = slot.end();
        }
        // Not before: the tables of `target` are empty until their first page comes, and some may be those of `from`.
        self.prune_all(from, from);
        removed
    }

    /// A page at its new address, in parts if it is not aligned there. Linux does not map it there yet.
    fn set_down(&mut self, there: u32, size: PageSize, leaf: Leaf) {
        let part = size.fitting(there, size.pages());
        if part != size {
            self.memory.split(leaf.frame, size.order(), part.order());
        }
        let mut done = 0;
        while done < size.pages() {
            let slot = self.find(there + done);
            self.set(&slot, Entry::Leaf(Leaf { frame: leaf.frame + u64::from(done), mirrored: false, ..leaf }));
            done += part.pages();
        }
    }

    /// The same entry in all of the `pages` pages from `first` on.
    ///
    /// A prepared entry may be larger than the part that is moved: then its other parts come from the same reservation.
    fn fill(&mut self, first: u32, pages: u32, entry: Entry) {
        let mut page = first;
        while page < first + pages {
            let slot = self.find(page);
            self.set(&slot, entry);
            page = slot.end();
        }
    }

    /// Frees every empty table in `span`; `of` is what the operation was about.
    fn prune_all(&mut self, span: Span, of: Span) {
        let mut page = span.first();
        while page < span.end() {
            self.prune(page, of);
            let slot = self.find(page);
            // No table is smaller than 2 MiB.
            page = slot.end().max((page & !511) + 512);
        }
    }
}
