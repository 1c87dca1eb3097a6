// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Page tables of four levels: mapping, changing rights, finding. Pure: the tables are reached through [`Pages`].
//!
//! Called for the kernel's own tables (`tables.rs`) and for a program's (`space.rs`). An entry is written once, whole:
//! a processor that reads the tables meanwhile finds what was, or what is.

use super::super::paging::{Entries, LEAF};
use core::fmt;
use core::ops::Range;
use tacet_logic::paging::{Encoding, Entry, Leaf, PageSize, Protection};

/// The end of what a program may have: as on Linux, the last page of the lower half stays empty, since some processors
/// mistreat a SYSCALL at its end.
pub const USER_END: u64 = 0x7fff_ffff_f000;

/// Below is nothing: address 0 must fault.
pub const USER_BEGIN: u64 = 0x1000;

/// Entries of the root that are programs'.
const USER_ENTRIES: usize = 256;

/// Where tables are. One is named by its physical address.
pub trait Pages {
    fn load(&self, table: u64, index: usize) -> u64;
    fn store(&mut self, table: u64, index: usize, entry: u64);
    /// A table whose entries are zero.
    fn allocate(&mut self) -> Option<u64>;
    fn free(&mut self, table: u64);

    /// Writes entries from `first` on, which are zero. `Err`: one is not, and how many were written.
    fn fill(&mut self, table: u64, first: usize, run: Run) -> Result<(), u64> {
        let mut entry = run.first;
        for (number, index) in (0..run.count).zip(first..) {
            if self.load(table, index) != 0 {
                return Err(number);
            }
            self.store(table, index, entry);
            entry = entry.wrapping_add(run.step);
        }
        Ok(())
    }
}

/// The entries of `count` pages of one size that follow each other: neighbours differ by `step`.
#[derive(Clone, Copy)]
pub struct Run {
    pub first: u64,
    pub step: u64,
    pub count: u64,
    /// The table was made just now: all its entries are zero.
    pub fresh: bool,
}

impl Run {
    /// `entry` encodes a page, by its physical address.
    fn new(physical: u64, level: u32, count: u64, fresh: bool, entry: impl Fn(u64) -> u64) -> Self {
        let first = entry(physical);
        Self { first, step: entry(physical.wrapping_add(bytes(level))).wrapping_sub(first), count, fresh }
    }
}

/// The reason why an address space cannot be so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// An address or a length is not a multiple of 4 KiB, or the length is 0.
    Misaligned(u64),
    /// Not an address of programs.
    Outside(u64),
    /// Not in the RAM of programs: the physical address.
    NotRam(u64),
    /// It is mapped already.
    Overlap(u64),
    /// Nothing is mapped there.
    Unmapped(u64),
    /// No page is left for a page table.
    NoTable,
}

impl fmt::Display for Refused {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Misaligned(at) => write!(to, "{at:#x} is not a multiple of a page"),
            Self::Outside(at) => write!(to, "{at:#x} is not an address of programs"),
            Self::NotRam(at) => write!(to, "physical address {at:#x} is not RAM for programs"),
            Self::Overlap(at) => write!(to, "{at:#x} is mapped twice"),
            Self::Unmapped(at) => write!(to, "{at:#x} is not mapped"),
            Self::NoTable => to.write_str("no memory is left for page tables"),
        }
    }
}

/// A contiguous part of an address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub address: u64,
    pub physical: u64,
    pub bytes: u64,
    /// The largest pages to use; smaller ones are used where the addresses are not aligned for it, or where the
    /// processor has none so large.
    pub page: PageSize,
    pub rights: Protection,
}

/// A run of addresses to be mapped to a run of physical ones.
#[derive(Debug, Clone, Copy)]
pub struct Mapping {
    pub address: u64,
    pub physical: u64,
    pub bytes: u64,
    pub largest: PageSize,
}

/// The addresses from one on, up to where something else begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub bytes: u64,
    /// They are mapped from here on, with any rights; `None`: nothing is mapped.
    pub physical: Option<u64>,
}

/// The tables of one address space.
pub struct Directory<'p, P: Pages> {
    pub root: u64,
    pub pages: &'p mut P,
}

