// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages inside the range: its 512 GiB are pages 0 to 2^27.

use core::ops::Range;

use super::error::Error;

/// Pages of 4 KiB in the range.
pub const PAGES: u32 = 1 << 27;

/// Pages of a piece: what one entry of the root covers, 1 GiB.
pub const PIECE_PAGES: u32 = 1 << 18;

/// The sizes of pages that the processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageSize {
    Kib4,
    Mib2,
    Gib1,
}

impl PageSize {
    /// The order of its frame.
    pub const fn order(self) -> u8 {
        match self {
            PageSize::Kib4 => 0,
            PageSize::Mib2 => 9,
            PageSize::Gib1 => 18,
        }
    }

    /// In units of 4 KiB.
    pub const fn pages(self) -> u32 {
        1 << self.order()
    }

    /// The next smaller one.
    pub const fn smaller(self) -> Option<Self> {
        match self {
            PageSize::Kib4 => None,
            PageSize::Mib2 => Some(PageSize::Kib4),
            PageSize::Gib1 => Some(PageSize::Mib2),
        }
    }

    /// The largest size, at most `self`, that is aligned at page `first` and has at most `pages` pages.
    pub const fn fitting(self, first: u32, pages: u32) -> Self {
        let mut size = self;
        while let Some(smaller) = size.smaller() {
            if first.is_multiple_of(size.pages()) && pages >= size.pages() {
                break;
            }
            size = smaller;
        }
        size
    }

    /// Where the entry for `page` is in the table whose entries have this size.
    pub(super) const fn index(self, page: u32) -> u16 {
        (page >> self.order() & 511) as u16
    }
}

/// At least one page, within the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    first: u32,
    end: u32,
}

impl Span {
    /// The whole range.
    pub const ALL: Self = Self { first: 0, end: PAGES };

    /// `pages` pages from `first` on; `None` if that is nothing or ends outside.
    pub const fn new(first: u32, pages: u32) -> Option<Self> {
        match first.checked_add(pages) {
            Some(end) if pages != 0 && end <= PAGES => Some(Self { first, end }),
            _ => None,
        }
    }

    /// The pages of `bytes` bytes at `address`, in the range that begins at `base`.
    pub const fn of_bytes(base: u64, address: u64, bytes: u64) -> Result<Self, Error> {
        if !address.is_multiple_of(4096) || !bytes.is_multiple_of(4096) {
            return Err(Error::Misaligned);
        }
        let limit = (PAGES as u64) << 12;
        match address.checked_sub(base) {
            // Both are at most 2^39, so page numbers fit.
            Some(offset) if offset < limit && bytes <= limit => {
                match Self::new((offset >> 12) as u32, (bytes >> 12) as u32) {
                    Some(span) => Ok(span),
                    None => Err(Error::Outside),
                }
            }
            _ => Err(Error::Outside),
        }
    }

    /// Its first page.
    pub const fn first(self) -> u32 {
        self.first
    }

    /// The page after its last.
    pub const fn end(self) -> u32 {
        self.end
    }

    /// How many pages.
    pub const fn pages(self) -> u32 {
        self.end - self.first
    }

    /// They share a page.
    pub const fn overlaps(self, other: Self) -> bool {
        self.first < other.end && other.first < self.end
    }

    /// The pieces that it touches: a change needs the right to all of them.
    pub const fn pieces(self) -> Range<u32> {
        self.first / PIECE_PAGES..(self.end - 1) / PIECE_PAGES + 1
    }
}
