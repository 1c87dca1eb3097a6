// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Physical RAM that belongs to programs, read and written through the kernel's own mapping of it.
//!
//! Nothing outside the ranges can be reached from here, and nothing inside is the kernel's. Programs may change the
//! same bytes at any time: no reference to them is ever made.

/// Physical addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub base: u64,
    pub bytes: u64,
}

/// The RAM of programs. All CPUs may use it at once; what they write at the same address at the same time is mixed.
#[derive(Debug, Clone, Copy)]
pub struct Ram {
    ranges: &'static [Range],
}

impl Ram {
    pub(super) const fn new(ranges: &'static [Range]) -> Self {
        Self { ranges }
    }

    /// All of it, ascending; page-aligned; ranges do not touch.
    pub fn ranges(&self) -> &'static [Range] {
        self.ranges
    }

    /// Fills with zeros. `None`, here and below: not all of it is in one of the ranges; nothing is changed.
    pub fn zero(&self, at: u64, bytes: u64) -> Option<()> {
        let _ = (at, bytes);
        None
    }

    /// Copies out of RAM.
    pub fn read(&self, at: u64, to: &mut [u8]) -> Option<()> {
        let _ = (at, to);
        None
    }

    /// Copies into RAM.
    pub fn write(&self, at: u64, from: &[u8]) -> Option<()> {
        let _ = (at, from);
        None
    }

    /// Copies within RAM. The two may overlap.
    pub fn copy(&self, from: u64, to: u64, bytes: u64) -> Option<()> {
        let _ = (from, to, bytes);
        None
    }

    /// Reads a word, aligned, in one access.
    pub fn load(&self, at: u64) -> Option<u32> {
        let _ = at;
        None
    }

    /// Writes `new` to an aligned word if it is `current`, in one access. `Some(Err)`: what it was instead.
    pub fn compare_exchange(&self, at: u64, current: u32, new: u32) -> Option<Result<u32, u32>> {
        let _ = (at, current, new);
        None
    }
}
