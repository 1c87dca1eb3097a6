// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine's RAM while nobody has it yet: ranges of physical addresses, from which the boot code and the host take.
//! Pure.
//!
//! The boot code adds ranges that the loader calls usable, and removes all others that it names. Removal wins where the
//! two overlap.

/// Physical addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub base: u64,
    pub bytes: u64,
}

impl Range {
    pub const fn end(&self) -> u64 {
        self.base.saturating_add(self.bytes)
    }
}

const PAGE_BYTES: u64 = 4096;
const NONE: Range = Range { base: 0, bytes: 0 };

/// Ranges of whole pages, ascending, at most `N`; no two touch.
#[derive(Debug, Clone)]
pub struct Memory<const N: usize> {
    ranges: [Range; N],
    count: usize,
}

impl<const N: usize> Memory<N> {
    pub const fn new() -> Self {
        Self { ranges: [NONE; N], count: 0 }
    }

    pub fn ranges(&self) -> &[Range] {
        self.ranges.get(..self.count).unwrap_or(&[])
    }

    pub fn bytes(&self) -> u64 {
        self.ranges().iter().map(|range| range.bytes).sum()
    }

    /// Adds the whole pages between two addresses. False: there is no room for one more range.
    pub fn add(&mut self, base: u64, end: u64) -> bool {
        let base = base.saturating_add(PAGE_BYTES - 1) & !(PAGE_BYTES - 1);
        let end = end & !(PAGE_BYTES - 1);
        if base >= end {
            return true;
        }
        // Ranges that touch the new one become part of it.
        let (mut first, mut last) = (base, end);
        let mut kept = 0;
        for index in 0..self.count {
            let range = self.at(index);
            if range.end() < base || range.base > end {
                self.put(kept, range);
                kept += 1;
            } else {
                first = first.min(range.base);
                last = last.max(range.end());
            }
        }
        self.count = kept;
        self.insert(Range { base: first, bytes: last - first })
    }

    /// Removes all pages that have a byte between two addresses. False: there is no room for one more range.
    pub fn remove(&mut self, base: u64, end: u64) -> bool {
        let base = base & !(PAGE_BYTES - 1);
        let end = end.saturating_add(PAGE_BYTES - 1) & !(PAGE_BYTES - 1);
        let mut index = 0;
        while base < end && index < self.count {
            let range = self.at(index);
            if range.end() <= base || range.base >= end {
                index += 1;
                continue;
            }
            self.delete(index);
            let (before, behind) = (base.saturating_sub(range.base), range.end().saturating_sub(end));
            if before != 0 && !self.insert(Range { base: range.base, bytes: before }) {
                return false;
            }
            if behind != 0 && !self.insert(Range { base: end, bytes: behind }) {
                return false;
            }
            index += usize::from(before != 0);
        }
        true
    }

    /// Takes a run of whole pages, aligned to a power of two, from the lowest range that has one.
    pub fn take(&mut self, bytes: u64, align: u64) -> Option<u64> {
        let bytes = bytes.checked_add(PAGE_BYTES - 1)? & !(PAGE_BYTES - 1);
        let mask = align.max(PAGE_BYTES) - 1;
        for index in 0..self.count {
            let range = self.at(index);
            let base = range.base.checked_add(mask)? & !mask;
            let end = base.checked_add(bytes)?;
            if end < range.end() && base == range.base {
                self.put(index, Range { base: end, bytes: range.end() - end });
                return Some(base);
            }
            if end <= range.end() && self.remove(base, end) {
                return Some(base);
            }
        }
        None
    }

    fn at(&self, index: usize) -> Range {
        self.ranges.get(index).copied().unwrap_or(NONE)
    }

    fn put(&mut self, index: usize, range: Range) {
        if let Some(slot) = self.ranges.get_mut(index) {
            *slot = range;
        }
    }

    fn insert(&mut self, range: Range) -> bool {
        if self.count == N {
            return false;
        }
        let mut index = self.count;
        while index > 0 && self.at(index - 1).base > range.base {
            self.put(index, self.at(index - 1));
            index -= 1;
        }
        self.put(index, range);
        self.count += 1;
        true
    }

    fn delete(&mut self, index: usize) {
        for at in index + 1..self.count {
            self.put(at - 1, self.at(at));
        }
        self.count -= 1;
    }
}

impl<const N: usize> Default for Memory<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    fn ranges<const N: usize>(memory: &Memory<N>) -> Vec<(u64, u64)> {
        memory.ranges().iter().map(|range| (range.base, range.end())).collect()
    }

    #[test]
    fn whole_pages_are_kept_and_neighbours_join() {
        let mut memory = Memory::<4>::new();
        assert!(memory.add(0x8000, 0x9fc00) && memory.add(0x100800, 0x200000) && memory.add(0x200000, 0x300000));
        assert_eq!(ranges(&memory), [(0x8000, 0x9f000), (0x101000, 0x300000)]);
        assert!(memory.add(0x9f000, 0x101000));
        assert_eq!(ranges(&memory), [(0x8000, 0x300000)]);
        assert_eq!(memory.bytes(), 0x2f8000);
    }

    #[test]
    fn what_is_removed_is_never_left_in_part() {
        let mut memory = Memory::<4>::new();
        assert!(memory.add(0x10000, 0x20000) && memory.add(0x30000, 0x40000));
        assert!(memory.remove(0x14800, 0x15001));
        assert_eq!(ranges(&memory), [(0x10000, 0x14000), (0x16000, 0x20000), (0x30000, 0x40000)]);
        assert!(memory.remove(0x1f000, 0x31000));
        assert_eq!(ranges(&memory), [(0x10000, 0x14000), (0x16000, 0x1f000), (0x31000, 0x40000)]);
        assert!(memory.remove(0, u64::MAX));
        assert_eq!(ranges(&memory), []);
    }

    #[test]
    fn one_range_more_than_there_is_room_for_is_refused() {
        let mut memory = Memory::<2>::new();
        assert!(memory.add(0x1000, 0x2000) && memory.add(0x4000, 0x8000));
        assert!(!memory.add(0x10000, 0x11000));
        assert!(!memory.remove(0x5000, 0x6000));
    }

    #[test]
    fn taken_memory_is_aligned_low_and_gone() {
        let mut memory = Memory::<8>::new();
        assert!(memory.add(0x1000, 0x9f000) && memory.add(0x100000, 0x400000));
        assert_eq!(memory.take(0x4000, 0x4000), Some(0x4000));
        assert_eq!(memory.take(1, 1), Some(0x1000));
        assert_eq!(memory.take(0x100000, 0x1000), Some(0x100000));
        assert_eq!(memory.take(0x200000, 0x200000), Some(0x200000));
        assert_eq!(memory.take(0x200000, 1), None);
        assert_eq!(ranges(&memory), [(0x2000, 0x4000), (0x8000, 0x9f000)]);
    }
}
