// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Taking address space and putting frames behind it.
//!
//! Populating has two passes. The first finds a frame for every page and
//! marks it pending, which readers treat as reserved. If a frame is missing, the marks
//! are taken back and no time was lost on zeroing. The second zeroes each frame
//! and then makes its entry valid.

use super::entry::{Attributes, Entry, Leaf, Protection};
use super::error::Error;
use super::memory::{Memory, Placement, Reach};
use super::space::AddressSpace;
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
            Ok(()) => self.commit(span),
            Err(_) => self.unstage(span, true),
        }
        staged
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
            Ok(()) => self.commit(span),
            Err(_) => self.unstage(span, false),
        }
        staged
    }

    /// A first touch of `page`: a zeroed page of up to `largest` around it.
    ///
    /// O(1) besides zeroing that one page.
    pub fn fault(&mut self, page: u32, access: Protection, largest: PageSize) -> Result<Fault, Error> {
        // The caller's page may come from any address.
        let span = Span::new(page, 1).ok_or(Error::Outside)?;
        let slot = self.find(span.first());
        let attributes = slot.entry.attributes().ok_or(Error::Unmapped(page))?;
        if !attributes.protection.allows(access) {
            return Err(Error::NotAllowed(page));
        }
        if let Entry::Leaf(_) = slot.entry {
            return Ok(Fault::Already);
        }
        let placement = Placement { page, policy: attributes.policy };
        let (frame, size) = self.frame(largest.min(slot.size).min(self.largest(attributes)), placement)?;
        let first = page & !(size.pages() - 1);
        if let Err(error) = self.put_pending(first, size, frame, attributes) {
            self.join(page);
            return Err(error);
        }
        self.commit(span);
        Ok(Fault::Populated(size))
    }

    /// Finds a frame for every reservation in `span` whose attributes are `wanted`, in the largest pages that fit.
    ///
    /// After a failure, what is pending is for [`Self::unstage`].
    pub(super) fn stage(&mut self, span: Span, wanted: impl Fn(Attributes) -> bool) -> Result<(), Error> {
        let mut page = span.first();
        while page < span.end() {
            let slot = self.find(page);
            page = match slot.entry {
                Entry::Reserved(attributes) if wanted(attributes) => {
                    let most = slot.size.min(self.largest(attributes));
                    let placement = Placement { page, policy: attributes.policy };
                    let (frame, size) = self.frame(most.fitting(page, span.end() - page), placement)?;
                    self.put_pending(page, size, frame, attributes)?;
                    page + size.pages()
                }
                _ => self.after(&slot, span.end()),
            }
        }
        Ok(())
    }

    /// Zeroes what is pending in `span` and makes it valid. Cannot fail.
    pub(super) fn commit(&mut self, span: Span) {
        let mut page = span.first();
        while page < span.end() {
            let slot = self.find(page);
            if let Entry::Leaf(leaf @ Leaf { pending: true, .. }) = slot.entry {
                self.memory.zero(leaf.frame, slot.size.order());
                self.set(&slot, Entry::Leaf(Leaf { pending: false, ..leaf }));
            }
            page = self.after(&slot, span.end());
        }
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
