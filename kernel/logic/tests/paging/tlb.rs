// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A processor that keeps whatever it can of the tables until it is told to flush, and what it does not bear: that
//! something valid takes the place of something else that it may still have (break before make).
//!
//! It knows entries by the pages that they are for, as a TLB does: a page that comes back in another table is the same.

use std::collections::BTreeMap;

use tacet_logic::paging::{Encoding, Entry, PageSize};

use crate::Entries;

/// What a valid entry leads to: permissions, and what is remembered, may change at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Frame(u64),
    Table(u64),
}

/// Which entry: its first page, and its size.
type At = (u32, PageSize);

#[derive(Clone, Debug, Default)]
pub struct Tlb {
    /// For each table that can be reached: the size of its entries and its first page.
    tables: BTreeMap<u64, (PageSize, u32)>,
    /// Valid, and may be cached.
    valid: BTreeMap<At, To>,
    /// Not so any more, but perhaps cached.
    stale: BTreeMap<At, To>,
    pub flushes: usize,
}

impl Tlb {
    pub fn new(root: u64) -> Self {
        Self { tables: [(root, (PageSize::Gib1, 0))].into(), ..Self::default() }
    }

    pub fn flush(&mut self) {
        self.stale.clear();
        self.flushes += 1;
    }

    /// An entry is written; `content` says what is in a table that becomes reachable by that.
    pub fn write(&mut self, table: u64, index: u16, raw: u64, content: &dyn Fn(u64) -> [u64; 512]) {
        let Some(&(size, first)) = self.tables.get(&table) else { return };
        let at = (first + u32::from(index) * size.pages(), size);
        let to = match Entries::decode(raw, size) {
            entry if !entry.is_valid() => None,
            Entry::Leaf(leaf) => Some(To::Frame(leaf.frame)),
            Entry::Table(next) => Some(To::Table(next)),
            _ => None,
        };
        if self.valid.get(&at).copied() == to {
            return;
        }
        if let Some(to) = to {
            self.bear(at, to);
        }
        if let Some(old) = self.valid.remove(&at) {
            self.stale.insert(at, old);
            if let To::Table(next) = old {
                self.unlink(next);
            }
        }
        if let Some(to) = to {
            self.valid.insert(at, to);
            if let (To::Table(next), Some(smaller)) = (to, size.smaller()) {
                self.tables.insert(next, (smaller, at.0));
                for (index, raw) in (0..).zip(content(next)) {
                    self.write(next, index, raw, content);
                }
            }
        }
    }

    /// Everything below a table can be reached no more.
    fn unlink(&mut self, table: u64) {
        let Some((size, first)) = self.tables.remove(&table) else { return };
        for index in 0..512 {
            let at = (first + index * size.pages(), size);
            if let Some(old) = self.valid.remove(&at) {
                self.stale.insert(at, old);
                if let To::Table(next) = old {
                    self.unlink(next);
                }
            }
        }
    }

    /// Nothing that may be cached says otherwise of these pages.
    fn bear(&self, at: At, to: To) {
        for cached in [&self.valid, &self.stale] {
            // The same entry.
            assert!(
                cached.get(&at).is_none_or(|&old| old == to),
                "{at:?}: {to:?} takes the place of {:?}",
                cached[&at]
            );
            // A larger page around it. (A table around it is the way to it.)
            let around = [PageSize::Mib2, PageSize::Gib1].into_iter().filter(|&size| size > at.1);
            for size in around {
                let old = cached.get(&(at.0 & !(size.pages() - 1), size));
                assert!(!matches!(old, Some(To::Frame(_))), "{at:?}: {to:?} inside of {old:?}, {size:?}");
            }
            // Smaller pages inside of it.
            if let To::Frame(_) = to {
                let inside = cached.range((at.0, PageSize::Kib4)..(at.0 + at.1.pages(), PageSize::Kib4));
                for (old, what) in inside {
                    assert!(old.1 >= at.1, "{at:?}: {to:?} around {old:?}, {what:?}");
                }
            }
        }
    }
}
