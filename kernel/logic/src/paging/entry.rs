// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What one entry of a page table says, and its encoding. Linux reads it too.
//!
//! | bit | present (bit 0 set) | not present |
//! |---|---|---|
//! | 1 | writable | program may write |
//! | 2, 5, 6 | user, accessed, dirty: always set | clear |
//! | 3 | clear | `RESERVED` |
//! | 4 | clear | `HELD`: bits 12-51 name a frame |
//! | 7 | leaf of 2 MiB or 1 GiB | clear |
//! | 9 | `MIRRORED`: Linux may map the page | the same |
//! | 10 | small pages only | the same |
//! | 11 | eager: populated at map time | the same |
//! | 12-51 | frame | frame, or all ones when only reserved |
//! | 52-57 | NUMA policy, an index into the process's own list | the same |
//! | 58 | program may read | the same |
//! | 59-62 | protection key, always 0 | clear |
//! | 63 | no execution | the same |
//!
//! Not present: zero is absent; `RESERVED` alone is address space without a
//! frame; `HELD` alone is a page that may not be touched but keeps its content
//! (`PROT_NONE`); both together are a page that is being populated, which for
//! everybody else is still a reservation.
//!
//! Accessed and dirty are set from the beginning so that the processor never
//! writes an entry. A reservation names the highest frame there could be, so
//! that no processor loads its cache from a frame 0 that an entry seems to name.

use super::span::PageSize;

const PRESENT: u64 = 1;
const WRITE: u64 = 1 << 1;
const USER: u64 = 1 << 2;
const RESERVED: u64 = 1 << 3;
const HELD: u64 = 1 << 4;
const ACCESSED: u64 = 1 << 5;
const DIRTY: u64 = 1 << 6;
const LEAF: u64 = 1 << 7;
/// Set by Linux, by compare-and-exchange, before it maps the page on its side.
pub const MIRRORED: u64 = 1 << 9;
const SMALL: u64 = 1 << 10;
const EAGER: u64 = 1 << 11;
const FRAME: u64 = ((1 << 40) - 1) << 12;
const POLICY_SHIFT: u32 = 52;
const READ: u64 = 1 << 58;
const NO_EXECUTE: u64 = 1 << 63;

/// NUMA policies that a process can tell apart: 0 to 63.
pub const POLICIES: u8 = 64;

/// What a program may do with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protection {
    pub read: bool,
    pub write: bool,
    pub execute: bool,
}

/// What is remembered of a page apart from its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub protection: Protection,
    /// Index into the process's list of NUMA policies, below [`POLICIES`].
    pub policy: u8,
    /// Has its frame from the call that maps it or makes it accessible, not from the first touch.
    pub eager: bool,
    /// Never in a large page.
    pub small: bool,
}

/// A page with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub frame: u64,
    pub attributes: Attributes,
    /// Linux may map it.
    pub mirrored: bool,
    /// Being populated: for everybody else a reservation.
    pub(super) pending: bool,
}

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Absent,
    Reserved(Attributes),
    Leaf(Leaf),
    Table(u64),
}

impl Protection {
    pub const NONE: Self = Self { read: false, write: false, execute: false };
    pub const READ: Self = Self { read: true, ..Self::NONE };
    pub const READ_WRITE: Self = Self { write: true, ..Self::READ };
    pub const READ_EXECUTE: Self = Self { execute: true, ..Self::READ };
    pub const ALL: Self = Self { execute: true, ..Self::READ_WRITE };

    /// Nothing at all.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// An access may happen. As on Linux, what may be written or executed may be read.
    pub fn allows(self, access: Self) -> bool {
        !self.is_none() && (self.write || !access.write) && (self.execute || !access.execute)
    }
}

impl Attributes {
    /// The largest page in which it may lie. What may be executed is never in a large one ([`crate::paging`], "iTLB
    /// multi-hit").
    pub const fn largest(self) -> PageSize {
        if self.small || self.protection.execute { PageSize::Kib4 } else { PageSize::Gib1 }
    }

    /// The same with another protection.
    pub const fn with(self, protection: Protection) -> Self {
        Self { protection, ..self }
    }

    fn encode(self) -> u64 {
        let Self { protection: Protection { read, write, execute }, policy, eager, small } = self;
        bit(read, READ)
            | bit(write, WRITE)
            | bit(!execute, NO_EXECUTE)
            | bit(eager, EAGER)
            | bit(small, SMALL)
            | u64::from(policy & (POLICIES - 1)) << POLICY_SHIFT
    }

