// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks that come and go while the pool is in use.
//!
//! Such a block is one run, aligned to its size, from 2 MiB to 1 GiB: so one word says all of it, and a reader sees the
//! block or does not, without a lock and never in part. Its place in the table gives the slots of its frames. Only the
//! holder of the pool's lock writes.
//!
//! A core that asks for a frame that is out finds its block, because a block leaves only when none of its frames is out. So a
//! place may be used again at once.

use super::block::Block;
use super::records::{HUGE_ORDER, LARGEST_ORDER, NODES};
use core::sync::atomic::{AtomicU64, Ordering};

/// Places in the table.
pub const JOINED_BLOCKS: usize = 256;

/// The slots of place n begin at `JOINED_SLOTS + (n << 18)`, whatever block is there.
pub const JOINED_SLOTS: u32 = 0xf800_0000;

const PLACE_BITS: u32 = LARGEST_ORDER as u32;
const _: () = assert!((JOINED_BLOCKS as u64) << PLACE_BITS < (u32::MAX - JOINED_SLOTS) as u64);

const ORDER_BITS: u32 = 5;
const NODE_BITS: u32 = 5;
const _: () = assert!(NODES == 1 << NODE_BITS);

/// The table; all zero: no block.
pub struct Joined {
    /// From bit 0 on: order, node, first frame. 0: no block, since no order is 0.
    places: [AtomicU64; JOINED_BLOCKS],
    frames: AtomicU64,
}

impl Joined {
    /// No block.
    pub const fn new() -> Self {
        Self { places: [const { AtomicU64::new(0) }; JOINED_BLOCKS], frames: AtomicU64::new(0) }
    }

    /// The frames of all blocks here.
    pub fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// The block at a place, and its order.
    pub(super) fn at(&self, place: usize) -> Option<(Block, u8)> {
        decode(place, self.places.get(place)?.load(Ordering::Acquire))
    }

    /// The block that `frame` is in. O(places).
    #[inline(never)]
    pub(super) fn block(&self, frame: u64) -> Option<Block> {
        (0..JOINED_BLOCKS).find_map(|place| {
            let (block, _) = self.at(place)?;
            (block.first() <= frame && frame < block.end()).then_some(block)
        })
    }

    /// The frame whose record is at `slot`. O(1).
    #[inline(never)]
    pub(super) fn frame(&self, slot: u32) -> Option<u64> {
        let offset = slot.checked_sub(JOINED_SLOTS)?;
        let (block, _) = self.at((offset >> PLACE_BITS) as usize)?;
        let frame = block.first() + u64::from(offset & ((1 << PLACE_BITS) - 1));
        (frame < block.end()).then_some(frame)
    }

    /// Any block that shares frames with the 2^`order` from `first` on.
    pub(super) fn overlaps(&self, first: u64, order: u8) -> bool {
        let end = first + (1 << order);
        (0..JOINED_BLOCKS)
            .filter_map(|place| self.at(place))
            .any(|(block, _)| block.first() < end && first < block.end())
    }

    /// Puts a block of 2^`order` frames there; what it is called with was checked. Under the pool's lock.
    pub(super) fn put(&self, place: usize, first: u64, order: u8, node: u8) -> Option<Block> {
        let word = u64::from(order) | u64::from(node) << ORDER_BITS | first << (ORDER_BITS + NODE_BITS);
        self.places.get(place)?.store(word, Ordering::Release);
        self.frames.fetch_add(1 << order, Ordering::Relaxed);
        decode(place, word).map(|(block, _)| block)
    }

    /// The same backwards.
    pub(super) fn clear(&self, place: usize) {
        if let (Some((_, order)), Some(word)) = (self.at(place), self.places.get(place)) {
            word.store(0, Ordering::Release);
            self.frames.fetch_sub(1 << order, Ordering::Relaxed);
        }
    }

    /// Whether a block may be of this order and begin there.
    pub(super) fn is_whole(first: u64, order: u8) -> bool {
        (HUGE_ORDER..=LARGEST_ORDER).contains(&order) && first.is_multiple_of(1 << order)
    }
}

impl Default for Joined {
    fn default() -> Self {
        Self::new()
    }
}

fn decode(place: usize, word: u64) -> Option<(Block, u8)> {
    let order = (word & ((1 << ORDER_BITS) - 1)) as u8;
    let node = (word >> ORDER_BITS & ((1 << NODE_BITS) - 1)) as u8;
    let slot = JOINED_SLOTS + ((place as u32) << PLACE_BITS);
    (word != 0).then(|| (Block::at_slot(word >> (ORDER_BITS + NODE_BITS), 1 << order, node, slot), order))
}
