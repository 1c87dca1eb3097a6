// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls of this CPU's threads whose commands devices have.
//!
//! `syscall/flight.rs` begins and ends them; the CPU's loop looks at those whose threads wait ([`Cpu::end_flights`]) each
//! time that it serves requests: when a thread leaves, at each doorbell, and all the time while it has nothing to run.
//! No thread of these leaves the CPU before its device is done.

use crate::cpu::Cpu;
use crate::host::Host;
use crate::place::Place;
use crate::syscall::flight;
use core::cell::Cell;

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

    pub fn all(&self) -> impl Iterator<Item = (u32, F)> {
        self.flights.iter().filter_map(Cell::get)
    }
}

impl<H: Host> Cpu<H> {
    /// Lets waiting threads continue whose devices are done.
    #[inline]
    pub(crate) fn end_flights(&mut self) {
        if !self.flights.is_empty() {
            self.look_at_flights();
        }
    }

    #[inline(never)]
    fn look_at_flights(&mut self) {
        for index in 0..MOST {
            let flight = self.flights.flights.get(index).and_then(Cell::get);
            if let Some((number, flight)) = flight
                && self.place(number) == Place::WaitsForDevice
            {
                flight::look_aside(self, number, flight);
            }
        }
        self.host.count_progress();
    }
}
