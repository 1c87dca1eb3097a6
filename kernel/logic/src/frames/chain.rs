// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames on their way back: unmapped, but a TLB or Linux's tables may still have them.
//!
//! Unmapping puts frames here, one for each leaf, through their own records, so
//! that any number needs no storage. When every core has flushed and Linux has
//! let go of what it had mirrored, the chain is freed. Owned by the core that
//! unmaps.

use super::cache::{Cache, Guard};
use super::pool::{FreeError, Pool};
use super::records::{NONE, Neighbours, Records, State, owner_of};

/// Runs of frames that must not be used yet.
pub struct Chain {
    head: u32,
    frames: u64,
}

impl Chain {
    /// Nothing.
    pub const fn new() -> Self {
        Self { head: NONE, frames: 0 }
    }

    /// Frames in the chain, in units of 4 KiB.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Adds a run that is out. O(log blocks), no lock.
    pub fn push<R: Records>(&mut self, pool: &Pool<R>, frame: u64, order: u8) -> Result<(), FreeError> {
        let block = pool.layout.block(frame).ok_or(FreeError::Foreign)?;
        pool.change(&block, frame, State::Used(order), State::Retired(order))?;
        let slot = block.slot_of(frame);
        pool.records.set_neighbours(slot, Neighbours { next: self.head, previous: NONE });
        self.head = slot;
        self.frames += 1 << order;
        Ok(())
    }

    /// Frees every run, through `cache`. O(runs · log blocks).
    pub fn free<R: Records, G: Guard>(&mut self, pool: &Pool<R>, lock: &G, cache: &mut Cache) -> Result<(), FreeError> {
        while let Some((frame, order)) = self.pop(pool)? {
            cache.free(pool, lock, frame, order)?;
        }
        Ok(())
    }

    /// The same frame by frame, but for those of which `kept` says that somebody has them: they stay out, and come back
    /// one by one. How many were freed. Asked here and not when a frame came into the chain, because only here is nobody
    /// else left. O(frames · log blocks).
    pub fn free_but<R: Records, G: Guard>(
        &mut self,
        pool: &Pool<R>,
        lock: &G,
        cache: &mut Cache,
        mut kept: impl FnMut(u64) -> bool,
    ) -> Result<u64, FreeError> {
        let mut freed = 0;
        while let Some((first, order)) = self.pop(pool)? {
            pool.split(first, order, 0)?;
            for frame in (first..first + (1 << order)).filter(|&frame| !kept(frame)) {
                cache.free(pool, lock, frame, 0)?;
                freed += 1;
            }
        }
        Ok(freed)
    }

    /// The run that was added last; it is out.
    fn pop<R: Records>(&mut self, pool: &Pool<R>) -> Result<Option<(u64, u8)>, FreeError> {
        if self.head == NONE {
            return Ok(None);
        }
        let slot = self.head;
        let tag = pool.records.tag(slot);
        let State::Retired(order) = State::decode(tag) else {
            return Err(FreeError::NotUsed);
        };
        let frame = pool.layout.frame(slot).ok_or(FreeError::Foreign)?;
        self.head = pool.records.neighbours(slot).next;
        self.frames -= 1 << order;
        pool.records.set_tag(slot, State::Used(order).of(owner_of(tag)));
        Ok(Some((frame, order)))
    }
}

impl Default for Chain {
    fn default() -> Self {
        Self::new()
    }
}
