// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Break before make: on some processors a valid entry must not become another valid one, of another size or with
//! another frame, while a TLB may still have the old one. It is made invalid, the TLBs are flushed, then the new one
//! is written. A change of permissions, or of what is remembered, needs none of this.
//!
//! The type is the encoding's ([`Encoding::Breaks`](super::Encoding::Breaks)). [`Unordered`] compiles to nothing.

use core::cell::Cell;

/// What one operation has made invalid and not flushed yet.
pub trait Breaks: Default {
    /// A valid entry must be broken before it is made anew.
    const NEEDED: bool;

    /// Entries for these pages, or tables around them, were valid and are not any more.
    fn broke(&self, first: u32, pages: u32);

    /// A TLB may have something of these pages that is not so any more.
    fn is_stale(&self, first: u32, pages: u32) -> bool;

    /// No TLB has anything that is not so.
    fn flushed(&self);
}

/// For processors that bear an old translation beside the new one until the flush at the operation's end.
#[derive(Debug, Default)]
pub struct Unordered;

impl Breaks for Unordered {
    const NEEDED: bool = false;

    #[inline(always)]
    fn broke(&self, _first: u32, _pages: u32) {}

    #[inline(always)]
    fn is_stale(&self, _first: u32, _pages: u32) -> bool {
        false
    }

    #[inline(always)]
    fn flushed(&self) {}
}

/// For processors that want an invalid entry and a flush in between.
///
/// Remembers one run of pages around all that was broken. Too many flushes would be the worst that comes of this, and
/// an operation mostly breaks in one place: moving pages breaks where they were and makes where they will be.
#[derive(Debug, Default)]
pub struct BreakBeforeMake {
    /// The first page, and the one after the last.
    broken: Cell<Option<(u32, u32)>>,
}

impl Breaks for BreakBeforeMake {
    const NEEDED: bool = true;

    fn broke(&self, first: u32, pages: u32) {
        let (from, to) = self.broken.get().unwrap_or((first, first));
        self.broken.set(Some((from.min(first), to.max(first + pages))));
    }

    fn is_stale(&self, first: u32, pages: u32) -> bool {
        self.broken.get().is_some_and(|(from, to)| from < first + pages && first < to)
    }

    fn flushed(&self) {
        self.broken.set(None);
    }
}
