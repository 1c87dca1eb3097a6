// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process's range, and the locks of its pieces: a CPU pauses while it waits for one.

use crate::memory::{BASE, RangeState};
use crate::processor::Seat;
use std::ops::Range;
use tacet_core::memory::{BREAK_PAGES, HeldRange, SharedRange};
use tacet_logic::frames::Policy;
use tacet_logic::paging::PIECE_PAGES;
use tacet_logic::ranges::Pieces;

/// A process's range.
#[derive(Clone, Copy)]
pub struct FakeRange<'s> {
    seat: Seat<'s>,
    number: usize,
}

impl<'s> FakeRange<'s> {
    pub fn new(seat: Seat<'s>, number: usize) -> Self {
        Self { seat, number }
    }

    fn state(&self) -> &RangeState {
        &self.seat.world.memory.ranges[self.number]
    }
}

impl Pieces for FakeRange<'_> {
    fn owner(&self, piece: u32) -> u16 {
        self.state().owners.borrow().get(&piece).copied().unwrap_or(0)
    }

    fn exchange(&self, piece: u32, current: u16, new: u16) -> bool {
        let same = self.owner(piece) == current;
        if same {
            self.state().owners.borrow_mut().insert(piece, new);
        }
        same
    }
}

impl<'s> SharedRange for FakeRange<'s> {
    type Held = FakeHeld<'s>;

    fn base(&self) -> u64 {
        BASE
    }

    fn is_eager(&self) -> bool {
        self.seat.world.memory.eager.get()
    }

    fn rights(&self) -> u32 {
        u32::MAX
    }

    fn top(&self) -> u32 {
        match self.state().above_break.get() {
            0 => BREAK_PAGES + 8 * PIECE_PAGES,
            pages => BREAK_PAGES + pages,
        }
    }

    fn root(&self) -> u64 {
        self.state().root.get()
    }

    fn set_root(&self, root: u64) {
        self.state().root.set(root);
    }

    fn policy(&self, _: u8) -> Policy {
        Policy::default()
    }

    fn number_of(&self, _: Policy, _: impl Fn()) -> Option<u8> {
        Some(1)
    }

    fn inherit(&self, _: &Self) {}

    fn program_break(&self) -> (u64, u64) {
        (BASE, self.state().program_break.get())
    }

    fn hold(&self, pieces: Range<u32>, waits: impl Fn()) -> FakeHeld<'s> {
        for piece in pieces.clone() {
            let holder = || self.state().held.borrow().get(&piece).copied();
            while let Some(holder) = holder() {
                assert_ne!(holder, self.seat.cpu, "a CPU waits for itself");
                waits();
                self.seat.state().waits_for_lock.set(true);
                self.seat.pause();
            }
            self.seat.state().waits_for_lock.set(false);
            self.state().held.borrow_mut().insert(piece, self.seat.cpu);
        }
        self.seat.world.memory.looks.set(0);
        FakeHeld { range: *self, pieces }
    }

    fn try_hold(&self, pieces: Range<u32>) -> Option<FakeHeld<'s>> {
        let is_free = |piece| !self.state().held.borrow().contains_key(&piece);
        pieces.clone().all(is_free).then(|| self.hold(pieces, || ()))
    }
}

pub struct FakeHeld<'s> {
    range: FakeRange<'s>,
    pieces: Range<u32>,
}

impl HeldRange for FakeHeld<'_> {
    fn is_open(&self, serial: u64) -> bool {
        self.range.state().serial.get() == serial
    }

    fn set_program_break(&self, end: u64) {
        self.range.state().program_break.set(end);
    }
}

impl Drop for FakeHeld<'_> {
    fn drop(&mut self) {
        let store = &self.range.seat.world.memory;
        store.most_looks.set(store.most_looks.get().max(store.looks.get()));
        let mut held = self.range.state().held.borrow_mut();
        held.retain(|piece, _| !self.pieces.contains(piece));
    }
}
