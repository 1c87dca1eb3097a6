// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a fast path is given, and what it answers: the guide to the next device.
//!
//! A core begins a call, looks until it is over, and ends it. Between two looks it serves what Linux asks of it and runs
//! other threads, whose calls may be in flight at the same time. But the calling thread stays until its call is over, even
//! if it is killed: the device may still write into its memory.

use crate::buffers::Piece;
use crate::grant::{Forward, Request, Transfer};

/// One core's way to all devices that Linux granted.
pub trait FastPath {
    /// A grant that this core uses. Linux takes a grant back only when no core uses it.
    type Used: Copy;
    /// A call whose commands the device has.
    type Flight: Copy;

    /// The grant for a descriptor of an address space, if there is one, is used from here on.
    fn find(&self, space: u32, descriptor: i32) -> Option<Self::Used>;

    /// Whether the call is granted.
    fn check(&self, used: Self::Used, request: &Request) -> Result<Transfer, Forward>;

    /// Gives the device the commands for a transfer, or for its first part: for how many bytes. `pieces` are the physical
    /// addresses of the buffers' memory, in order; `None`: such memory cannot be used. `Err`: the device has nothing of it;
    /// [`Forward::Busy`]: not now.
    fn begin(
        &self,
        used: Self::Used,
        transfer: &Transfer,
        pieces: &mut dyn Iterator<Item = Option<Piece>>,
    ) -> Result<(Self::Flight, u32), Forward>;

    /// Makes the device keep all that it has completed. `None`: it does so by itself.
    fn flush(&self, used: Self::Used) -> Result<Option<Self::Flight>, Forward>;

    /// Where the next call begins that does not say so. `None`: Linux knows.
    fn position(&self, used: Self::Used) -> Option<u64>;

    /// Such a call has ended here.
    fn set_position(&self, used: Self::Used, position: u64);

    /// Looks whether the device is done.
    fn look(&self, used: Self::Used, flight: &Self::Flight) -> Look;

    /// Waits until [`Self::look`] may show more than [`Look::Wait`], but not long: looks so many times at most, with a
    /// [`pause`] before each look. It may end early.
    fn await_news(&self, used: Self::Used, flight: &Self::Flight, looks: u32);

    /// The device has taken long: Linux is to take it away from its commands. The call goes on waiting for that.
    fn complain(&self, used: Self::Used);

    /// The grant is not used any more; the transfer or the flush is done, or the call forwarded.
    fn end(&self, used: Self::Used, answer: Result<Option<&Transfer>, Forward>);
}

/// PAUSE instructions between two looks. One takes some 10 to 140 cycles by processor, all about 1 µs at most; a fast disk
/// needs 10 µs. Looks without them would execute ten times the instructions, and the core's other hardware thread would
/// be the slower for it.
const PAUSES: u32 = 16;

/// Between two looks, of a CPU that has nothing else to do.
#[inline]
pub fn pause() {
    for _ in 0..PAUSES {
        core::hint::spin_loop();
    }
}

/// What a look at a call in flight shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The device is at work: its memory stays.
    Wait,
    /// All data have arrived.
    Done,
    /// Linux executes the call. The device touches its memory no more.
    Forward(Forward),
}

/// Of a host without fast paths: a type without a value.
#[derive(Debug, Clone, Copy)]
pub enum NoDevices {}

impl FastPath for NoDevices {
    type Used = Self;
    type Flight = Self;

    fn find(&self, _: u32, _: i32) -> Option<Self> {
        match *self {}
    }

    fn check(&self, _: Self, _: &Request) -> Result<Transfer, Forward> {
        match *self {}
    }

    fn begin(&self, _: Self, _: &Transfer, _: &mut dyn Iterator<Item = Option<Piece>>) -> Result<(Self, u32), Forward> {
        match *self {}
    }

    fn flush(&self, _: Self) -> Result<Option<Self>, Forward> {
        match *self {}
    }

    fn position(&self, _: Self) -> Option<u64> {
        match *self {}
    }

    fn set_position(&self, _: Self, _: u64) {
        match *self {}
    }

    fn look(&self, _: Self, _: &Self) -> Look {
        match *self {}
    }

    fn await_news(&self, _: Self, _: &Self, _: u32) {
        match *self {}
    }

    fn complain(&self, _: Self) {
        match *self {}
    }

    fn end(&self, _: Self, _: Result<Option<&Transfer>, Forward>) {
        match *self {}
    }
}
