// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Changing what a program may do with its pages.

use super::encoding::Encoding;
use super::entry::{Attributes, Entry, Leaf, Protection};
use super::error::Error;
use super::memory::Memory;
use super::space::AddressSpace;
use super::span::{PageSize, Span};
use super::unmap::Removed;

impl<M: Memory> AddressSpace<'_, M> {
    /// Gives all of `span` the same protection (`mprotect`).
    ///
    /// Eager reservations that could not be touched so far, and now may be, get their frames. All of `span` must be
    /// mapped: a caller that does as Linux does changes up to [`Self::hole`] and then reports `ENOMEM`. All or nothing,
    /// but that pages which were to be executed may stay divided.
    ///
    /// Says which pages have lost a right: only for these the TLBs are flushed and Linux is asked. Their `MIRRORED` is
    /// clear from here on. O(entries), besides the zeroing of what is populated.
    pub fn protect(&mut self, span: Span, protection: Protection) -> Result<Removed, Error> {
        let (lost, staged) = self.protect_pending(span, protection)?;
        if staged {
            self.commit(span);
        }
        Ok(lost)
    }

    /// The same, but what gets its frames stays pending. Says whether anything does.
    pub fn protect_pending(&mut self, span: Span, protection: Protection) -> Result<(Removed, bool), Error> {
        self.check(span, |entry| entry != Entry::Absent).map_err(Error::Unmapped)?;
        if protection.execute {
            self.divide_for_code(span)?;
        }
        let opens = |old: Attributes| old.protection.is_none() && !protection.is_none();
        let staged = self.stage(span, |attributes| attributes.eager && opens(attributes));
        let any = match staged.and_then(|any| self.spares(span, false).map(|spares| (any, spares))) {
            Ok((any, spares)) => {
                self.cut(span, false, spares);
                any
            }
            Err(error) => {
                self.unstage(span, false);
                return Err(error);
            }
        };
        Ok((self.change(span, |attributes| attributes.with(protection)), any))
    }

    /// Divides the large pages of `span` into the smallest, where code may not be in large ones; says whether there
    /// were any.
    ///
    /// This comes, with a flush of the TLBs, before the pages may be executed: [`Self::protect`] does the first
    /// itself. O(entries). On failure some pages are divided: the TLBs may have them whole.
    pub fn divide_for_code(&mut self, span: Span) -> Result<bool, Error> {
        if M::Encoding::LARGE_PAGES_MAY_BE_EXECUTABLE {
            return Ok(false);
        }
        let (mut page, mut any) = (span.first(), false);
        while page < span.end() {
            let mut slot = self.find(page);
            if matches!(slot.entry, Entry::Leaf(_)) && slot.size > PageSize::Kib4 {
                slot = self.divide(page, PageSize::Kib4)?;
                any = true;
            }
            page = self.after(&slot, span.end());
        }
        Ok(any)
    }

    /// Changes what is remembered besides the protection: NUMA policy, eager or not, small pages only (`mbind`,
    /// `madvise`). Pages that have a frame keep it. What is not mapped is left out, as `madvise` does; [`Self::hole`]
    /// finds it. Otherwise as [`Self::protect`].
    pub fn advise(&mut self, span: Span, change: impl Fn(Attributes) -> Attributes) -> Result<(), Error> {
        let spares = self.spares(span, false)?;
        self.cut(span, false, spares);
        self.change(span, |attributes| change(attributes).with(attributes.protection));
        Ok(())
    }

    /// Changes the attributes of all entries of `span`; none crosses an edge. Says what has lost a right.
    fn change(&mut self, span: Span, change: impl Fn(Attributes) -> Attributes) -> Removed {
        let narrows = |old: &Leaf| loses(old.attributes.protection, change(old.attributes).protection);
        let mut lost = Removed::default();
        let mut page = span.first();
        while page < span.end() {
            let slot = self.find(page);
            match slot.entry {
                Entry::Absent => {
                    page = self.after(&slot, span.end());
                    continue;
                }
                Entry::Leaf(_) => {
                    let new = |leaf: Leaf| {
                        let mirrored = leaf.mirrored && !narrows(&leaf);
                        Entry::Leaf(Leaf { attributes: change(leaf.attributes), mirrored, ..leaf })
                    };
                    if let Some(leaf) = self.replace(&slot, new).filter(narrows) {
                        lost.count(slot.size, &leaf);
                    }
                }
                entry => self.set(&slot, entry.attributes().map_or(entry, |a| Entry::Reserved(change(a)))),
            }
            page = slot.end();
            if slot.leaves_table(page, span.end()) {
                self.join(slot.first);
            }
        }
        lost
    }
}

/// `old` allows something that `new` does not.
fn loses(old: Protection, new: Protection) -> bool {
    let accesses = [Protection::READ, Protection::READ_WRITE, Protection::READ_EXECUTE];
    accesses.into_iter().any(|access| old.allows(access) && !new.allows(access))
}
