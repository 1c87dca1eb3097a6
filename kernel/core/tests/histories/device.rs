// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A fake device: it has the frames of a CPU's call until the history says that it is done, failed, or was taken away.

use crate::processor::Seat;
use std::cell::{Cell, RefCell};
use tacet_pico::{Direction, FastPath, Forward, Grant, Look, Piece, Request, Transfer};

/// The descriptor that Linux granted to every process.
pub const DESCRIPTOR: u64 = 3;
const GRANT: Grant = Grant {
    reads: true,
    writes: true,
    through: false,
    cached: true,
    namespace: 1,
    sector_shift: 12,
    first: 0,
    count: 16,
};

/// It takes no more at a time.
pub const PORTION_PAGES: u32 = 8;

/// The part of one CPU's call that the device has.
#[derive(Default)]
pub struct DeviceState {
    /// It reaches these.
    pub frames: RefCell<Vec<u64>>,
    /// How it ends, once it has.
    outcome: Cell<Option<Look>>,
    /// The grant is used.
    using: Cell<bool>,
    pub complaints: Cell<u32>,
    /// Of the file, if Linux has given it to the CPU.
    pub position: Cell<Option<u64>>,
    /// How often it was given something.
    pub portions: Cell<u32>,
}

impl DeviceState {
    pub fn is_at_work(&self) -> bool {
        !self.frames.borrow().is_empty()
    }

    /// The device does what it has to, and reaches the memory no more.
    pub fn finish(&self, outcome: Look) {
        if self.is_at_work() {
            self.frames.borrow_mut().clear();
            self.outcome.set(Some(outcome));
        }
    }

    pub fn check_unused(&self) {
        assert!(!self.using.get() && !self.is_at_work(), "a grant is used for ever");
    }
}

pub struct FakeDevices<'s>(pub Seat<'s>);

impl FakeDevices<'_> {
    fn state(&self) -> &DeviceState {
        &self.0.state().device
    }
}

impl FastPath for FakeDevices<'_> {
    type Used = ();
    type Flight = ();

    fn find(&self, _: u32, descriptor: i32) -> Option<()> {
        self.0.pause();
        let found = descriptor as u64 == DESCRIPTOR;
        assert!(!found || !self.state().using.replace(true), "a CPU has one call in flight");
        found.then_some(())
    }

    fn check(&self, (): (), request: &Request) -> Result<Transfer, Forward> {
        GRANT.check(request)
    }

    /// The device has at most so many pages at a time.
    fn begin(
        &self,
        (): (),
        transfer: &Transfer,
        pieces: &mut dyn Iterator<Item = Option<Piece>>,
    ) -> Result<((), u32), Forward> {
        let pages = (transfer.bytes / 4096).min(PORTION_PAGES);
        let frames: Option<Vec<u64>> = pieces.take(pages as usize).map(|piece| Some(piece?.address >> 12)).collect();
        let frames = frames.ok_or(Forward::Buffer)?;
        assert_eq!(frames.len(), pages as usize);
        assert!(matches!(transfer.direction, Direction::Read | Direction::Write));
        self.state().frames.replace(frames);
        self.state().outcome.set(None);
        self.state().portions.set(self.state().portions.get() + 1);
        Ok(((), pages * 4096))
    }

    fn flush(&self, (): ()) -> Result<Option<()>, Forward> {
        Ok(None)
    }

    fn position(&self, (): ()) -> Option<u64> {
        self.state().position.get()
    }

    fn set_position(&self, (): (), position: u64) {
        self.state().position.set(Some(position));
    }

    fn look(&self, (): (), (): &mut ()) -> Look {
        self.0.pause();
        self.state().outcome.get().unwrap_or(Look::Wait)
    }

    fn complain(&self, (): ()) {
        self.state().complaints.set(self.state().complaints.get() + 1);
    }

    fn end(&self, (): (), _: Result<Option<&Transfer>, Forward>) {
        assert!(self.state().using.replace(false) && !self.state().is_at_work(), "the device is still at work");
    }
}
