// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls of this CPU's threads whose commands devices have.
//!
//! `syscall/flight.rs` begins and ends them; the CPU's loop looks at those whose threads wait (`run/devices.rs`).

use core::cell::Cell;
use tacet_pico::{Buffers, Transfer};

/// As many of a CPU at the same time; they are on its stack.
pub const MOST: usize = 12;

/// By thread. A program without any pays one look at `count`.
pub struct Flights<F> {
    count: Cell<u32>,
    flights: [Cell<Option<(u32, F)>>; MOST],
}

impl<F: Copy> Flights<F> {
    pub const fn new() -> Self {
        Self { count: Cell::new(0), flights: [const { Cell::new(None) }; MOST] }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    pub fn is_full(&self) -> bool {
        self.count.get() as usize == MOST
    }

    /// None of another thread.
    #[inline]
    pub fn is_empty_but_for(&self, number: u32) -> bool {
        self.is_empty() || self.is_only(number)
    }

    #[cold]
    #[inline(never)]
    fn is_only(&self, number: u32) -> bool {
        self.count.get() == 1 && self.has(number)
    }

    /// The thread's call is one of them.
    #[inline]
    pub fn has(&self, number: u32) -> bool {
        !self.is_empty() && self.find(number).is_some()
    }

    #[inline]
    pub fn get(&self, number: u32) -> Option<F> {
        if self.is_empty() { None } else { self.find(number) }
    }

    #[cold]
    #[inline(never)]
    fn find(&self, number: u32) -> Option<F> {
        self.all().find_map(|(of, flight)| (of == number).then_some(flight))
    }

    /// False: there are too many.
    pub fn put(&self, number: u32, flight: F) -> bool {
        let place = |of: Option<u32>| self.flights.iter().find(|place| place.get().map(|(of, _)| of) == of);
        let Some(place) = place(Some(number)).or_else(|| place(None)) else { return false };
        if place.replace(Some((number, flight))).is_none() {
            self.count.set(self.count.get() + 1);
        }
        true
    }

    pub fn remove(&self, number: u32) {
        let place = self.flights.iter().find(|place| place.get().is_some_and(|(of, _)| of == number));
        if place.and_then(Cell::take).is_some() {
            self.count.set(self.count.get() - 1);
        }
    }

    /// The one in this place of all [`MOST`], if one is.
    pub fn at(&self, place: usize) -> Option<(u32, F)> {
        self.flights.get(place).and_then(Cell::get)
    }

    pub fn all(&self) -> impl Iterator<Item = (u32, F)> {
        self.flights.iter().filter_map(Cell::get)
    }
}

/// One call.
#[derive(Clone, Copy)]
pub struct Flight<U, F> {
    pub used: U,
    /// `None`: other calls have all commands, and this one waits for some.
    pub device: Option<F>,
    /// `None`: a flush.
    pub work: Option<Work>,
    /// Since when the device has it.
    pub since: u64,
    pub complained: bool,
    /// All is written, and the grant, which Linux has revoked, is not used any more: the call's end waits for Linux.
    pub left: bool,
}

/// Data that a call moves.
#[derive(Clone, Copy)]
pub struct Work {
    pub transfer: Transfer,
    pub buffers: Buffers,
    /// All that is used of the program's memory.
    pub extent: (u64, u64),
    /// Bytes that have been moved, and those that the device has.
    pub done: u32,
    pub begun: u32,
    /// What the program asked for.
    pub asked: u32,
    /// The file's position when the call has ended, if it moves it.
    pub position: Option<u64>,
}

impl Work {
    pub fn new(transfer: Transfer, buffers: Buffers, extent: (u64, u64), position: Option<u64>) -> Self {
        Self { transfer, buffers, extent, done: 0, begun: 0, asked: transfer.bytes, position }
    }
}

impl<U, F> Flight<U, F> {
    /// Nothing of it needs the thread's memory any more.
    pub fn may_wait(&self) -> bool {
        self.work.is_none_or(|work| match work.buffers {
            Buffers::One(_) => true,
            Buffers::Vector { .. } => {
                (self.device.is_some() || self.left) && work.done + work.begun >= work.transfer.bytes
            }
        })
    }
}
