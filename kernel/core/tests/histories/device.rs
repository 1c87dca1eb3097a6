// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A fake device: it has the frames of a CPU's call until the history says that it is done, failed, or was taken away.

use crate::processor::Seat;
use std::cell::{Cell, RefCell};
use tacet_pico::{Descriptors, Direction, FastPath, Forward, Grant, Look, Piece, Request, Standing, Transfer};

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

/// It has no more calls at a time.
pub const MOST_CALLS: usize = 3;

/// The device's part of one CPU's calls.
pub struct DeviceState {
    parts: RefCell<Vec<Part>>,
    begun: Cell<u32>,
    /// So many calls use the grant.
    using: Cell<u32>,
    /// What Linux thinks of the grant; and whether it has dropped what it knew of the blocks.
    standing: Cell<Standing>,
    settled: Cell<bool>,
    pub complaints: Cell<u32>,
    /// Of the file, if Linux has given it to the CPU.
    pub position: Cell<Option<u64>>,
    /// How often it was given something.
    pub portions: Cell<u32>,
    /// The most calls that it has had at the same time.
    pub most: Cell<usize>,
}

/// The part of a call that the device has.
struct Part {
    number: u32,
    /// It reaches these.
    frames: Vec<u64>,
    /// How it ends, once it has. `None`: the device is at work.
    outcome: Option<Look>,
}

impl Default for DeviceState {
    fn default() -> Self {
        let (parts, begun, using) = Default::default();
        let (complaints, position, portions, most) = Default::default();
        let (standing, settled) = (Cell::new(Standing::Valid), Cell::new(false));
        Self { parts, begun, using, standing, settled, complaints, position, portions, most }
    }
}

impl DeviceState {
    /// Linux revokes the grant.
    pub fn revoke(&self, standing: Standing) {
        self.standing.set(standing);
        self.settled.set(false);
    }

    /// Linux drops what it knew of the blocks, which it does when no core uses the grant.
    pub fn settle(&self) {
        assert_eq!(self.using.get(), 0, "a core uses the grant");
        self.settled.set(true);
    }

    pub fn has_ended(&self) -> bool {
        self.standing.get() == Standing::Ended
    }

    pub fn is_used(&self) -> bool {
        self.using.get() != 0
    }

    pub fn is_at_work(&self) -> bool {
        self.parts.borrow().iter().any(|part| part.outcome.is_none())
    }

    /// Whether it has frames of any.
    pub fn reaches(&self, frame: impl Fn(u64) -> bool) -> bool {
        self.parts.borrow().iter().any(|part| part.frames.iter().any(|&reached| frame(reached)))
    }

    /// The device does the first of what it has to, and reaches its memory no more.
    pub fn finish(&self, outcome: Look) {
        self.finish_nth(0, outcome);
    }

    /// The same with another one.
    pub fn finish_nth(&self, nth: usize, outcome: Look) {
        let mut parts = self.parts.borrow_mut();
        let mut at_work: Vec<_> = parts.iter_mut().filter(|part| part.outcome.is_none()).collect();
        let count = at_work.len();
        if count != 0 {
            let part = &mut *at_work[nth % count];
            part.frames.clear();
            part.outcome = Some(outcome);
        }
    }

    pub fn check_unused(&self) {
        assert!(self.using.get() == 0 && self.parts.borrow().is_empty(), "a grant is used for ever");
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
    /// Which part.
    type Flight = u32;

    fn find(&self, _: Descriptors, descriptor: i32) -> Option<()> {
        self.0.pause();
        let found = descriptor as u64 == DESCRIPTOR;
        self.state().using.set(self.state().using.get() + u32::from(found));
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
    ) -> Result<(u32, u32), Forward> {
        let state = self.state();
        if state.parts.borrow().len() == MOST_CALLS {
            return Err(Forward::Busy);
        }
        let pages = (transfer.bytes / 4096).min(PORTION_PAGES);
        let frames: Option<Vec<u64>> = pieces.take(pages as usize).map(|piece| Some(piece?.address >> 12)).collect();
        let frames = frames.ok_or(Forward::Buffer)?;
        assert_eq!(frames.len(), pages as usize);
        assert!(matches!(transfer.direction, Direction::Read | Direction::Write));
        let number = state.begun.get();
        state.parts.borrow_mut().push(Part { number, frames, outcome: None });
        state.begun.set(number + 1);
        state.portions.set(state.portions.get() + 1);
        state.most.set(state.most.get().max(state.parts.borrow().len()));
        Ok((number, pages * 4096))
    }

    fn flush(&self, (): ()) -> Result<Option<u32>, Forward> {
        Ok(None)
    }

    fn position(&self, (): ()) -> Option<u64> {
        self.state().position.get()
    }

    fn set_position(&self, (): (), position: u64) {
        self.state().position.set(Some(position));
    }

    fn look(&self, (): (), number: &u32) -> Look {
        self.0.pause();
        let mut parts = self.state().parts.borrow_mut();
        let index = parts.iter().position(|part| part.number == *number).expect("a look at a call that is over");
        match parts[index].outcome {
            Some(outcome) => {
                parts.remove(index);
                outcome
            }
            None => Look::Wait,
        }
    }

    fn await_news(&self, (): (), _: &u32, _: u32) {
        self.0.pause();
    }

    fn complain(&self, (): ()) {
        self.state().complaints.set(self.state().complaints.get() + 1);
    }

    fn standing(&self, (): ()) -> Standing {
        self.state().standing.get()
    }

    fn is_settled(&self, (): ()) -> bool {
        self.0.pause();
        self.state().settled.get()
    }

    fn count(&self, (): (), _: Result<Option<&Transfer>, Forward>) {}

    fn leave(&self, (): ()) {
        let using = self.state().using.get();
        self.state().using.set(using.checked_sub(1).expect("nobody uses the grant"));
        assert!(self.state().parts.borrow().len() < using as usize, "the device is still at work");
    }
}
