// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A sorted list of address ranges with their rights and contents, in pages from the area's beginning. Neighbours that are
//! alike are one range. Used by [`super::Addresses`] alone.

use crate::paging::Protection;

/// The rights of memory that is not given out.
pub const UNUSED: Protection = Protection::READ_WRITE;

/// Pages that need other rights than they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub address: u64,
    pub bytes: u64,
    pub protection: Protection,
}

/// The content of memory that is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The program's own (anonymous).
    Own,
    /// A private copy of a file, which the program never could write to.
    File,
    /// One that it may have written to.
    Written,
    /// A copy of a file that the program maps shared, to read.
    Shared,
}

impl Content {
    const ALL: [Self; 4] = [Self::Own, Self::File, Self::Written, Self::Shared];

    /// The memory's content once the program has had these rights.
    pub(super) fn with(self, protection: Protection) -> Self {
        if self == Self::File && protection.write { Self::Written } else { self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub first: u32,
    pub end: u32,
    pub protection: Protection,
    pub content: Content,
}

/// As it is remembered: both ends, a bit for each right, and the content.
const RANGE_BYTES: usize = 9;

impl Range {
    const NONE: Self = Self { first: 0, end: 0, protection: Protection::NONE, content: Content::Own };

    fn from_bytes(bytes: [u8; RANGE_BYTES]) -> Self {
        let [f0, f1, f2, f3, e0, e1, e2, e3, kind] = bytes;
        let (first, end) = (u32::from_le_bytes([f0, f1, f2, f3]), u32::from_le_bytes([e0, e1, e2, e3]));
        let protection = Protection { read: kind & 1 != 0, write: kind & 2 != 0, execute: kind & 4 != 0 };
        let content = Content::ALL.get(usize::from(kind >> 3)).copied().unwrap_or(Content::Own);
        Self { first, end, protection, content }
    }

    fn to_bytes(self) -> [u8; RANGE_BYTES] {
        let Protection { read, write, execute } = self.protection;
        let kind = u8::from(read) | u8::from(write) << 1 | u8::from(execute) << 2 | (self.content as u8) << 3;
        let ([f0, f1, f2, f3], [e0, e1, e2, e3]) = (self.first.to_le_bytes(), self.end.to_le_bytes());
        [f0, f1, f2, f3, e0, e1, e2, e3, kind]
    }

    fn is_like(&self, other: &Self) -> bool {
        (self.protection, self.content) == (other.protection, other.content)
    }
}

/// In memory of the caller's, of which nothing is read before it is written.
pub(super) struct List {
    ranges: &'static mut [[u8; RANGE_BYTES]],
    count: usize,
}

/// The list is full.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

impl List {
    pub fn new(memory: &'static mut [u8]) -> Self {
        Self { ranges: memory.as_chunks_mut().0, count: 0 }
    }

    pub const fn clear(&mut self) {
        self.count = 0;
    }

    pub fn all(&self) -> impl DoubleEndedIterator<Item = Range> + '_ {
        self.used(0, self.count)
    }

    fn used(&self, from: usize, to: usize) -> impl DoubleEndedIterator<Item = Range> + '_ {
        self.ranges.get(from..to).unwrap_or(&[]).iter().map(|&bytes| Range::from_bytes(bytes))
    }

    fn get(&self, place: usize) -> Option<Range> {
        self.ranges.get(..self.count)?.get(place).map(|&bytes| Range::from_bytes(bytes))
    }

    /// How many ranges still fit.
    pub const fn room(&self) -> usize {
        self.ranges.len() - self.count
    }

