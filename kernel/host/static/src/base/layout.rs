// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The addresses of a process: what is given out of its heap, and of the areas apart from it. Changed by its calls about
//! memory (`calls/memory.rs`, `calls/reserved.rs`, `calls/moved.rs`) under its lock.

use tacet_logic::addresses::{Addresses, Content, Error, Mapping, below_2_gib};
use tacet_wire::errno::Errno;

pub const PAGE_BYTES: u64 = 4096;
/// Of threads' stacks (`Layout::stack_bytes`).
const STACK_PART: u64 = 128;
const LEAST_STACK_BYTES: u64 = 128 << 10;
const MOST_STACK_BYTES: u64 = 8 << 20;

/// Above the heaps of all processes, and below all else that the static map has.
pub const RESERVED_BEGIN: u64 = 0x2000_0000_0000;
pub const RESERVED_BYTES: u64 = 8 << 40;

/// Addresses apart from the heap, without memory of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// For `MAP_32BIT`.
    Low,
    /// For large reservations.
    Reserved,
}

/// The heap of a process, and the addresses of it that are given out.
pub struct Layout {
    pub addresses: Addresses,
    /// Addresses without memory of their own ([`Area`]).
    low: Addresses,
    reserved: Addresses,
    /// The heap: where it begins and ends.
    pub heap: core::ops::Range<u64>,
}

impl Layout {
    /// Of no program yet. The memory is for what it remembers of the heap and of reservations.
    pub fn new(heap: &'static mut [u8], low: &'static mut [u8], reserved: &'static mut [u8]) -> Self {
        let (low, reserved) = (Addresses::new(low), Addresses::new(reserved));
        Self { addresses: Addresses::new(heap), low, reserved, heap: 0..0 }
    }

    /// For a new program with this heap, which is zero, whose other memory is at `others`.
    pub fn begin(&mut self, address: u64, bytes: u64, others: impl Iterator<Item = core::ops::Range<u64>>) {
        self.addresses.begin(address, bytes);
        let low = below_2_gib(others);
        self.low.begin(low.start, low.end - low.start);
        self.reserved.begin(RESERVED_BEGIN, RESERVED_BYTES);
        self.heap = address..address + bytes;
    }

    /// What is given out of an area.
    pub const fn area(&self, area: Area) -> &Addresses {
        match area {
            Area::Low => &self.low,
            Area::Reserved => &self.reserved,
        }
    }

    pub const fn area_mut(&mut self, area: Area) -> &mut Addresses {
        match area {
            Area::Low => &mut self.low,
            Area::Reserved => &mut self.reserved,
        }
    }

    /// The area that has all these addresses.
    pub fn area_of(&self, address: u64, bytes: u64) -> Option<Area> {
        let end = address.checked_add(bytes)?;
        let has = |extent: core::ops::Range<u64>| extent.contains(&address) && end <= extent.end;
        [Area::Low, Area::Reserved].into_iter().find(|&area| has(self.area(area).extent()))
    }

    /// All that is given out, lowest first.
    pub fn mappings(&self) -> impl Iterator<Item = Mapping> {
        self.low.mappings().chain(self.addresses.mappings()).chain(self.reserved.mappings())
    }

    /// The size of a thread's stack, unless the program says otherwise: a small part of the heap.
    pub fn stack_bytes(&self) -> u64 {
        let part = (self.heap.end - self.heap.start) / STACK_PART;
        part.clamp(LEAST_STACK_BYTES, MOST_STACK_BYTES) & !(PAGE_BYTES - 1)
    }

    pub fn has(&self, address: u64, bytes: u64) -> bool {
        self.heap.contains(&address) && address.checked_add(bytes).is_some_and(|end| end <= self.heap.end)
    }
}

/// An error as these calls give it.
pub fn errno(error: Error) -> Errno {
    match error {
        Error::Invalid => Errno::EINVAL,
        Error::NoMemory => Errno::ENOMEM,
        Error::Exists => Errno(17),
        Error::Fault => Errno::EFAULT,
        Error::Denied => Errno::EACCES,
    }
}

/// Whether the memory can be given back: the program's own is zero then, also beside a hole, and a copy of a file is as the
/// file, which it still is unless it was written. `frees` (`MADV_FREE`): only the program's own can.
pub fn may_discard(mut mappings: impl Iterator<Item = Mapping>, frees: bool) -> Result<(), Errno> {
    let cannot = |content| content == Content::Written || frees && content != Content::Own;
    if mappings.any(|mapping| cannot(mapping.content)) { Err(Errno::EINVAL) } else { Ok(()) }
}