/// Levels by the size of their entries: 0 has 4 KiB, 3 has 512 GiB.
const ROOT: u32 = 3;

const fn bytes(level: u32) -> u64 {
    4096 << (9 * level)
}

const fn index(address: u64, level: u32) -> usize {
    (address >> (12 + 9 * level)) as usize & 511
}

const fn size(level: u32) -> PageSize {
    match level {
        0 => PageSize::Kib4,
        1 => PageSize::Mib2,
        _ => PageSize::Gib1,
    }
}

const fn level(size: PageSize) -> u32 {
    size.order() as u32 / 9
}

/// An entry that is no table.
struct Slot {
    table: u64,
    level: u32,
    raw: u64,
}

impl Slot {
    fn leaf(&self) -> Option<Leaf> {
        match Entries::decode(self.raw, size(self.level)) {
            // the root's entries have no size
            Entry::Leaf(leaf) if self.level < ROOT => Some(leaf),
            _ => None,
        }
    }
}

impl<P: Pages> Directory<'_, P> {
    /// Maps a run. `leaf` gives the entry of a page, by its physical address and size. After an error some of it may be
    /// mapped.
    pub fn map(&mut self, at: Mapping, leaf: impl Fn(u64, PageSize) -> u64) -> Result<(), Refused> {
        let Mapping { mut address, mut physical, bytes: mut left, largest } = at;
        if (address | physical | left) & 0xfff != 0 || left == 0 {
            return Err(Refused::Misaligned(address | physical));
        }
        while left != 0 {
            let mut level = level(largest);
            while (address | physical) & (bytes(level) - 1) != 0 || left < bytes(level) {
                level -= 1;
            }
            let (table, fresh) = self.table(address, level)?;
            let first = index(address, level);
            // Larger pages may begin where this table ends, and nowhere before.
            let count = (512 - first as u64).min(left / bytes(level));
            let size = size(level);
            let run = Run::new(physical, level, count, fresh, |at| leaf(at, size));
            let filled = self.pages.fill(table, first, run);
            filled.map_err(|number| Refused::Overlap(address + number * bytes(level)))?;
            address = address.wrapping_add(count * bytes(level));
            physical += count * bytes(level);
            left -= count * bytes(level);
        }
        Ok(())
    }

    /// The table whose entries have `level` and one of which is for `address`; it and those above it are made if they
    /// are not there. Also whether it itself was made.
    fn table(&mut self, address: u64, level: u32) -> Result<(u64, bool), Refused> {
        let (mut table, mut fresh) = (self.root, false);
        for above in (level + 1..=ROOT).rev() {
            let entry = index(address, above);
            let raw = self.pages.load(table, entry);
            fresh = raw == 0;
            table = match Entries::table(raw, PageSize::Mib2) {
                Some(frame) => frame << 12,
                None if raw != 0 => return Err(Refused::Overlap(address)),
                None => {
                    let new = self.pages.allocate().ok_or(Refused::NoTable)?;
                    self.pages.store(table, entry, Entries::encode(Entry::Table(new >> 12), PageSize::Mib2));
                    new
                }
            };
        }
        Ok((table, fresh))
    }

    /// The entry that decides about `address`.
    fn slot(&self, address: u64) -> Slot {
        let (mut table, mut level) = (self.root, ROOT);
        loop {
            let raw = self.pages.load(table, index(address, level));
            match Entries::table(raw, size(level)) {
                Some(frame) if level > 0 => (table, level) = (frame << 12, level - 1),
                _ => return Slot { table, level, raw },
            }
        }
    }

    /// Where `address` is mapped: the physical address, how many bytes follow in the same page, and the rights.
    pub fn find(&self, address: u64) -> Option<(u64, u64, Protection)> {
        if !user().contains(&address) {
            return None;
        }
        let slot = self.slot(address);
        let leaf = slot.leaf()?;
        let within = address & (bytes(slot.level) - 1);
        Some(((leaf.frame << 12) + within, bytes(slot.level) - within, leaf.attributes.protection))
    }

    /// What is at `address`, and how far it goes on before `end`, which is a program's and larger.
    pub fn stretch(&self, address: u64, end: u64) -> Stretch {
        let part = |at: u64| {
            let slot = self.slot(at);
            let within = at & (bytes(slot.level) - 1);
            (slot.leaf().map(|leaf| (leaf.frame << 12) + within), bytes(slot.level) - within)
        };
        let (physical, mut length) = part(address);
        while address + length < end {
            let (next, more) = part(address + length);
            if next != physical.map(|physical| physical + length) {
                break;
            }
            length += more;
        }
        Stretch { bytes: length.min(end - address), physical }
    }

    /// Takes a program's pages out of the tables. After an error nothing has changed, but that large pages may be in
    /// parts.
    pub fn unmap(&mut self, address: u64, length: u64) -> Result<(), Refused> {
        let range = user_range(address, length)?;
        self.split(range.start)?;
        self.split(range.end)?;
        let mut at = range.start;
        while at < range.end {
            let slot = self.slot(at);
            if slot.leaf().is_some() {
                self.pages.store(slot.table, index(at, slot.level), 0);
            }
            at = (at & !(bytes(slot.level) - 1)) + bytes(slot.level);
        }
        Ok(())
    }

    /// Gives a program's pages other rights. After an error nothing has changed, but that large pages may be in parts.
    pub fn protect(&mut self, address: u64, length: u64, rights: Protection) -> Result<(), Refused> {
        let range = user_range(address, length)?;
        let mut at = range.start;
        while at < range.end {
            let slot = self.slot(at);
            slot.leaf().ok_or(Refused::Unmapped(at))?;
            at = (at & !(bytes(slot.level) - 1)) + bytes(slot.level);
        }
        self.split(range.start)?;
        self.split(range.end)?;
        at = range.start;
        while at < range.end {
            let slot = self.slot(at);
            let Some(leaf) = slot.leaf() else { return Err(Refused::Unmapped(at)) };
            let new = Leaf { attributes: leaf.attributes.with(rights), ..leaf };
            self.pages.store(slot.table, index(at, slot.level), Entries::encode(Entry::Leaf(new), size(slot.level)));
            at += bytes(slot.level);
        }
        Ok(())
    }

    /// Divides large pages until one begins at `address`. Each address stays mapped as it was.
    fn split(&mut self, address: u64) -> Result<(), Refused> {
        loop {
            let slot = self.slot(address);
            let Some(leaf) = slot.leaf() else { return Ok(()) };
            if address & (bytes(slot.level) - 1) == 0 {
                return Ok(());
            }
            let new = self.pages.allocate().ok_or(Refused::NoTable)?;
            let smaller = size(slot.level - 1);
            let encode = |at: u64| Entries::encode(Entry::Leaf(Leaf { frame: at >> 12, ..leaf }), smaller);
            let run = Run::new(leaf.frame << 12, slot.level - 1, 512, true, encode);
            self.pages.fill(new, 0, run).map_err(|_| Refused::NoTable)?;
            let table = Entries::encode(Entry::Table(new >> 12), size(slot.level));
            self.pages.store(slot.table, index(address, slot.level), table);
        }
    }

    /// Frees a program's tables, and the root.
    pub fn end(&mut self) {
        for entry in 0..USER_ENTRIES {
            self.end_below(self.root, entry, ROOT);
        }
        self.pages.free(self.root);
    }

    fn end_below(&mut self, table: u64, entry: usize, level: u32) {
        let raw = self.pages.load(table, entry);
        if level == 0 || raw & LEAF != 0 {
            return;
        }
        let Some(frame) = Entries::table(raw, size(level)) else { return };
        for below in 0..512 {
            self.end_below(frame << 12, below, level - 1);
        }
        self.pages.free(frame << 12);
    }
}

const fn user() -> Range<u64> {
    USER_BEGIN..USER_END
}

/// A run of whole pages of a program.
pub fn user_range(address: u64, length: u64) -> Result<Range<u64>, Refused> {
    if (address | length) & 0xfff != 0 || length == 0 {
        return Err(Refused::Misaligned(address | length));
    }
    match address.checked_add(length) {
        Some(end) if address >= USER_BEGIN && end <= USER_END => Ok(address..end),
        _ => Err(Refused::Outside(address)),
    }
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
