// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One part of a process in memory, and the pages that map it. Made by [`super::Map`], read by code that fills page
//! tables or copies memory. It must never give a page that reaches beyond its segment.

use crate::paging::{PageSize, Protection};
use core::fmt;

pub(super) const PAGE_BYTES: u64 = 4096;

/// The content of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Text,
    ReadOnlyData,
    /// With what is zero at first.
    Data,
    LinkerText,
    LinkerReadOnlyData,
    LinkerData,
    /// With the stacks and all that is mapped while the program runs.
    Heap,
    Shared,
}

/// Memory of a process, contiguous in its addresses and in physical memory. Whole pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub part: Part,
    pub virtual_address: u64,
    pub physical_address: u64,
    pub bytes: u64,
    pub protection: Protection,
}

/// Pages of one size in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub virtual_address: u64,
    pub physical_address: u64,
    pub bytes: u64,
    pub page: PageSize,
}

/// TLB entries by page size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    pub kib4: u64,
    pub mib2: u64,
    pub gib1: u64,
}

impl Segment {
    /// The pages that map it, lowest first: at each address the largest that is aligned on both sides and fits.
    pub fn runs(&self) -> impl Iterator<Item = Run> + use<> {
        let mut rest = *self;
        core::iter::from_fn(move || {
            let run = rest.first_run()?;
            rest.virtual_address += run.bytes;
            rest.physical_address += run.bytes;
            rest.bytes -= run.bytes;
            Some(run)
        })
    }

    /// How many TLB entries hold it.
    pub fn entries(&self) -> Entries {
        self.runs().fold(Entries::default(), |sum, run| sum.with(run.page, run.bytes / bytes_of(run.page)))
    }

    /// The physical address of `bytes` bytes from `address` on, if all of them are in it.
    pub fn physical(&self, address: u64, bytes: u64) -> Option<u64> {
        let offset = address.checked_sub(self.virtual_address)?;
        (offset <= self.bytes && bytes <= self.bytes - offset).then_some(self.physical_address + offset)
    }

    fn first_run(&self) -> Option<Run> {
        let aligned = |size: u64| (self.virtual_address | self.physical_address).is_multiple_of(size);
        let fits = |page: &PageSize| aligned(bytes_of(*page)) && self.bytes >= bytes_of(*page);
        let page = [PageSize::Gib1, PageSize::Mib2, PageSize::Kib4].into_iter().find(fits)?;
        let size = bytes_of(page);
        let whole = self.bytes - self.bytes % size;
        // Up to where larger pages can begin, if they can at all and fit there.
        let larger = match page {
            PageSize::Kib4 => PageSize::Mib2,
            _ => PageSize::Gib1,
        };
        let next = self.virtual_address.next_multiple_of(bytes_of(larger)) - self.virtual_address;
        let congruent = (self.virtual_address ^ self.physical_address).is_multiple_of(bytes_of(larger));
        let until_larger = congruent && next > 0 && next + bytes_of(larger) <= self.bytes;
        let bytes = if until_larger { next } else { whole };
        Some(Run { virtual_address: self.virtual_address, physical_address: self.physical_address, bytes, page })
    }
}

impl Entries {
    pub(super) fn with(self, page: PageSize, count: u64) -> Self {
        match page {
            PageSize::Kib4 => Self { kib4: self.kib4 + count, ..self },
            PageSize::Mib2 => Self { mib2: self.mib2 + count, ..self },
            PageSize::Gib1 => Self { gib1: self.gib1 + count, ..self },
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { kib4: self.kib4 + other.kib4, mib2: self.mib2 + other.mib2, gib1: self.gib1 + other.gib1 }
    }

    /// Of all sizes.
    pub fn all(&self) -> u64 {
        self.kib4 + self.mib2 + self.gib1
    }
}

impl fmt::Display for Entries {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut space = "";
        for (count, name) in [(self.gib1, "1G"), (self.mib2, "2M"), (self.kib4, "4K")] {
            if count != 0 {
                write!(out, "{space}{count}x{name}")?;
                space = " ";
            }
        }
        Ok(())
    }
}

impl Part {
    /// In their order.
    pub const ALL: [Self; 8] = [
        Self::Text,
        Self::ReadOnlyData,
        Self::Data,
        Self::LinkerText,
        Self::LinkerReadOnlyData,
        Self::LinkerData,
        Self::Heap,
        Self::Shared,
    ];

    /// One word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::ReadOnlyData => "rodata",
            Self::Data => "data",
            Self::LinkerText => "linker-text",
            Self::LinkerReadOnlyData => "linker-rodata",
            Self::LinkerData => "linker-data",
            Self::Heap => "heap",
            Self::Shared => "shared",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

pub(super) const fn bytes_of(page: PageSize) -> u64 {
    PAGE_BYTES << page.order()
}
