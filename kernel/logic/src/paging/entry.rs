// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What one entry of a page table says. How it says it in 64 bits is the processor's: [`Encoding`](super::Encoding).

use super::span::PageSize;

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
    /// Index into the process's list of NUMA policies, below [`POLICIES`](super::Encoding::POLICIES).
    pub policy: u8,
    /// Has its frame from the call that maps it or makes it accessible, not from the first touch.
    pub eager: bool,
    /// Never in a large page.
    pub small: bool,
    /// Not in a core file.
    pub undumped: bool,
}

/// A page with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub frame: u64,
    pub attributes: Attributes,
    /// Linux may map it.
    pub mirrored: bool,
    /// Being populated, moved or divided: for everybody else a reservation.
    pub pending: bool,
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
    /// The same with another protection.
    pub const fn with(self, protection: Protection) -> Self {
        Self { protection, ..self }
    }
}

impl Entry {
    /// The processor uses it: a table, or a page that the program may touch.
    #[inline]
    pub fn is_valid(self) -> bool {
        match self {
            Entry::Table(_) => true,
            Entry::Leaf(leaf) => !leaf.pending && !leaf.attributes.protection.is_none(),
            Entry::Absent | Entry::Reserved(_) => false,
        }
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
