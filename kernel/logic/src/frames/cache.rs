// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core's own few frames in front of the pool (a magazine, after Bonwick and Adams 2001).
//!
//! Holds frames of the two orders that programs ask for most, 4 KiB and 2 MiB,
//! and only of the core's own NUMA node. Owned by one core, used by no one
//! else. All of them have one owner: that of what was asked for last. Only when it runs empty or full does it take the pool's lock, for half
//! of its frames at once. Of 2 x 32 frames of 4 KiB no more than one in 32
//! operations can need the lock, however allocations and frees alternate.
//!
//! What lies here cannot coalesce, and no other core can have it: at most
//! 16.25 MiB, until this core gives up a whole range and [`Cache::drain`]s.

use super::lists::Lists;
use super::pool::{FreeError, Pool};
use super::records::{HUGE_ORDER, Records, State, owner_of};

const SMALL_FRAMES: usize = 64;
const HUGE_FRAMES: usize = 8;

/// The locks around the pool's lists, as the caller has them: each owner has lists of its own.
pub trait Guard {
    /// Does `work` while no other core is at the lists of `owner` (0: of what is nobody's). `work` does not come here again.
    fn with<T>(&self, owner: u8, work: impl FnOnce(&mut Lists) -> T) -> T;
}

/// The cache of one core.
pub struct Cache {
    node: u8,
    /// The job that owns all frames in this cache; 0: none.
    owner: u8,
    small: Magazine<SMALL_FRAMES>,
    huge: Magazine<HUGE_FRAMES>,
    counts: Counts,
}

/// What a cache has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs handed out.
    pub allocated: u64,
    /// Runs taken back.
    pub freed: u64,
    /// How often the lock was taken for either.
    pub locked: u64,
}

/// Frames of one order, the one freed last on top.
struct Magazine<const N: usize> {
    frames: [u64; N],
    length: usize,
}

impl Cache {
    /// An empty cache for a core of `node`.
    pub const fn new(node: u8) -> Self {
        let (small, huge) = (Magazine::new(), Magazine::new());
        Self { node, owner: 0, small, huge, counts: Counts { allocated: 0, freed: 0, locked: 0 } }
    }

    /// What is asked for next is `owner`'s frames. O(frames in the cache) if that was another one.
    ///
    /// Large frames of an owner do not lie here: they would be what its other cores are short of.
    #[inline]
    pub fn serve<R: Records, G: Guard>(&mut self, pool: &Pool<R>, lock: &G, owner: u8) {
        if owner != self.owner {
            self.drain(pool, lock);
            self.owner = owner;
        }
    }

    /// A run of 2^`order` frames, from the first of `nodes` that has one; see [`Pool::allocate`]. That of the owner whom
    /// the cache [serves](Self::serve), at first of nobody.
    ///
    /// O(log blocks), without the lock when the cache has one.
    pub fn allocate<R: Records, G: Guard>(&mut self, pool: &Pool<R>, lock: &G, order: u8, nodes: &[u8]) -> Option<u64> {
        let cached = match order {
            _ if nodes.first() != Some(&self.node) => None,
            0 => self.small.take(pool, lock, (self.owner, self.node), 0, &mut self.counts),
            HUGE_ORDER if self.owner == 0 => self.huge.take(pool, lock, (0, self.node), HUGE_ORDER, &mut self.counts),
            _ => None,
        };
        let frame = cached.or_else(|| self.allocate_shared(pool, lock, order, nodes))?;
        self.counts.allocated += 1;
        Some(frame)
    }

    /// The same, but never with a frame whose memory is bad; `bad` says whether a run has one. Bad frames that were free
    /// until now stay out permanently.
    pub fn allocate_good<R: Records, G: Guard>(
        &mut self,
        pool: &Pool<R>,
        lock: &G,
        order: u8,
        nodes: &[u8],
        bad: impl Fn(u64, u8) -> bool,
    ) -> Option<u64> {
        loop {
            let frame = self.allocate(pool, lock, order, nodes)?;
            if !bad(frame, order) {
                return Some(frame);
            }
            self.free_good_parts(pool, lock, frame, order, &bad);
        }
    }

    /// Takes back what is good of a run with bad frames, in the largest parts.
    fn free_good_parts<R: Records, G: Guard>(
        &mut self,
        pool: &Pool<R>,
        lock: &G,
        frame: u64,
        order: u8,
        bad: &impl Fn(u64, u8) -> bool,
    ) {
        let (mut frame, mut order) = (frame, order);
        // one half has a bad frame and is divided again; if both have, the other one comes back when it is asked for
        while let Some(half) = order.checked_sub(1) {
            if pool.split(frame, order, half).is_err() {
                return;
            }
            let (low, high) = (frame, frame + (1 << half));
            let (divided, other) = if bad(low, half) { (low, high) } else { (high, low) };
            let _ = self.free(pool, lock, other, half);
            (frame, order) = (divided, half);
        }
    }

