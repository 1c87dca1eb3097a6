// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The buddy system itself.
//!
//! A run of order n that is free and whose buddy (the other half of the run of
//! order n + 1 around both) is free too is one run of order n + 1: freeing
//! coalesces at once, in at most 18 steps. Buddies coalesce within a block
//! only, so memory of two nodes never becomes one run.

use super::block::Block;
use super::joined::Joined;
use super::layout::{BadLayout, FRAMES_END, Layout};
use super::lists::Lists;
use super::records::{LARGEST_ORDER, NODES, Records, State, owner_of};

/// The blocks and their records: what all cores share without a lock.
pub struct Pool<'a, R> {
    pub(super) layout: Layout<'a>,
    pub(super) records: R,
}

/// Why a frame cannot be taken back. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeError {
    /// It is not the pool's.
    Foreign,
    /// It was not handed out, or has come back already.
    NotUsed,
    /// It was handed out with this order.
    Order(u8),
    /// It is this owner's: it goes back to that one's lists.
    Owner(u8),
}

/// Why a block cannot leave. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveError {
    /// No block that joined is there.
    Foreign,
    /// Not all of it is free: some of it is out, or lies in a core's cache.
    InUse,
}

impl<'a, R: Records> Pool<'a, R> {
    /// A pool whose frames are all out; [`Pool::fill`] makes them free. `records` are all zero.
    pub const fn new(layout: Layout<'a>, records: R) -> Self {
        Self { layout, records }
    }

