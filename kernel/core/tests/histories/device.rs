// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A fake device: it has the frames of a CPU's call until the history says that it is done, failed, or was taken away.

use crate::processor::Seat;
use std::cell::{Cell, RefCell};
use tacet_pico::{Direction, FastPath, Forward, Grant, Look, Request, Transfer};

/// The descriptor that Linux granted to every process.
pub const DESCRIPTOR: u64 = 3;
const GRANT: Grant = Grant { reads: true, writes: true, namespace: 1, sector_shift: 12, first: 0, count: 16 };

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

    fn begin(&self, (): (), transfer: &Transfer, pages: &mut dyn Iterator<Item = Option<u64>>) -> Result<(), Forward> {
        let frames: Option<Vec<u64>> = pages.map(|page| Some(page? >> 12)).collect();
        let frames = frames.ok_or(Forward::Buffer)?;
        assert_eq!(frames.len(), transfer.pages() as usize);
        assert!(matches!(transfer.direction, Direction::Read | Direction::Write));
        self.state().frames.replace(frames);
        self.state().outcome.set(None);
        Ok(())
    }

    fn look(&self, (): (), (): &mut ()) -> Look {
        self.0.pause();
        self.state().outcome.get().unwrap_or(Look::Wait)
    }

    fn complain(&self, (): ()) {
        self.state().complaints.set(self.state().complaints.get() + 1);
    }

    fn end(&self, (): (), _: Result<&Transfer, Forward>) {
        assert!(self.state().using.replace(false) && !self.state().is_at_work(), "the device is still at work");
    }
}
