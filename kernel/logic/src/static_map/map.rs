// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory map of all processes of a node. Written by [`super::partition`] once for each job; read by the loader, by
//! the code that fills page tables, and by every copy to or from a program's memory.
//!
//! All processes run the same program, so what they have in common is kept once: about 10 KiB in all.

use super::request::PROCESSES;
use super::segment::{Entries, PAGE_BYTES, Part, Segment};
use crate::elf::SEGMENTS;
use crate::paging::Protection;

/// Parts that come from files.
pub(super) const PARTS: usize = 2 * SEGMENTS;
/// Physical memory is mapped where its address modulo this is the same: then pages of every size fit.
const LARGEST_PAGE_BYTES: u64 = 1 << 30;
const HEAP_BASE: u64 = super::partition::HEAP_BASE;
const SHARED_BASE: u64 = super::partition::SHARED_BASE;

/// A part of a file in memory, the same in each process but for its physical address.
#[derive(Clone, Copy)]
pub(super) struct FilePart {
    pub part: Part,
    pub address: u64,
    pub bytes: u64,
    pub protection: Protection,
}

/// Physical memory of one process, or of all.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pub address: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy)]
pub(super) struct Process {
    pub parts: [u64; PARTS],
    pub heap: Memory,
}

/// The places of each process's memory. Kept in static memory and filled by [`super::partition`].
pub struct Map {
    pub(super) parts: [FilePart; PARTS],
    pub(super) part_count: usize,
    pub(super) processes: [Process; PROCESSES],
    pub(super) process_count: usize,
    pub(super) shared: Memory,
    pub(super) program_place: u64,
    pub(super) interpreter_place: u64,
    pub(super) unused_bytes: u64,
}

impl Map {
    /// Of no process.
    pub const EMPTY: Self = Self {
        parts: [FilePart { part: Part::Text, address: 0, bytes: 0, protection: Protection::NONE }; PARTS],
        part_count: 0,
        processes: [Process { parts: [0; PARTS], heap: Memory::NONE }; PROCESSES],
        process_count: 0,
        shared: Memory::NONE,
        program_place: 0,
        interpreter_place: 0,
        unused_bytes: 0,
    };

    /// How many processes the node has.
    pub const fn processes(&self) -> usize {
        self.process_count
    }

    /// All memory of a process, in the order of [`Part`]: the program, its dynamic linker, heap, shared memory. Empty
    /// if there is no such process.
    pub fn segments(&self, process: usize) -> impl Iterator<Item = Segment> + '_ {
        let known = self.processes.get(..self.process_count).unwrap_or(&[]).get(process);
        known.into_iter().flat_map(|process| {
            let parts = self.parts.get(..self.part_count).unwrap_or(&[]).iter().zip(&process.parts);
            let files = parts.map(|(part, &physical_address)| part.at(physical_address));
            let heap = process.heap.segment(Part::Heap, HEAP_BASE);
            files.chain(heap).chain(self.shared.segment(Part::Shared, SHARED_BASE))
        })
    }

    /// The heap with stacks of a process.
    pub fn heap(&self, process: usize) -> Option<Segment> {
        self.segments(process).find(|segment| segment.part == Part::Heap)
    }

    /// The physical address of `bytes` bytes of a process's memory from `address` on. `None`: not all of them are in one
    /// segment. Says nothing about what the process may do with them.
    pub fn physical(&self, process: usize, address: u64, bytes: u64) -> Option<u64> {
        self.segments(process).find_map(|segment| segment.physical(address, bytes))
    }

    /// TLB entries that hold all memory of a process.
    pub fn entries(&self, process: usize) -> Entries {
        self.segments(process).fold(Entries::default(), |sum, segment| sum.plus(segment.entries()))
    }

    /// The same of all processes together.
    pub fn all_entries(&self) -> Entries {
        (0..self.process_count).fold(Entries::default(), |sum, process| sum.plus(self.entries(process)))
    }

    /// To be added, wrapping, to each address in the program's file.
    pub const fn program_place(&self) -> u64 {
        self.program_place
    }

    /// The same for the dynamic linker.
    pub const fn interpreter_place(&self) -> u64 {
        self.interpreter_place
    }

    /// Memory that no process got: too small a piece, or more than an even share.
    pub const fn unused_bytes(&self) -> u64 {
        self.unused_bytes
    }
}

impl FilePart {
    const fn at(&self, physical_address: u64) -> Segment {
        let Self { part, address, bytes, protection } = *self;
        Segment { part, virtual_address: address, physical_address, bytes, protection }
    }
}

impl Memory {
    pub const NONE: Self = Self { address: 0, bytes: 0 };

    /// As the process sees it; `None`: there is none.
    fn segment(&self, part: Part, base: u64) -> Option<Segment> {
        (self.bytes != 0).then_some(Segment {
            part,
            virtual_address: base + self.address % LARGEST_PAGE_BYTES,
            physical_address: self.address,
            bytes: self.bytes.next_multiple_of(PAGE_BYTES),
            protection: Protection::READ_WRITE,
        })
    }
}
