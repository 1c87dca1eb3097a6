// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Translations that are not so any more, taken out of another core's TLB.
//!
//! The core [`announce`]s the root of an address space, then loads it; it leaves one in the opposite order. A core
//! that has changed the tables below a root [requests](Flushes::request) a flush of each other core, then waits until
//! all that it asked have acknowledged. Either a core finds the new tables, or its announcement is found. Linux does
//! the same (`flush_cores`).
//!
//! The core answers in its bell's interrupt, in whatever it is: reads `requested`, forgets everything of the loaded
//! address space, writes what it has read to `acknowledged`, with release ordering. A request that comes after the
//! first step rings again. A core that rests (`idle.rs`) leaves the address space instead of flushing it, and
//! acknowledges that: it is not rung again before it has announced and loaded one.

use crate::atomic::Atomic64;
use core::sync::atomic::Ordering;

/// What a core shares with those that ask it.
#[derive(Debug)]
pub struct Flushes<'a, A> {
    /// The root that it has loaded, or is about to; 0: none that maps a program.
    pub active_root: &'a A,
    /// Requests so far.
    pub requested: &'a A,
    /// How many of them are answered.
    pub acknowledged: &'a A,
}

/// This core is about to load `root`, or has ceased to have any (0).
#[inline]
pub fn announce<A: Atomic64>(active_root: &A, root: u64) {
    active_root.store(root, Ordering::SeqCst);
}

impl<A: Atomic64> Flushes<'_, A> {
    /// Asks for a flush of the address space `root` (0: of any), which is changed already. None: the core has nothing
    /// of it, or is `silent` and will be stopped; else what to wait for.
    #[inline]
    pub fn request(&self, root: u64, silent: impl FnOnce() -> bool, ring: impl FnOnce()) -> Option<u64> {
        A::fence(Ordering::SeqCst);
        let active = self.active_root.load(Ordering::SeqCst);
        if active == 0 || root != 0 && active != root || silent() {
            return None;
        }
        let generation = self.requested.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        ring();
        Some(generation)
    }

    /// The core has forgotten what it had when that was requested.
    #[inline]
    pub fn is_done(&self, generation: u64) -> bool {
        // Acquires the core's last use of what it has forgotten.
        self.acknowledged.load(Ordering::Acquire).wrapping_sub(generation) as i64 >= 0
    }
}
