// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A memory map as numbers: what a node tells its daemon, which writes the table for people. The reader trusts no number.

use super::map::{FilePart, Map, Memory, PARTS};
use super::request::PROCESSES;
use super::segment::{PAGE_BYTES, Part};
use crate::paging::Protection;

/// No address or length is as large: so no sum of two is too large.
const END: u64 = 1 << 52;
/// How many numbers there are at most.
pub const MOST_NUMBERS: usize = 4 + 1 + PARTS * 3 + PROCESSES * (PARTS + 2);

impl Map {
    /// All that [`Map::table`] tells.
    pub fn numbers(&self, mut put: impl FnMut(u64)) {
        [self.process_count as u64, self.part_count as u64, self.unused_bytes].into_iter().for_each(&mut put);
        self.shared.numbers(&mut put);
        for part in self.parts.iter().take(self.part_count) {
            let Protection { read, write, execute } = part.protection;
            let rights = u64::from(read) | u64::from(write) << 1 | u64::from(execute) << 2;
            [part.part as u64 | rights << 8, part.address, part.bytes].into_iter().for_each(&mut put);
        }
        for process in self.processes.iter().take(self.process_count) {
            process.parts.iter().take(self.part_count).copied().for_each(&mut put);
            process.heap.numbers(&mut put);
        }
    }

    /// Becomes the map that has these numbers. `None`: there is none, and this one is of no use.
    pub fn read(&mut self, numbers: impl IntoIterator<Item = u64>) -> Option<()> {
        let mut numbers = numbers.into_iter();
        let mut next = || numbers.next().filter(|&number| number < END);
        *self = Self::EMPTY;
        let count = |number: u64, most: usize| usize::try_from(number).ok().filter(|&count| count <= most);
        self.process_count = count(next()?, PROCESSES)?;
        self.part_count = count(next()?, PARTS)?;
        self.unused_bytes = next()?;
        self.shared = Memory::read(&mut next)?;
        for slot in self.parts.iter_mut().take(self.part_count) {
            let kind = next()?;
            let rights = |bit: u32| kind >> (8 + bit) & 1 != 0;
            *slot = FilePart {
                part: *Part::ALL.get(usize::from(kind as u8))?,
                address: pages(next()?)?,
                bytes: pages(next()?)?,
                protection: Protection { read: rights(0), write: rights(1), execute: rights(2) },
            };
        }
        for process in self.processes.iter_mut().take(self.process_count) {
            for slot in process.parts.iter_mut().take(self.part_count) {
                *slot = pages(next()?)?;
            }
            process.heap = Memory::read(&mut next)?;
        }
        next().is_none().then_some(())
    }
}

impl Memory {
    fn numbers(&self, mut put: impl FnMut(u64)) {
        put(self.address);
        put(self.bytes);
    }

    fn read(mut next: impl FnMut() -> Option<u64>) -> Option<Self> {
        Some(Self { address: pages(next()?)?, bytes: pages(next()?)? })
    }
}

fn pages(number: u64) -> Option<u64> {
    number.is_multiple_of(PAGE_BYTES).then_some(number)
}
