// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The blocks of physical memory, and the numbering of their records.
//!
//! Slots are dense: the first frame of the lowest block has slot 0. These blocks never
//! change after the layout is made, so every core reads them without a lock. Blocks that
//! come and go are beside them ([`Joined`]).

use super::block::Block;
use super::joined::{JOINED_SLOTS, Joined};
use super::records::NODES;
use crate::order;

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
    /// All blocks together have more frames than slots can be numbered, or the place for it is taken.
    TooMany(u64),
    /// A block that joins is not one aligned run from 2 MiB to 1 GiB.
    Uneven(u64),
}

/// All blocks, lowest first.
#[derive(Clone, Copy)]
pub struct Layout<'a> {
    blocks: &'a [Block],
    joined: &'a Joined,
}

/// Of layouts whose blocks never change: nothing is ever put here, since [`Pool::join`](super::Pool::join) refuses.
static NOTHING: Joined = Joined::new();

/// Physical addresses have 52 bits.
pub(super) const FRAMES_END: u64 = 1 << 40;

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
            if usize::from(block.node()) >= NODES {
                return Err(BadLayout::Node(first));
            }
            end = block.end();
            block.slot = slots;
            let after = slots.checked_add(block.frames).filter(|&slots| slots <= JOINED_SLOTS);
            slots = after.ok_or(BadLayout::TooMany(first))?;
        }
        Ok(Self { blocks, joined: &NOTHING })
    }

    /// The same, with blocks that come and go beside those.
    pub fn with(self, joined: &'a Joined) -> Self {
        Self { joined, ..self }
    }

    /// The blocks that come and go.
    pub(super) fn joined(&self) -> &'a Joined {
        self.joined
    }

    /// Whether blocks may come.
    pub(super) fn may_grow(&self) -> bool {
        !core::ptr::eq(self.joined, &NOTHING)
    }

    /// All frames that there are now.
    pub fn frames(&self) -> u64 {
        u64::from(self.slots()) + self.joined.frames()
    }

    /// How many records the table for the blocks that never change must have.
    pub fn slots(&self) -> u32 {
        self.blocks.last().map_or(0, |block| block.slot + block.frames)
    }

    /// The blocks that never change, lowest first.
    pub fn blocks(&self) -> &'a [Block] {
        self.blocks
    }

    /// The block that `frame` is in. O(log blocks); for a block that joined, O(places for such).
    pub fn block(&self, frame: u64) -> Option<Block> {
        let after = self.blocks.partition_point(|block| block.first <= frame);
        match after.checked_sub(1).and_then(|last| self.blocks.get(last)) {
            Some(block) if frame < block.end() => Some(*block),
            _ => self.joined.block(frame),
        }
    }

    /// The frame whose record is at `slot`. O(log blocks).
    pub(super) fn frame(&self, slot: u32) -> Option<u64> {
        let after = self.blocks.partition_point(|block| block.slot <= slot);
        match after.checked_sub(1).and_then(|last| self.blocks.get(last)) {
            Some(block) if slot - block.slot < block.frames => Some(block.first + u64::from(slot - block.slot)),
            _ => self.joined.frame(slot),
        }
    }
}
