// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Taking address space and putting frames behind it.
//!
//! Populating has two passes. The first finds a frame for every page and
//! marks it pending, which readers treat as reserved. If a frame is missing, the marks
//! are taken back and no time was lost on zeroing. The second zeroes each frame
//! and then makes its entry valid. Each can be done in portions, and the second may be left undone: the first touch of a
//! pending page does it for that page.

use super::entry::{Attributes, Entry, Leaf, Protection};
use super::error::Error;
use super::memory::{Memory, Placement, Reach};
use super::space::{AddressSpace, Slot};
use super::span::{PageSize, Span};

/// What a first touch found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It has put a zeroed page of this size there.
    Populated(PageSize),
    /// The page is there and allows the access: another core was first, or the TLB is behind.
    Already,
}

impl<M: Memory> AddressSpace<'_, M> {
    /// Maps free address space: [`Self::reserve`], and [`Self::populate`] if it is eager and may be touched.
    ///
    /// All or nothing. Grows with zeroing; besides, one entry for each page of the largest size that fits.
    pub fn map(&mut self, span: Span, attributes: Attributes) -> Result<(), Error> {
        self.reserve(span, attributes)?;
        if !attributes.eager || attributes.protection.is_none() {
            return Ok(());
        }
        let staged = self.stage(span, |_| true);
        match staged {
            Ok(_) => self.commit(span),
            Err(_) => self.unstage(span, true),
        }
        staged.map(drop)
    }

    /// Takes free address space without frames, in the largest entries that fit.
    ///
    /// O(1): at most four tables and 512 entries in each of five, whatever the size.
    pub fn reserve(&mut self, span: Span, attributes: Attributes) -> Result<(), Error> {
        self.check(span, |entry| entry == Entry::Absent).map_err(Error::Occupied)?;
        self.vacate(span);
        let spares = self.spares(span, true)?;
        self.cut(span, true, spares);
        let mut page = span.first();
        while page < span.end() {
            let slot = self.find(page);
            self.set(&slot, Entry::Reserved(attributes));
            page = slot.end();
        }
        Ok(())
    }

    /// Puts zeroed frames behind every page of `span` that has none and may be touched.
    ///
    /// All of `span` must be mapped. All or nothing. Grows with zeroing; besides, O(entries).
    pub fn populate(&mut self, span: Span) -> Result<(), Error> {
        self.check(span, |entry| entry != Entry::Absent).map_err(Error::Unmapped)?;
        let staged = self.stage(span, |attributes| !attributes.protection.is_none());
        match staged {
            Ok(_) => self.commit(span),
            Err(_) => self.unstage(span, false),
        }
        staged.map(drop)
    }

    /// The first pass of [`Self::populate`] in at most `entries` steps. Says up to where it has come.
    ///
    /// After a failure what is pending stays so: for everybody else it is reserved, and has its frame already.
    pub fn stage_part(&mut self, span: Span, entries: u32) -> Result<u32, Error> {
        self.stage_some(span, entries, |attributes| !attributes.protection.is_none()).map(|(page, _)| page)
    }

    /// The second pass, for about `pages` pages. Says up to where it has come. After each 2 MiB it asks whether it stops;
    /// true: inside of a page of 1 GiB, which then stays pending.
    pub fn commit_part(&mut self, span: Span, pages: u32, mut stops: impl FnMut(bool) -> bool) -> u32 {
        let (mut page, mut left, mut zeroed) = (span.first(), pages, 0);
        while page < span.end() && left > 0 {
            let slot = self.find(page);
            let mut cost = 1;
            if let Entry::Leaf(leaf @ Leaf { pending: true, .. }) = slot.entry {
                if !self.zero(leaf.frame, slot.size, || stops(true)) {
                    return page;
                }
                self.set(&slot, Entry::Leaf(Leaf { pending: false, ..leaf }));
                cost = slot.size.pages();
            }
            page = self.after(&slot, span.end());
            left = left.saturating_sub(cost);
            zeroed += cost;
            if zeroed >= PageSize::Mib2.pages() && stops(false) {
                break;
            }
            zeroed %= PageSize::Mib2.pages();
        }
        page
    }

    /// A first touch of `page`: a zeroed page of up to `largest` around it.
    ///
    /// O(1) besides zeroing that one page. Takes no table away, whether it succeeds or not: no TLB has to forget anything.
    pub fn fault(&mut self, page: u32, access: Protection, largest: PageSize) -> Result<Fault, Error> {
        // The caller's page may come from any address.
        let span = Span::new(page, 1).ok_or(Error::Outside)?;
        let slot = self.find(span.first());
        let attributes = slot.entry.attributes().ok_or(Error::Unmapped(page))?;
        if !attributes.protection.allows(access) {
            return Err(Error::NotAllowed(page));
        }
        match slot.entry {
            Entry::Leaf(Leaf { pending: true, .. }) => return self.touch_pending(slot, page, largest),
            Entry::Leaf(_) => return Ok(Fault::Already),
            _ => {}
        }
        let placement = Placement { page, policy: attributes.policy };
        let (frame, size) = self.frame(largest.min(slot.size).min(self.largest(attributes)), placement)?;
        let first = page & !(size.pages() - 1);
        self.put_pending(first, size, frame, attributes)?;
        self.commit(span);
        Ok(Fault::Populated(size))
    }

    /// The first touch of a page that has its frame: zeroes a page of up to `largest` around it.
    fn touch_pending(&mut self, slot: Slot, page: u32, largest: PageSize) -> Result<Fault, Error> {
        // Without a table for its parts it is zeroed as a whole.
        let slot = if slot.size > largest { self.divide(page, largest).unwrap_or(slot) } else { slot };
        let size = slot.size;
        if let Some(span) = Span::new(page, 1) {
            self.commit(span);
        }
        Ok(Fault::Populated(size))
    }

    /// Finds a frame for every reservation in `span` whose attributes are `wanted`, in the largest pages that fit. Says
    /// whether there were any.
    ///
    /// After a failure, what is pending is for [`Self::unstage`].
    pub(super) fn stage(&mut self, span: Span, wanted: impl Fn(Attributes) -> bool) -> Result<bool, Error> {
        self.stage_some(span, u32::MAX, wanted).map(|(_, any)| any)
    }

    /// The same in at most `entries` steps, and up to where it has come.
    fn stage_some(
        &mut self,
        span: Span,
        entries: u32,
        wanted: impl Fn(Attributes) -> bool,
    ) -> Result<(u32, bool), Error> {
        let (mut page, mut any, mut left) = (span.first(), false, entries);
        while page < span.end() && left > 0 {
            left -= 1;
            let slot = self.find(page);
            page = match slot.entry {
                Entry::Reserved(attributes) if wanted(attributes) => {
                    let most = slot.size.min(self.largest(attributes));
                    let placement = Placement { page, policy: attributes.policy };
                    let (frame, size) = self.frame(most.fitting(page, span.end() - page), placement)?;
                    self.put_pending(page, size, frame, attributes)?;
                    any = true;
                    page + size.pages()
                }
                _ => self.after(&slot, span.end()),
            }
        }
        Ok((page, any))
    }

    /// Zeroes what is pending in `span` and makes it valid. Cannot fail.
    pub(super) fn commit(&mut self, span: Span) {
        self.commit_part(span, u32::MAX, |_| false);
    }

    /// Zeroes a page's frames, at most 2 MiB at a time. False: `stops` said so in between.
    fn zero(&mut self, frame: u64, size: PageSize, mut stops: impl FnMut() -> bool) -> bool {
        let part = PageSize::Mib2;
        if size <= part {
            self.memory.zero(frame, size.order());
            return true;
        }
        for first in (frame..frame + u64::from(size.pages())).step_by(part.pages() as usize) {
            if first != frame && stops() {
                return false;
            }
            self.memory.zero(first, part.order());
        }
        true
    }

    /// Frees what is pending in `span`. `all`: the reservations go too, because they are as new.
    pub(super) fn unstage(&mut self, span: Span, all: bool) {
        let mut page = span.first();
        while page < span.end() {
            let slot = self.find(page);
            match slot.entry {
                Entry::Leaf(Leaf { frame, attributes, pending: true, .. }) => {
                    self.set(&slot, if all { Entry::Absent } else { Entry::Reserved(attributes) });
                    self.memory.free(frame, slot.size.order());
                }
                Entry::Reserved(_) if all => self.set(&slot, Entry::Absent),
                _ => {}
            }
            page = slot.end();
            if slot.leaves_table(page, span.end()) {
                if all { self.prune(slot.first, Span::ALL) } else { self.join(slot.first) }
            }
        }
    }

    /// A frame of `size`, or of the next smaller that can be had: rather a smaller one than one that is far away.
    pub(super) fn frame(&mut self, size: PageSize, placement: Placement) -> Result<(u64, PageSize), Error> {
        let near = self.frame_within(size, placement, Reach::Wanted);
        near.or_else(|| self.frame_within(size, placement, Reach::Allowed)).ok_or(Error::NoFrame)
    }

    /// The same, no further than `reach`.
    pub(super) fn frame_within(
        &mut self,
        size: PageSize,
        placement: Placement,
        reach: Reach,
    ) -> Option<(u64, PageSize)> {
        let mut size = size;
        loop {
            if let Some(frame) = self.memory.allocate(size.order(), placement, reach) {
                return Some((frame, size));
            }
            size = size.smaller()?;
        }
    }

    /// Makes a pending page of a frame, or frees it.
    fn put_pending(&mut self, page: u32, size: PageSize, frame: u64, attributes: Attributes) -> Result<(), Error> {
        match self.divide(page, size) {
            Ok(slot) => {
                self.set(&slot, Entry::Leaf(Leaf { frame, attributes, mirrored: false, pending: true }));
                Ok(())
            }
            Err(error) => {
                self.memory.free(frame, size.order());
                Err(error)
            }
        }
    }
}
