// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finding, dividing and joining entries: what all operations are made of.

use super::breaks::Breaks;
use super::encoding::{self, Encoding};
use super::entry::{Attributes, Entry, Leaf};
use super::error::Error;
use super::memory::{Memory, Placement, Tables};
use super::span::{PAGES, PIECE_PAGES, PageSize, Span};
use core::cell::Cell;

/// One process's range, for the time of one operation.
///
/// Made on the spot by a caller that has the right to the pieces that the operation touches.
pub struct AddressSpace<'m, M: Tables> {
    pub(super) root: u64,
    pub(super) memory: &'m mut M,
    /// What this operation has made invalid and not flushed.
    pub(super) breaks: <M::Encoding as Encoding>::Breaks,
    /// The tables that were found last, of 2 MiB and of 4 KiB entries, and of which piece and which 2 MiB: the next
    /// page is mostly in the same.
    last: Cell<(Known, Known)>,
}

/// The number of what a table is for, and the table.
type Known = Option<(u32, u64)>;

/// An entry that is no table, and where it is.
pub(super) struct Slot {
    pub table: u64,
    pub index: u16,
    pub size: PageSize,
    /// The first page that it covers.
    pub first: u32,
    pub entry: Entry,
}

impl Slot {
    /// The page after its last.
    pub fn end(&self) -> u32 {
        self.first + self.size.pages()
    }

    /// What a frame for it is for.
    pub fn placement(&self, attributes: Attributes) -> Placement {
        Placement { page: self.first, policy: attributes.policy }
    }

    /// `page`, up to which an operation has come, is outside the table that this entry is in.
    pub fn leaves_table(&self, page: u32, end: u32) -> bool {
        page >= end || page.is_multiple_of(self.size.pages() << 9)
    }
}

/// Tables for the edges of an operation, allocated before anything is changed.
pub(super) struct Spares {
    tables: [Option<u64>; 4],
}

impl Spares {
    fn take(&mut self) -> Option<u64> {
        self.tables.iter_mut().find_map(Option::take)
    }
}

impl<'m, M: Memory> AddressSpace<'m, M> {
    /// The range whose root table, of 512 entries of 1 GiB each, is `root`.
    pub fn new(root: u64, memory: &'m mut M) -> Self {
        Self { root, memory, breaks: Default::default(), last: Cell::new((None, None)) }
    }

    /// The entry that decides about `page`. O(1): at most three loads.
    pub(super) fn find(&self, page: u32) -> Slot {
        let (mut table, mut size) = self.nearest(page);
        loop {
            let index = size.index(page);
            let raw = self.memory.load(table, index);
            let (Some(next), Some(smaller)) = (M::Encoding::table(raw, size), size.smaller()) else {
                let entry = M::Encoding::decode(raw, size);
                return Slot { table, index, size, first: page & !(size.pages() - 1), entry };
            };
            self.memory.progress();
            let (middle, _) = self.last.get();
            self.last.set(match smaller {
                PageSize::Kib4 => (middle, Some((page >> 9, next))),
                _ => (Some((page >> 18, next)), None),
            });
            (table, size) = (next, smaller);
        }
    }

    /// The lowest table around `page` that is remembered.
    fn nearest(&self, page: u32) -> (u64, PageSize) {
        match self.last.get() {
            (_, Some((number, table))) if number == page >> 9 => (table, PageSize::Kib4),
            (Some((number, table)), _) if number == page >> 18 => (table, PageSize::Mib2),
            _ => (self.root, PageSize::Gib1),
        }
    }

    /// The page behind an entry and, if it is no leaf, behind those in its table that say the same, up to `end`.
    pub(super) fn after(&self, slot: &Slot, end: u32) -> u32 {
        let (index, pages) = (u32::from(slot.index & 511), slot.size.pages());
        let rest = end.saturating_sub(slot.first).div_ceil(pages).clamp(1, 512 - index);
        match slot.entry {
            Entry::Absent | Entry::Reserved(_) => {
                slot.first + u32::from(self.memory.same(slot.table, slot.index, rest as u16)) * pages
            }
            _ => slot.end(),
        }
    }

    /// Fails with the first page of `span` whose entry is not `wanted`. O(entries).
    pub(super) fn check(&self, span: Span, wanted: impl Fn(Entry) -> bool) -> Result<(), u32> {
        let mut page = span.first();
        while page < span.end() {
            let slot = self.find(page);
            if !wanted(slot.entry) {
                return Err(page);
            }
            page = self.after(&slot, span.end());
        }
        Ok(())
    }

    /// The largest page in which pages with these attributes may lie.
    pub(super) fn largest(&self, attributes: Attributes) -> PageSize {
        encoding::largest::<M::Encoding>(attributes)
    }

