// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rings of descriptors, which the card and one CPU share: who has which buffer. Pure.
//!
//! A descriptor is the card's from the moment when the tail register passes it until the card sets its bit `DD`. `card.rs`
//! has the registers and the buffers; here is nothing but numbers in memory. Receive descriptors are the 82574's
//! extended ones ("Extended Rx Descriptor") and the 82576's advanced ones ("Advanced Receive Descriptors"), which agree in
//! all that is used; transmit descriptors are TCP/IP data descriptors and advanced data descriptors.

use core::sync::atomic::{AtomicU64, Ordering};

/// Descriptors of a ring. Its length in bytes must be a multiple of 128.
pub const ENTRIES: usize = 32;
const LAST: u32 = ENTRIES as u32 - 1;

/// The card is done with it, and the frame ends in it (both directions have `DD` in the second word).
const ARRIVED: u64 = 1;
const WHOLE: u64 = 1 << 1;
const FAULTY: u64 = 1 << 31;
const LENGTH_SHIFT: u32 = 32;
const SENT: u64 = 1 << 32;
/// The frame ends here; the card adds its checksum; the card says when it is sent; the descriptor is not of the oldest kind.
const LEAVE: u64 = (1 | 1 << 1 | 1 << 3 | 1 << 5) << 24;

/// Which form of transmit descriptor the card reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// 82574: data of kind 1.
    Extended,
    /// 82576: data of kind 3, which names the length of the frame once more.
    Advanced,
}

#[repr(C, align(16))]
#[derive(Default)]
pub struct Descriptor {
    /// Where the buffer is; of a frame that has arrived, what the card makes of it.
    place: AtomicU64,
    /// Commands and state.
    state: AtomicU64,
}

impl Descriptor {
    pub const fn new() -> Self {
        Self { place: AtomicU64::new(0), state: AtomicU64::new(0) }
    }
}

/// The buffers of a direction, which lie behind each other.
#[derive(Debug, Clone, Copy)]
pub struct Buffers {
    /// The first one's physical address.
    pub at: u64,
    /// Of each.
    pub bytes: usize,
}

/// What arrives: all buffers are the card's, apart from the one that is being read.
pub struct Arriving {
    ring: &'static [Descriptor],
    buffers: Buffers,
    next: u32,
    /// The card does not know of the newest so many that it has got back.
    untold: u32,
}

/// A frame in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    pub buffer: usize,
    /// 0: it is not whole.
    pub bytes: usize,
}

impl Arriving {
    /// The card knows of an untold one this late, so that it seldom waits for one, and is seldom told.
    const PATIENCE: u32 = 8;

    pub fn new(ring: &'static [Descriptor], buffers: Buffers) -> Self {
        let arriving = Self { ring, buffers, next: 0, untold: 0 };
        (0..ENTRIES as u32).for_each(|slot| arriving.offer(slot));
        arriving
    }

    /// The tail register's first value: the card has all but one, for an empty ring and a full one would look alike.
    pub const FIRST_TAIL: u32 = LAST;

    /// The next frame, if there is one. It stays until [`Arriving::done`].
    pub fn next(&self) -> Option<Arrived> {
        let state = self.ring.get(self.next as usize)?.state.load(Ordering::Acquire);
        if state & ARRIVED == 0 {
            return None;
        }
        let bytes = (state >> LENGTH_SHIFT) as u16;
        let good = state & WHOLE != 0 && state & FAULTY == 0 && usize::from(bytes) <= self.buffers.bytes;
        Some(Arrived { buffer: self.next as usize, bytes: if good { bytes.into() } else { 0 } })
    }

    /// The frame was read. `Some`: the tail register's new value.
    pub fn done(&mut self) -> Option<u32> {
        self.offer(self.next);
        self.next = after(self.next);
        self.untold += 1;
        if self.untold >= Self::PATIENCE { self.tell() } else { None }
    }

    /// As [`Arriving::done`], before nobody looks for a while.
    pub fn tell(&mut self) -> Option<u32> {
        let told = core::mem::take(&mut self.untold) != 0;
        told.then_some((self.next + LAST) % ENTRIES as u32)
    }

    fn offer(&self, slot: u32) {
        if let Some(descriptor) = self.ring.get(slot as usize) {
            descriptor.place.store(self.buffers.place(slot), Ordering::Relaxed);
            descriptor.state.store(0, Ordering::Release);
        }
    }
}

/// What leaves: buffers from `oldest` to `next` are the card's.
pub struct Leaving {
    ring: &'static [Descriptor],
    buffers: Buffers,
    form: Form,
    oldest: u32,
    next: u32,
}

impl Leaving {
    pub fn new(ring: &'static [Descriptor], buffers: Buffers, form: Form) -> Self {
        Self { ring, buffers, form, oldest: 0, next: 0 }
    }

    /// The buffer for the next frame. `None`: the card has all.
    pub fn free(&mut self) -> Option<usize> {
        while self.oldest != self.next && self.is_sent(self.oldest) {
            self.oldest = after(self.oldest);
        }
        (after(self.next) != self.oldest).then_some(self.next as usize)
    }

    /// Sends so many bytes of the buffer that [`Leaving::free`] named: the tail register's new value.
    pub fn send(&mut self, bytes: usize) -> u32 {
        let length = bytes as u64;
        let state = match self.form {
            Form::Extended => LEAVE | 1 << 20 | length,
            Form::Advanced => LEAVE | 3 << 20 | length | length << 46,
        };
        if let Some(descriptor) = self.ring.get(self.next as usize) {
            descriptor.place.store(self.buffers.place(self.next), Ordering::Relaxed);
            descriptor.state.store(state, Ordering::Release);
        }
        self.next = after(self.next);
        self.next
    }

    fn is_sent(&self, slot: u32) -> bool {
        self.ring.get(slot as usize).is_some_and(|descriptor| descriptor.state.load(Ordering::Acquire) & SENT != 0)
    }
}

fn after(slot: u32) -> u32 {
    (slot + 1) % ENTRIES as u32
}

impl Buffers {
    fn place(self, slot: u32) -> u64 {
        self.at + u64::from(slot) * self.bytes as u64
    }
}

const _: () = assert!(size_of::<[Descriptor; ENTRIES]>().is_multiple_of(128));

#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;