    /// Takes a run back. O(log blocks), without the lock unless the cache is full.
    pub fn free<R: Records, G: Guard>(
        &mut self,
        pool: &Pool<R>,
        lock: &G,
        frame: u64,
        order: u8,
    ) -> Result<(), FreeError> {
        let block = pool.layout.block(frame).ok_or(FreeError::Foreign)?;
        let owner = owner_of(pool.records.tag(block.slot_of(frame)));
        let fits = order == 0 || order == HUGE_ORDER && owner == 0;
        let cached = fits && owner == self.owner && block.node() == self.node;
        if cached {
            pool.change(&block, frame, State::Used(order), State::Cached(order))?;
            match order {
                0 => self.small.put(pool, lock, (owner, 0), frame, &mut self.counts),
                _ => self.huge.put(pool, lock, (owner, HUGE_ORDER), frame, &mut self.counts),
            }
        } else {
            self.counts.locked += 1;
            lock.with(owner, |lists| pool.free(lists, frame, order))?;
        }
        self.counts.freed += 1;
        Ok(())
    }

    /// Gives every cached frame to the pool. O(frames in the cache).
    pub fn drain<R: Records, G: Guard>(&mut self, pool: &Pool<R>, lock: &G) {
        self.counts.locked += 1;
        lock.with(self.owner, |lists| {
            self.small.give_oldest(pool, lists, 0, SMALL_FRAMES);
            self.huge.give_oldest(pool, lists, HUGE_ORDER, HUGE_FRAMES);
        });
    }

    /// Frames that lie here, in units of 4 KiB.
    pub fn frames(&self) -> u64 {
        self.small.length as u64 + ((self.huge.length as u64) << HUGE_ORDER)
    }

    /// What it has done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// From the pool; if that has none, what lies here may be what is missing.
    fn allocate_shared<R: Records, G: Guard>(
        &mut self,
        pool: &Pool<R>,
        lock: &G,
        order: u8,
        nodes: &[u8],
    ) -> Option<u64> {
        self.counts.locked += 1;
        let frame = lock.with(self.owner, |lists| pool.allocate(lists, order, nodes));
        if frame.is_some() || self.frames() == 0 {
            return frame;
        }
        self.drain(pool, lock);
        lock.with(self.owner, |lists| pool.allocate(lists, order, nodes))
    }
}

impl<const N: usize> Magazine<N> {
    const fn new() -> Self {
        Self { frames: [0; N], length: 0 }
    }

    /// The frame on top; half a magazine comes from the pool first if there is none.
    fn take<R: Records, G: Guard>(
        &mut self,
        pool: &Pool<R>,
        lock: &G,
        (owner, node): (u8, u8),
        order: u8,
        counts: &mut Counts,
    ) -> Option<u64> {
        if self.length == 0 {
            counts.locked += 1;
            lock.with(owner, |lists| {
                for _ in 0..N / 2 {
                    let Some(frame) = pool.allocate_as(lists, order, node, State::Cached(order)) else { return };
                    self.push(frame);
                }
            });
        }
        let frame = self.length.checked_sub(1).and_then(|top| self.frames.get(top)).copied()?;
        let block = pool.layout.block(frame)?;
        self.length -= 1;
        pool.records.set_tag(block.slot_of(frame), State::Used(order).of(owner));
        Some(frame)
    }

    /// Keeps a frame; the older half goes to the pool first if there is no room.
    fn put<R: Records, G: Guard>(
        &mut self,
        pool: &Pool<R>,
        lock: &G,
        (owner, order): (u8, u8),
        frame: u64,
        counts: &mut Counts,
    ) {
        if self.length == N {
            counts.locked += 1;
            lock.with(owner, |lists| self.give_oldest(pool, lists, order, N / 2));
        }
        self.push(frame);
    }

    fn push(&mut self, frame: u64) {
        if let Some(place) = self.frames.get_mut(self.length) {
            *place = frame;
            self.length += 1;
        }
    }

    /// Gives up to `most` frames to the pool, the oldest first.
    fn give_oldest<R: Records>(&mut self, pool: &Pool<R>, lists: &mut Lists, order: u8, most: usize) {
        let given = most.min(self.length);
        for &frame in self.frames.iter().take(given) {
            if let Some(block) = pool.layout.block(frame)
                && pool.change(&block, frame, State::Cached(order), State::Inside).is_ok()
            {
                pool.coalesce(lists, &block, frame, order);
            }
        }
        self.frames.copy_within(given..self.length, 0);
        self.length -= given;
    }
}
