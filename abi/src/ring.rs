// SPDX-License-Identifier: GPL-2.0 OR MIT
//! The Rust end of `ring.h`: the same arithmetic, the same orders.
//!
//! Used by the co-kernel, and by the test that runs both ends in one process.
//! Must never index with a value it did not bound itself: the peer's counters
//! are read once, checked, then used.

use crate::generated::{TACET_RING_ENTRIES, tacet_ring};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};

/// The peer's counter cannot be: more entries than the ring has.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Corrupt;

/// What a push found.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Push {
    /// The entry is visible to the consumer.
    Done,
    /// No room.
    Full,
}

/// One end of a ring that lies in shared memory.
pub struct Ring {
    ring: NonNull<tacet_ring>,
}

impl Ring {
    /// # Safety
    /// `ring` points to a ring that stays mapped and writable for as long as the
    /// value lives; this end is its only producer or its only consumer.
    pub const unsafe fn new(ring: NonNull<tacet_ring>) -> Self {
        Self { ring }
    }

    /// Adds `value`. Producer only.
    pub fn push(&self, value: u32) -> Result<Push, Corrupt> {
        let tail = self.tail().load(Ordering::Relaxed);
        // Pairs with the consumer's release of head: the slot is free again.
        let fill = tail.wrapping_sub(self.head().load(Ordering::Acquire));
        if fill > TACET_RING_ENTRIES {
            return Err(Corrupt);
        }
        if fill == TACET_RING_ENTRIES {
            return Ok(Push::Full);
        }
        self.entry(tail).store(value, Ordering::Relaxed);
        self.tail().store(tail.wrapping_add(1), Ordering::Release);
        Ok(Push::Done)
    }

    /// Takes the oldest entry. Consumer only.
    pub fn pop(&self) -> Result<Option<u32>, Corrupt> {
        let head = self.head().load(Ordering::Relaxed);
        // Pairs with the producer's release of tail: the entry is written.
        let fill = self.tail().load(Ordering::Acquire).wrapping_sub(head);
        if fill > TACET_RING_ENTRIES {
            return Err(Corrupt);
        }
        if fill == 0 {
            return Ok(None);
        }
        let value = self.entry(head).load(Ordering::Relaxed);
        self.head().store(head.wrapping_add(1), Ordering::Release);
        Ok(Some(value))
    }

    /// Moves the tail by `distance` without writing entries: only for the test
    /// that a corrupt index is noticed.
    pub fn corrupt_tail(&self, distance: u32) {
        self.tail().fetch_add(distance, Ordering::Release);
    }

    fn tail(&self) -> &AtomicU32 {
        // SAFETY: (1) the ring is mapped for our lifetime (`new`); (2) both ends
        // access the field atomically only; (3) u32 fields are aligned.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.ring.as_ptr()).tail) }
    }

    fn head(&self) -> &AtomicU32 {
        // SAFETY: as in `tail`.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.ring.as_ptr()).head) }
    }

    fn entry(&self, counter: u32) -> &AtomicU32 {
        let index = (counter % TACET_RING_ENTRIES) as usize;
        // SAFETY: as in `tail`; the index is below the array's length.
        unsafe { AtomicU32::from_ptr((&raw mut (*self.ring.as_ptr()).entries).cast::<u32>().add(index)) }
    }
}
