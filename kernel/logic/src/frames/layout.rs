// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The blocks of physical memory, and the numbering of their records.
//!
//! Slots are dense: the first frame of the lowest block has slot 0. Never
//! changes after it is made, so every core reads it without a lock.

use super::records::{NODES, NONE};
use crate::order;

/// A run of frames that Linux gave: any length, any alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    first: u64,
    frames: u32,
    node: u8,
    slot: u32,
}

/// Why blocks cannot be used; the number is the first frame of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLayout {
    /// It has no frame.
    Empty(u64),
    /// It reaches beyond what a page-table entry can name.
    Beyond(u64),
    /// It shares frames with the block before it.
    Overlaps(u64),
    /// Its node is not below [`NODES`].
    Node(u64),
    /// All blocks together have more frames than slots can be numbered.
    TooMany(u64),
}

/// All blocks, lowest first.
#[derive(Clone, Copy)]
pub struct Layout<'a> {
    blocks: &'a [Block],
}

/// Physical addresses have 52 bits.
const FRAMES_END: u64 = 1 << 40;

impl Block {
    /// `frames` frames from `first` on, near NUMA node `node`.
    pub const fn new(first: u64, frames: u32, node: u8) -> Self {
        Self { first, frames, node, slot: 0 }
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
    pub(super) const fn slot_of(&self, frame: u64) -> u32 {
        // The difference is below `frames`, a u32.
        self.slot + (frame - self.first) as u32
    }
}

impl<'a> Layout<'a> {
    /// Sorts and numbers `blocks`, which are few.
    pub fn new(blocks: &'a mut [Block]) -> Result<Self, BadLayout> {
        order::sort_by_key(blocks, |block| block.first);
        let (mut end, mut slots) = (0, 0u32);
        for block in blocks.iter_mut() {
            let first = block.first;
            if block.frames == 0 {
                return Err(BadLayout::Empty(first));
            }
            if first >= FRAMES_END || block.end() > FRAMES_END {
                return Err(BadLayout::Beyond(first));
            }
            if first < end {
                return Err(BadLayout::Overlaps(first));
            }
            if usize::from(block.node) >= NODES {
                return Err(BadLayout::Node(first));
            }
            end = block.end();
            block.slot = slots;
            // NONE itself is no slot, so it may be the number of slots at most.
            slots = slots.checked_add(block.frames).filter(|&slots| slots < NONE).ok_or(BadLayout::TooMany(first))?;
        }
        Ok(Self { blocks })
    }

    /// How many records the table must have.
    pub fn slots(&self) -> u32 {
        self.blocks.last().map_or(0, |block| block.slot + block.frames)
    }

    /// The blocks, lowest first.
    pub fn blocks(&self) -> &'a [Block] {
        self.blocks
    }

    /// The block that `frame` is in. O(log blocks).
    pub fn block(&self, frame: u64) -> Option<&'a Block> {
        let after = self.blocks.partition_point(|block| block.first <= frame);
        self.blocks.get(after.checked_sub(1)?).filter(|block| frame < block.end())
    }

    /// The frame whose record is at `slot`. O(log blocks).
    pub(super) fn frame(&self, slot: u32) -> Option<u64> {
        let after = self.blocks.partition_point(|block| block.slot <= slot);
        let block = self.blocks.get(after.checked_sub(1)?)?;
        let frame = block.first + u64::from(slot - block.slot);
        (frame < block.end()).then_some(frame)
    }
}