    /// Writes an entry that Linux does not write: one that is no leaf, or is pending.
    pub(super) fn set(&self, slot: &Slot, entry: Entry) {
        self.before(slot, entry);
        self.memory.store(slot.table, slot.index, M::Encoding::encode(entry, slot.size));
        self.behind(slot, slot.entry, entry);
    }

    /// Replaces a leaf, and says what it was at that instant.
    ///
    /// Linux may set `MIRRORED` between the load and the exchange. It clears it only with the right, which is ours: at
    /// most two rounds.
    pub(super) fn replace(&self, slot: &Slot, new: impl Fn(Leaf) -> Entry) -> Option<Leaf> {
        loop {
            let current = self.memory.load(slot.table, slot.index);
            let old @ Entry::Leaf(leaf) = M::Encoding::decode(current, slot.size) else { return None };
            let new = new(leaf);
            self.before(slot, new);
            let encoded = M::Encoding::encode(new, slot.size);
            if self.memory.compare_exchange(slot.table, slot.index, current, encoded) {
                self.behind(slot, old, new);
                return Some(leaf);
            }
        }
    }

    /// Flushes the TLBs if `entry` is valid and they may have something else there.
    fn before(&self, slot: &Slot, entry: Entry) {
        if self.breaks.is_stale(slot.first, slot.size.pages()) && entry.is_valid() {
            self.memory.flush();
            self.breaks.flushed();
        }
    }

    /// Remembers that the TLBs may have `old`, which is not so any more.
    fn behind(&self, slot: &Slot, old: Entry, new: Entry) {
        if self.wants_break() && old.is_valid() && !new.is_valid() {
            self.breaks.broke(slot.first, slot.size.pages());
        }
    }

    /// Divides an entry into 512 of the next smaller size, in `table`: all of it is filled before one exchange.
    ///
    /// Where a processor wants a page broken first, the exchange makes it pending, which Linux leaves alone too; the
    /// table follows after the flush.
    pub(super) fn split(&mut self, slot: &Slot, table: u64) {
        let Some(smaller) = slot.size.smaller() else { return };
        let whole = Entry::Table(table);
        let (entry, first) = loop {
            let current = self.memory.load(slot.table, slot.index);
            let entry = M::Encoding::decode(current, slot.size);
            if entry != Entry::Absent {
                let part = |n| M::Encoding::encode(entry.part(n, smaller), smaller);
                (0..512).for_each(|n| self.memory.store(table, n, part(n)));
            }
            let first = match entry {
                Entry::Leaf(leaf) if self.wants_break() && entry.is_valid() => {
                    Entry::Leaf(Leaf { pending: true, ..leaf })
                }
                _ => whole,
            };
            self.before(slot, first);
            // Fails if Linux has set MIRRORED meanwhile: then every part gets it.
            let encoded = M::Encoding::encode(first, slot.size);
            if self.memory.compare_exchange(slot.table, slot.index, current, encoded) {
                break (entry, first);
            }
        };
        if self.wants_break() && first != whole {
            self.behind(slot, entry, first);
            self.set(slot, whole);
        }
        if let Entry::Leaf(leaf) = entry {
            self.memory.split(leaf.frame, slot.size.order(), smaller.order());
        }
    }

    const fn wants_break(&self) -> bool {
        <M::Encoding as Encoding>::Breaks::NEEDED
    }

    /// Makes `page` the first of an entry of `size`, which the caller knows to be within one entry.
    ///
    /// All or nothing: a table that was in the tree for a moment would have to leave it again, and with it every TLB.
    pub(super) fn divide(&mut self, page: u32, size: PageSize) -> Result<Slot, Error> {
        let mut slot = self.find(page);
        if slot.size <= size {
            return Ok(slot);
        }
        let mut spares = self.some_tables(usize::from((slot.size.order() - size.order()) / 9))?;
        while slot.size > size {
            let table = spares.take().ok_or(Error::NoTable)?;
            self.split(&slot, table);
            slot = self.find(page);
        }
        Ok(slot)
    }

    /// As many tables as both edges of `span` need, or none. `absent`: address space that is free is divided too.
    pub(super) fn spares(&mut self, span: Span, absent: bool) -> Result<Spares, Error> {
        self.some_tables(self.tables_for_edges(span, absent))
    }

    /// So many tables, at most four, or none.
    fn some_tables(&mut self, needed: usize) -> Result<Spares, Error> {
        let mut spares = Spares { tables: [None; 4] };
        for spare in spares.tables.iter_mut().take(needed) {
            *spare = self.memory.allocate_table();
            if spare.is_none() {
                self.give_back(spares);
                return Err(Error::NoTable);
            }
        }
        Ok(spares)
    }

    /// Frees spares that were not needed after all.
    pub(super) fn give_back(&mut self, mut spares: Spares) {
        while let Some(table) = spares.take() {
            self.memory.free_unused_table(table);
        }
    }

