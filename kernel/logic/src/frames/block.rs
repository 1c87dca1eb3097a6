// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One block of frames. What it says was checked when it came to the layout or the table of those that joined.

/// A run of frames that Linux gave: any length, any alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub(super) first: u64,
    pub(super) frames: u32,
    node: u8,
    pub(super) slot: u32,
}

impl Block {
    /// `frames` frames from `first` on, near NUMA node `node`.
    pub const fn new(first: u64, frames: u32, node: u8) -> Self {
        Self { first, frames, node, slot: 0 }
    }

    pub(super) const fn at_slot(first: u64, frames: u32, node: u8, slot: u32) -> Self {
        Self { first, frames, node, slot }
    }

    /// Its first frame.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The frame after its last.
    pub const fn end(&self) -> u64 {
        self.first + self.frames as u64
    }

    /// Its NUMA node.
    pub const fn node(&self) -> u8 {
        self.node
    }

    /// The slot of one of its frames.
    pub const fn slot_of(&self, frame: u64) -> u32 {
        // The difference is below `frames`, a u32.
        self.slot + (frame - self.first) as u32
    }
}
