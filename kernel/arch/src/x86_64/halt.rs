// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Halting until a time.
//!
//! The time is kept by the CPU's own timer, which is on only here: a CPU that runs a program has no timer interrupt.
//! Nothing tells how fast the timer counts. The CPU learns it, and rather believes it slower than it is: woken too
//! early, it looks and halts again.

use super::cpu::Cpu;
use super::{apic, entry, registers};
use crate::Processor;
use core::cell::Cell;

/// To learn the timer's rate.
const LESSON_NS: u64 = 20_000;

/// What a CPU knows of its timer.
#[derive(Debug, Default)]
pub struct Alarm {
    /// How far it counts while the time-stamp counter does 2^32; 0: not known yet. Never too much.
    rate: Cell<u64>,
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
        if self.alarm.rate.get() == 0 {
            self.learn();
        }
        let begun = registers::time_stamp();
        let count = self.alarm.count(ticks).max(1);
        apic::begin_alarm(count);
        let mut vector = entry::doze(self.local);
        if apic::is_alarm(vector) {
            self.own.count_alarm();
            self.alarm.learn(count, registers::time_stamp().wrapping_sub(begun));
        }
        apic::stop_alarm();
        // Nothing stays behind that would interrupt a program.
        loop {
            if vector != 0 {
                self.end_interrupt(vector);
            }
            vector = entry::drain();
            if vector == 0 {
                break;
            }
        }
        self.end_alarm();
    }

    /// Accepts no interrupts any more, unless this CPU listens to a device.
    fn end_alarm(&self) {
        if self.link_requests.get() == 0 {
            apic::end_alarm();
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