    /// Divides entries so that one begins at `span` and one behind it. Cannot fail.
    pub(super) fn cut(&mut self, span: Span, absent: bool, mut spares: Spares) {
        for page in [span.first(), span.end()] {
            while let Some(slot) = self.across(page, absent) {
                let Some(table) = spares.take() else { break };
                self.split(&slot, table);
            }
        }
        self.give_back(spares);
    }

    fn tables_for_edges(&self, span: Span, absent: bool) -> usize {
        // How many levels lie between the entry and one that begins at the page.
        let depth = |slot: &Slot, page: u32| match slot.size {
            PageSize::Gib1 if !page.is_multiple_of(512) => 2,
            _ => 1,
        };
        let (left, right) = (self.across(span.first(), absent), self.across(span.end(), absent));
        let each = |slot: &Option<Slot>, page| slot.as_ref().map_or(0, |slot| depth(slot, page));
        let both = each(&left, span.first()) + each(&right, span.end());
        match (left, right) {
            (Some(a), Some(b)) if a.first == b.first => {
                let deep = depth(&a, span.first()) == 2 && depth(&b, span.end()) == 2;
                both - 1 - usize::from(deep && span.first() / 512 == span.end() / 512)
            }
            _ => both,
        }
    }

    /// The entry that `page` is inside of, if it is not its first page.
    fn across(&self, page: u32, absent: bool) -> Option<Slot> {
        if page >= PAGES {
            return None;
        }
        let slot = self.find(page);
        (slot.first != page && (absent || slot.entry != Entry::Absent)).then_some(slot)
    }

    /// Frees the tables around `page` that have become empty by an operation on `span`. O(1): at most 1,024 loads.
    ///
    /// If only a part of a piece was unmapped, the piece's table stays: a program that maps and unmaps in turn would
    /// need a new one each time. [`Self::vacate`] frees it where it is in the way.
    pub(super) fn prune(&mut self, page: u32, span: Span) {
        let piece = page & !(PIECE_PAGES - 1);
        let whole = span.first() <= piece && span.end() >= piece + PIECE_PAGES;
        self.fold(page, whole, |space, table, from| space.uniform(table, from).filter(|&e| e == Entry::Absent));
    }

    /// Replaces the tables around `page` whose entries are all the same reservation by one. O(1), as above.
    pub(super) fn join(&mut self, page: u32) {
        let reserved = |entry: &Entry| matches!(entry, Entry::Reserved(_));
        self.fold(page, true, |space, table, from| space.uniform(table, from).filter(reserved));
    }

    /// Frees the tables of the pieces that lie in `span`, of which nothing is mapped: a page of 1 GiB can be put there.
    pub(super) fn vacate(&mut self, span: Span) {
        let upper = PageSize::Gib1;
        for piece in span.first().div_ceil(PIECE_PAGES)..span.end() / PIECE_PAGES {
            let page = piece * PIECE_PAGES;
            if let Entry::Table(table) = self.entry(self.root, page, upper) {
                self.last.set((None, None));
                self.unlink(self.root, page, upper, Entry::Absent);
                self.memory.free_table(table);
            }
        }
    }

    /// Puts one entry in the place of each table around `page` that is worth one: first the lower, then, if `both`,
    /// the upper.
    fn fold(&mut self, page: u32, both: bool, worth: impl Fn(&Self, u64, u16) -> Option<Entry>) {
        let (root, upper, lower) = (self.root, PageSize::Gib1, PageSize::Mib2);
        let Entry::Table(middle) = self.entry(root, page, upper) else { return };
        self.last.set((None, None));
        for (parent, size) in [(middle, lower), (root, upper)].into_iter().take(1 + usize::from(both)) {
            if let Entry::Table(table) = self.entry(parent, page, size) {
                let from = size.smaller().map_or(0, |smaller| smaller.index(page));
                let Some(entry) = worth(self, table, from) else { return };
                self.unlink(parent, page, size, entry);
                self.memory.free_table(table);
            }
        }
    }

    /// Puts `entry`, which is not valid, where `parent` points to a table for `page`.
    fn unlink(&self, parent: u64, page: u32, size: PageSize, entry: Entry) {
        self.memory.store(parent, size.index(page), M::Encoding::encode(entry, size));
        self.breaks.broke(page & !(size.pages() - 1), size.pages());
    }

    fn entry(&self, table: u64, page: u32, size: PageSize) -> Entry {
        M::Encoding::decode(self.memory.load(table, size.index(page)), size)
    }

    /// What all entries of a table are, if they are all the same and no leaf. Begins at `from`, so that a
    /// neighbour of what has just been changed ends the search.
    fn uniform(&self, table: u64, from: u16) -> Option<Entry> {
        // The size matters only to tables and leaves.
        let entry = M::Encoding::decode(self.memory.all_same(table, from)?, PageSize::Mib2);
        (!matches!(entry, Entry::Leaf(_) | Entry::Table(_))).then_some(entry)
    }
}