    /// The ranges with a page from `first` on and before `end`.
    pub fn within(&self, first: u32, end: u32) -> impl Iterator<Item = Range> + '_ {
        let (from, to) = self.places(first, end);
        self.used(from, to)
    }

    pub fn is_free(&self, first: u32, end: u32) -> bool {
        self.within(first, end).next().is_none()
    }

    /// The range that has all these pages.
    pub fn only(&self, first: u32, end: u32) -> Option<Range> {
        self.within(first, end).next().filter(|range| range.first <= first && range.end >= end)
    }

    /// Whether every page from `first` on and before `end` is in a range.
    pub fn covers(&self, first: u32, end: u32) -> bool {
        let mut at = first;
        for range in self.within(first, end) {
            if range.first > at {
                return false;
            }
            at = range.end;
        }
        at >= end
    }

    /// The end of the highest `pages` pages below `top` that are in no range.
    pub fn gap_below(&self, top: u32, pages: u32) -> Option<u32> {
        let mut end = top;
        for range in self.all().rev() {
            if end.saturating_sub(range.end) >= pages {
                return Some(end);
            }
            end = end.min(range.first);
        }
        (end >= pages).then_some(end)
    }

    /// Gives all pages from `first` on and before `end` these rights and this content, or takes them out of the list. Calls
    /// `changed` for those whose rights differ from before. Not empty.
    pub fn set(
        &mut self,
        first: u32,
        end: u32,
        to: Option<(Protection, Content)>,
        changed: impl FnMut(Change),
        address: impl Fn(u32) -> u64,
    ) -> Result<(), Full> {
        let (mut from, mut until) = self.places(first, end);
        let before = self.get(from).filter(|range| range.first < first).map(|range| Range { end: first, ..range });
        let last = until.checked_sub(1).and_then(|last| self.get(last));
        let after = last.filter(|range| range.end > end).map(|range| Range { first: end, ..range });
        // Whole neighbours that touch take part, so that equal ones become one range.
        let touching = from.checked_sub(1).and_then(|left| self.get(left)).filter(|left| left.end == first);
        from -= usize::from(touching.is_some());
        let before = touching.or(before);
        let touching = self.get(until).filter(|right| right.first == end);
        until += usize::from(touching.is_some());
        let after = touching.or(after);

        let new = to.map(|(protection, content)| Range { first, end, protection, content });
        let (new, count) = joined([before, new, after]);
        let length = self.count - (until - from) + count;
        if length > self.ranges.len() {
            return Err(Full);
        }
        self.report(first, end, to.map_or(UNUSED, |(protection, _)| protection), changed, address);
        self.ranges.copy_within(until..self.count, from + count);
        self.count = length;
        for (place, range) in self.ranges.iter_mut().skip(from).zip(new.into_iter().take(count)) {
            *place = range.to_bytes();
        }
        Ok(())
    }

    /// Calls `changed` for each run of pages that has other rights than `protection`.
    fn report(
        &self,
        first: u32,
        end: u32,
        protection: Protection,
        mut changed: impl FnMut(Change),
        address: impl Fn(u32) -> u64,
    ) {
        let mut change = |first, end| {
            let (address, bytes) = (address(first), address(end) - address(first));
            changed(Change { address, bytes, protection });
        };
        let mut at = first;
        for range in self.within(first, end) {
            let (low, high) = (range.first.max(first), range.end.min(end));
            if at < low && protection != UNUSED {
                change(at, low);
            }
            if range.protection != protection {
                change(low, high);
            }
            at = high;
        }
        if at < end && protection != UNUSED {
            change(at, end);
        }
    }

    fn places(&self, first: u32, end: u32) -> (usize, usize) {
        let all = self.ranges.get(..self.count).unwrap_or(&[]);
        let from = all.partition_point(|&range| Range::from_bytes(range).end <= first);
        let to = all.partition_point(|&range| Range::from_bytes(range).first < end);
        (from, to.max(from))
    }
}

/// These ranges, which are sorted, without those that are none, and with equal neighbours as one.
fn joined(ranges: [Option<Range>; 3]) -> ([Range; 3], usize) {
    let mut new = [Range::NONE; 3];
    let mut count = 0usize;
    for range in ranges.into_iter().flatten() {
        let last = count.checked_sub(1).and_then(|last| new.get_mut(last));
        match last.filter(|last| last.end == range.first && last.is_like(&range)) {
            Some(last) => last.end = range.end,
            None => {
                if let Some(place) = new.get_mut(count) {
                    *place = range;
                    count += 1;
                }
            }
        }
    }
    (new, count)
}
