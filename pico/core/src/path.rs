// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a fast path is given, and what it answers: the guide to the next device.
//!
//! A core begins a call, looks until it is over, and ends it. Between two looks it serves what Linux asks of it and runs
//! other threads, whose calls may be in flight at the same time. But the calling thread stays until its call is over, even
//! if it is killed: the device may still write into its memory.

use crate::buffers::Piece;
use crate::grant::{Forward, Request, Transfer};

/// A thread's descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    /// The address space, whose grants these may be.
    pub space: u32,
    /// The table: threads of one space may have several, in which a number means different files.
    pub table: u64,
}

/// One core's way to all devices that Linux granted.
pub trait FastPath {
    /// A grant that this core uses. Linux takes a grant back only when no core uses it.
    type Used: Copy;
    /// A call whose commands the device has.
    type Flight: Copy;

    /// The grant for a descriptor, if there is one, is used from here on.
    fn find(&self, of: Descriptors, descriptor: i32) -> Option<Self::Used>;

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

    /// What Linux thinks of a grant that is used. What the device has completed before comes before this look.
    fn standing(&self, used: Self::Used) -> Standing;

    /// The grant is not used any more: nothing of the call is left but its answer.
    fn leave(&self, used: Self::Used);

    /// Of a grant that was left after Linux had revoked it: Linux has dropped what it knew of the blocks, so that whoever
    /// looks at them sees what was written.
    fn is_settled(&self, used: Self::Used) -> bool;

    /// The transfer or the flush is done, or the call forwarded.
    fn count(&self, used: Self::Used, answer: Result<Option<&Transfer>, Forward>);
}

/// Whether a grant still allows what it did when a call began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Valid,
    /// No further command. The descriptor means the same file: Linux can execute the call.
    Revoked,
    /// No further command, and the descriptor may mean another file: the call must not begin again.
    Ended,
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

    fn find(&self, _: Descriptors, _: i32) -> Option<Self> {
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

    fn standing(&self, _: Self) -> Standing {
        match *self {}
    }

    fn leave(&self, _: Self) {
        match *self {}
    }

    fn is_settled(&self, _: Self) -> bool {
        match *self {}
    }

    fn count(&self, _: Self, _: Result<Option<&Transfer>, Forward>) {
        match *self {}
    }
}