    /// The blocks.
    pub fn layout(&self) -> &Layout<'a> {
        &self.layout
    }

    /// What is recorded of `frame`. O(log blocks).
    pub fn state(&self, frame: u64) -> Option<State> {
        let block = self.layout.block(frame)?;
        Some(State::decode(self.records.tag(block.slot_of(frame))))
    }

    /// Whose `frame` is, the first of a run; 0: nobody's. O(log blocks).
    pub fn owner(&self, frame: u64) -> Option<u8> {
        let block = self.layout.block(frame)?;
        Some(owner_of(self.records.tag(block.slot_of(frame))))
    }

    /// Makes every frame free. Called once, with empty lists. O(blocks + GiB).
    pub fn fill(&self, lists: &mut Lists) {
        for block in self.layout.blocks() {
            let mut frame = block.first();
            while frame < block.end() {
                // The largest run that is aligned here and ends within the block.
                let fits = (block.end() - frame).ilog2().min(frame.trailing_zeros());
                let order = fits.min(u32::from(LARGEST_ORDER)) as u8;
                lists.push(&self.records, block.node(), block.slot_of(frame), order);
                frame += 1 << order;
            }
        }
    }

    /// A block of 2^`order` frames joins at `place`, all free; the records of that place are all zero.
    ///
    /// Called under the lock. O(blocks).
    pub fn join(&self, lists: &mut Lists, place: usize, first: u64, order: u8, node: u8) -> Result<(), BadLayout> {
        if !Joined::is_whole(first, order) {
            return Err(BadLayout::Uneven(first));
        }
        if first >= FRAMES_END {
            return Err(BadLayout::Beyond(first));
        }
        if usize::from(node) >= NODES {
            return Err(BadLayout::Node(first));
        }
        let (joined, end) = (self.layout.joined(), first + (1 << order));
        if joined.overlaps(first, order) || self.layout.blocks().iter().any(|b| b.first() < end && first < b.end()) {
            return Err(BadLayout::Overlaps(first));
        }
        if !self.layout.may_grow() || joined.at(place).is_some() {
            return Err(BadLayout::TooMany(first));
        }
        let block = joined.put(place, first, order, node).ok_or(BadLayout::TooMany(first))?;
        lists.push(&self.records, node, block.slot_of(first), order);
        Ok(())
    }

    /// The block at `place` leaves if all of it is free: then it is one run, since freeing coalesces at once.
    ///
    /// Called under the lock. O(1).
    pub fn leave(&self, lists: &mut Lists, place: usize) -> Result<(), LeaveError> {
        let (block, order) = self.layout.joined().at(place).ok_or(LeaveError::Foreign)?;
        let slot = block.slot_of(block.first());
        if self.records.tag(slot) != State::Free(order).encode() {
            return Err(LeaveError::InUse);
        }
        lists.unlink(&self.records, block.node(), slot, order);
        self.layout.joined().clear(place);
        Ok(())
    }

    /// A run of 2^`order` frames, from the first of `nodes` that has one.
    ///
    /// The list is the policy: one node is strict, more are the fallback in
    /// their order. Called under the lock. O(nodes + log blocks).
    pub fn allocate(&self, lists: &mut Lists, order: u8, nodes: &[u8]) -> Option<u64> {
        nodes.iter().find_map(|&node| self.allocate_as(lists, order, node, State::Used(order)))
    }

    /// Takes a run back and coalesces it. Called under the lock. O(log blocks).
    pub fn free(&self, lists: &mut Lists, frame: u64, order: u8) -> Result<(), FreeError> {
        let block = self.layout.block(frame).ok_or(FreeError::Foreign)?;
        let owner = owner_of(self.records.tag(block.slot_of(frame)));
        if owner != lists.owner() {
            return Err(FreeError::Owner(owner));
        }
        self.change(&block, frame, State::Used(order), State::Inside)?;
        self.coalesce(lists, &block, frame, order);
        Ok(())
    }

    /// A run that is out, of whatever owner, is free from here on, and that of the owner of `lists`.
    ///
    /// Called under the lock of `lists`, by whoever has taken the run from the other owner's. O(log blocks).
    pub fn adopt(&self, lists: &mut Lists, frame: u64, order: u8) -> Result<(), FreeError> {
        let block = self.layout.block(frame).ok_or(FreeError::Foreign)?;
        self.change(&block, frame, State::Used(order), State::Inside)?;
        self.coalesce(lists, &block, frame, order);
        Ok(())
    }

    /// Any run of `lists`: its first frame and its order. Called under the lock. O(nodes + log blocks).
    pub fn allocate_any(&self, lists: &mut Lists) -> Option<(u64, u8)> {
        let (slot, order) = lists.take_any(&self.records)?;
        self.records.set_tag(slot, State::Used(order).of(lists.owner()));
        Some((self.layout.frame(slot)?, order))
    }

    /// Turns a run that is out into runs of the smaller order `to`, which then come back one by one.
    ///
    /// Needs no lock: the run is the caller's. O(2^(order - to)), the number of new runs.
    pub fn split(&self, frame: u64, order: u8, to: u8) -> Result<(), FreeError> {
        let block = self.layout.block(frame).ok_or(FreeError::Foreign)?;
        let to = to.min(order);
        self.change(&block, frame, State::Used(order), State::Used(to))?;
        let owner = owner_of(self.records.tag(block.slot_of(frame)));
        let run = frame..frame + (1 << order);
        for piece in run.step_by(1 << to) {
            self.records.set_tag(block.slot_of(piece), State::Used(to).of(owner));
        }
        Ok(())
    }

    /// A run of one node, tagged `state`.
    pub(super) fn allocate_as(&self, lists: &mut Lists, order: u8, node: u8, state: State) -> Option<u64> {
        if order > LARGEST_ORDER {
            return None;
        }
        let (slot, mut found) = lists.take(&self.records, node, order)?;
        while found > order {
            found -= 1;
            lists.push(&self.records, node, slot + (1 << found), found);
        }
        self.records.set_tag(slot, state.of(lists.owner()));
        self.layout.frame(slot)
    }

    /// Changes the state of the run at `frame` if it is `current`; its owner stays.
    pub(super) fn change(&self, block: &Block, frame: u64, current: State, new: State) -> Result<(), FreeError> {
        let slot = block.slot_of(frame);
        let owner = owner_of(self.records.tag(slot));
        if self.records.exchange_tag(slot, current.of(owner), new.of(owner)) {
            return Ok(());
        }
        match State::decode(self.records.tag(slot)) {
            State::Used(order) => Err(FreeError::Order(order)),
            _ => Err(FreeError::NotUsed),
        }
    }

    /// Joins a run that is in no list with its free buddies, and lists what results.
    pub(super) fn coalesce(&self, lists: &mut Lists, block: &Block, frame: u64, order: u8) {
        let (mut frame, mut order) = (frame, order);
        while order < LARGEST_ORDER {
            let buddy = frame ^ (1 << order);
            if buddy < block.first() || buddy + (1 << order) > block.end() {
                break;
            }
            let slot = block.slot_of(buddy);
            if self.records.tag(slot) != State::Free(order).of(lists.owner()) {
                break;
            }
            lists.unlink(&self.records, block.node(), slot, order);
            frame = frame.min(buddy);
            order += 1;
        }
        lists.push(&self.records, block.node(), block.slot_of(frame), order);
    }
}
