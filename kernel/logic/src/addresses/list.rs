// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A sorted list of address ranges with their rights, in pages from the area's beginning. Neighbours with equal rights
//! are one range. Used by [`super::Addresses`] alone.

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub first: u32,
    pub end: u32,
    pub protection: Protection,
}

pub(super) struct List<const N: usize> {
    ranges: [Range; N],
    count: usize,
}

/// The list is full.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

impl<const N: usize> List<N> {
    pub const EMPTY: Self = Self { ranges: [Range { first: 0, end: 0, protection: Protection::NONE }; N], count: 0 };

    pub const fn clear(&mut self) {
        self.count = 0;
    }

    pub fn all(&self) -> &[Range] {
        self.ranges.get(..self.count).unwrap_or(&[])
    }

    /// How many ranges still fit.
    pub const fn room(&self) -> usize {
        N - self.count
    }

    /// The ranges with a page from `first` on and before `end`.
    pub fn within(&self, first: u32, end: u32) -> &[Range] {
        let (from, to) = self.places(first, end);
        self.all().get(from..to).unwrap_or(&[])
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
        for range in self.all().iter().rev() {
            if end.saturating_sub(range.end) >= pages {
                return Some(end);
            }
            end = end.min(range.first);
        }
        (end >= pages).then_some(end)
    }

    /// Gives all pages from `first` on and before `end` these rights, or takes them out of the list. Calls `changed` for
    /// those whose rights differ from before. Not empty.
    pub fn set(
        &mut self,
        first: u32,
        end: u32,
        to: Option<Protection>,
        changed: impl FnMut(Range),
    ) -> Result<(), Full> {
        let (mut from, mut until) = self.places(first, end);
        let before =
            self.all().get(from).filter(|range| range.first < first).map(|range| Range { end: first, ..*range });
        let last = until.checked_sub(1).and_then(|last| self.all().get(last));
        let after = last.filter(|range| range.end > end).map(|range| Range { first: end, ..*range });
        // Whole neighbours that touch take part, so that equal rights become one range.
        let touching =
            from.checked_sub(1).and_then(|left| self.all().get(left)).filter(|left| left.end == first).copied();
        from -= usize::from(touching.is_some());
        let before = touching.or(before);
        let touching = self.all().get(until).filter(|right| right.first == end).copied();
        until += usize::from(touching.is_some());
        let after = touching.or(after);

        let (new, count) = joined([before, to.map(|protection| Range { first, end, protection }), after]);
        let length = self.count - (until - from) + count;
        if length > N {
            return Err(Full);
        }
        self.report(first, end, to.unwrap_or(UNUSED), changed);
        self.ranges.copy_within(until..self.count, from + count);
        self.count = length;
        for (place, range) in self.ranges.iter_mut().skip(from).zip(new.into_iter().take(count)) {
            *place = range;
        }
        Ok(())
    }

    /// Calls `changed` for each run of pages that has other rights than `protection`.
    fn report(&self, first: u32, end: u32, protection: Protection, mut changed: impl FnMut(Range)) {
        let mut at = first;
        for range in self.within(first, end) {
            let (low, high) = (range.first.max(first), range.end.min(end));
            if at < low && protection != UNUSED {
                changed(Range { first: at, end: low, protection });
            }
            if range.protection != protection {
                changed(Range { first: low, end: high, protection });
            }
            at = high;
        }
        if at < end && protection != UNUSED {
            changed(Range { first: at, end, protection });
        }
    }

    fn places(&self, first: u32, end: u32) -> (usize, usize) {
        let from = self.all().partition_point(|range| range.end <= first);
        let to = self.all().partition_point(|range| range.first < end);
        (from, to.max(from))
    }
}

/// These ranges, which are sorted, without those that are none, and with neighbours of equal rights as one.
fn joined(ranges: [Option<Range>; 3]) -> ([Range; 3], usize) {
    let mut new = [Range { first: 0, end: 0, protection: Protection::NONE }; 3];
    let mut count = 0usize;
    for range in ranges.into_iter().flatten() {
        let last = count.checked_sub(1).and_then(|last| new.get_mut(last));
        match last.filter(|last| last.end == range.first && last.protection == range.protection) {
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