    fn decode(entry: u64) -> Self {
        let has = |bit| entry & bit != 0;
        let protection = Protection { read: has(READ), write: has(WRITE), execute: !has(NO_EXECUTE) };
        let policy = (entry >> POLICY_SHIFT) as u8 & (POLICIES - 1);
        Self { protection, policy, eager: has(EAGER), small: has(SMALL) }
    }
}

impl Entry {
    /// The entry in a table whose entries have `size`.
    pub fn encode(self, size: PageSize) -> u64 {
        match self {
            Entry::Absent => 0,
            Entry::Table(table) => table << 12 | PRESENT | WRITE | USER | ACCESSED,
            Entry::Reserved(attributes) => attributes.encode() | FRAME | RESERVED,
            Entry::Leaf(Leaf { frame, attributes, mirrored, pending }) => {
                let state = match () {
                    () if pending => RESERVED | HELD,
                    () if attributes.protection.is_none() => HELD,
                    () => PRESENT | USER | ACCESSED | DIRTY | bit(size != PageSize::Kib4, LEAF),
                };
                attributes.encode() | frame << 12 | bit(mirrored, MIRRORED) | state
            }
        }
    }

    /// From an entry in a table whose entries have `size`. Only this module's encodings are ever read.
    pub fn decode(entry: u64, size: PageSize) -> Self {
        let has = |bit| entry & bit != 0;
        let frame = (entry & FRAME) >> 12;
        match () {
            () if has(PRESENT) && size != PageSize::Kib4 && !has(LEAF) => Entry::Table(frame),
            () if has(PRESENT) || has(HELD) => Entry::Leaf(Leaf {
                frame,
                attributes: Attributes::decode(entry),
                mirrored: has(MIRRORED),
                pending: has(HELD) && has(RESERVED),
            }),
            () if has(RESERVED) => Entry::Reserved(Attributes::decode(entry)),
            () => Entry::Absent,
        }
    }

    /// The table that an entry of `size` points to, if it does: what [`Self::decode`] says, for less.
    pub(super) fn table(entry: u64, size: PageSize) -> Option<u64> {
        (entry & (PRESENT | LEAF) == PRESENT && size != PageSize::Kib4).then_some((entry & FRAME) >> 12)
    }

    /// The entry for part `number` when one of these is divided into 512 of `size`.
    pub(super) fn part(self, number: u16, size: PageSize) -> Self {
        match self {
            Entry::Leaf(leaf) => Entry::Leaf(Leaf { frame: leaf.frame + (u64::from(number) << size.order()), ..leaf }),
            other => other,
        }
    }

    /// What is remembered, if it is mapped.
    pub fn attributes(self) -> Option<Attributes> {
        match self {
            Entry::Reserved(attributes) | Entry::Leaf(Leaf { attributes, .. }) => Some(attributes),
            Entry::Absent | Entry::Table(_) => None,
        }
    }
}

/// `bit` if `set`.
const fn bit(set: bool, bit: u64) -> u64 {
    if set { bit } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_read_as_it_was_written() {
        for bits in (0..1u32 << 12).step_by(if cfg!(miri) { 67 } else { 1 }) {
            let has = |bit: u32| bits >> bit & 1 == 1;
            let protection = Protection { read: has(0), write: has(1), execute: has(2) };
            let policy = (bits >> 3 & 0x3f) as u8;
            let attributes = Attributes { protection, policy, eager: has(9), small: has(10) };
            for frame in [1u64, 512, 1 << 18, (1 << 40) - (1 << 18)] {
                for (mirrored, pending) in [(false, false), (true, false), (false, true)] {
                    let leaf = Entry::Leaf(Leaf { frame, attributes, mirrored, pending });
                    for size in [PageSize::Kib4, PageSize::Mib2, PageSize::Gib1] {
                        let encoded = leaf.encode(size);
                        assert_eq!(Entry::decode(encoded, size), leaf);
                        assert_eq!(Entry::table(encoded, size), None);
                        // The processor and Linux see a page only if it may be touched.
                        assert_eq!(encoded & PRESENT != 0, !pending && !protection.is_none());
                    }
                }
            }
            let reserved = Entry::Reserved(attributes);
            assert_eq!(Entry::decode(reserved.encode(PageSize::Mib2), PageSize::Mib2), reserved);
        }
        let table = Entry::Table(0x1234);
        assert_eq!(Entry::decode(table.encode(PageSize::Gib1), PageSize::Gib1), table);
        assert_eq!(Entry::decode(0, PageSize::Kib4), Entry::Absent);
        assert_eq!(Entry::table(table.encode(PageSize::Gib1), PageSize::Gib1), Some(0x1234));
    }
}
