// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Halting until a time, and the turns of threads that share a CPU.
//!
//! The time is kept by the CPU's own timer, which is on only here: a CPU that runs a thread without a turn has no timer
//! interrupt. Nothing tells how fast the timer counts. The CPU learns it, and rather believes it slower than it is: woken
//! too early, it looks and sets it again.

use super::cpu::Cpu;
use super::{apic, entry, registers};
use crate::{Processor, Turn};
use core::cell::Cell;

/// To learn the timer's rate.
const LESSON_NS: u64 = 20_000;

/// What a CPU knows of its timer.
#[derive(Debug, Default)]
pub struct Alarm {
    /// How far it counts while the time-stamp counter does 2^32; 0: not known yet. Never too much.
    rate: Cell<u64>,
    /// When the running thread's turn is over, by the time-stamp counter; 0: no turn has begun.
    turn_ends: Cell<u64>,
}

impl Alarm {
    /// It counted so far within so many ticks of the time-stamp counter.
    fn learn(&self, counted: u32, ticks: u64) {
        let rate = (u64::from(counted) << 32) / ticks.max(1);
        self.rate.set(self.rate.get().max(rate));
    }

    /// What it counts in so many ticks.
    fn count(&self, ticks: u64) -> u32 {
        let count = (u128::from(ticks) * u128::from(self.rate.get())) >> 32;
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

impl Cpu {
    /// Halts with the timer on.
    pub(super) fn doze(&self, ticks: u64) {
        self.learn_once();
        if self.alarm.turn_ends.get() != 0 {
            // the turn's alarm would pass for this one's, and teach a wrong rate
            apic::stop_alarm();
            self.drain();
        }
        let begun = registers::time_stamp();
        let count = self.alarm.count(ticks).max(1);
        apic::begin_alarm(count);
        let vector = entry::doze(self.local);
        if apic::is_alarm(vector) {
            self.own.count_alarm();
            self.alarm.learn(count, registers::time_stamp().wrapping_sub(begun));
        }
        apic::stop_alarm();
        if vector != 0 {
            self.end_interrupt(vector);
        }
        self.end_alarm();
        self.set_turn();
    }

    /// A turn begins, in place of the one before.
    pub(super) fn take_turn(&self, ticks: u64) {
        self.alarm.turn_ends.set(registers::time_stamp().saturating_add(ticks).max(1));
        self.learn_once();
        self.set_turn();
    }

    pub(super) fn leave_turn(&self) {
        if self.alarm.turn_ends.replace(0) != 0 {
            apic::stop_alarm();
            self.end_alarm();
        }
    }

    #[inline]
    pub(super) fn turn_of_thread(&self) -> Turn {
        match self.alarm.turn_ends.get() {
            0 => Turn::Endless,
            ends if registers::time_stamp() < ends => Turn::Begun,
            _ => Turn::Over,
        }
    }

    /// The timer interrupts user mode when the turn is over. It may have been another's meanwhile, or early.
    fn set_turn(&self) {
        let ends = self.alarm.turn_ends.get();
        if ends != 0 {
            let ticks = ends.saturating_sub(registers::time_stamp());
            apic::begin_alarm(self.alarm.count(ticks).max(1));
        }
    }

    /// The timer has interrupted user mode. False: it was not the timer.
    pub(super) fn alarm_in_user_mode(&self, vector: u8) -> bool {
        if !apic::is_alarm(vector.into()) {
            return false;
        }
        self.own.count_alarm();
        apic::end_of_interrupt();
        if self.turn_of_thread() == Turn::Begun {
            self.set_turn();
        }
        true
    }

    /// Lets in what waits.
    fn drain(&self) {
        loop {
            match entry::drain() {
                0 => break,
                vector => self.end_interrupt(vector),
            }
        }
    }

    /// Accepts no interrupts any more, unless this CPU listens to a device. Nothing stays behind that would interrupt a
    /// program.
    fn end_alarm(&self) {
        self.drain();
        if self.link_requests.get() == 0 {
            apic::end_alarm();
        }
    }

    fn learn_once(&self) {
        if self.alarm.rate.get() == 0 {
            self.learn();
        }
    }

    /// Sees how far the timer counts in a while.
    fn learn(&self) {
        let begun = registers::time_stamp();
        apic::begin_alarm(u32::MAX);
        self.spin(LESSON_NS, || false);
        let left = apic::stop_alarm();
        self.end_alarm();
        self.alarm.learn(u32::MAX - left, registers::time_stamp().wrapping_sub(begun));
    }

    fn end_interrupt(&self, vector: u64) {
        if vector != apic::SPURIOUS_VECTOR {
            apic::end_of_interrupt();
        }
        if !apic::is_alarm(vector) {
            self.own.count_foreign(vector as u8);
            self.look_at_link(vector);
        }
    }
}
