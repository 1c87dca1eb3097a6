// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core that has nothing to run: it halts, until the doorbell rings or until a time.
//!
//! The time is kept by the core's own timer, which is on only here: a core that runs a
//! program has no timer interrupt. How fast the timer counts nobody says; the core learns
//! it, and rather believes it slower than it is: woken too early it looks, and halts again.

use crate::core_local::Core;
use crate::{apic, entry, registers};
use core::cell::Cell;
use tacet_abi::{TACET_MODE_IDLE, TACET_MODE_KERNEL, TACET_MODE_SPINNING};
use tacet_logic::deadlines::Clock;

/// About what a halt, a doorbell and the way back take.
const SPIN_NS: u64 = 5_000;
/// A halt for less than this is not worth its beginning and end.
const SHORTEST_HALT_NS: u64 = 20_000;
/// To learn the timer's rate.
const LESSON_NS: u64 = 20_000;

/// What a core knows of its timer.
#[derive(Debug, Default)]
pub struct Alarm {
    /// How far it counts while the time-stamp counter does 2^32; 0: not known yet. Never too much.
    rate: Cell<u64>,
}

impl Alarm {
    /// It counted so far within so many ticks of the other one.
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

impl Core {
    /// Linux's clock as last read, if it can be told by the time-stamp counter.
    pub fn clock(&self) -> Option<Clock> {
        let (tsc, monotonic_ns) = self.shared.clock()?;
        Some(Clock { tsc, monotonic_ns, tsc_khz: self.tsc_khz })
    }

    /// The same where it cannot.
    pub fn unread_clock(&self) -> Clock {
        Clock::unread(self.now(), self.tsc_khz)
    }

    /// The time-stamp counter.
    pub fn now(&self) -> u64 {
        registers::time_stamp()
    }

    /// Sleeps until the doorbell rings, or for so many ticks of the time-stamp counter, or
    /// for less; returns at once if it has rung. While one of its threads waits for another core it
    /// first looks for a while whether that thread is `woken`: for as long as a sleep and its end would take.
    pub fn idle(&self, woken: impl Fn() -> bool, ticks: Option<u64>) {
        let end = ticks.map(|ticks| registers::time_stamp().saturating_add(ticks));
        let left = || end.map_or(u64::MAX, |end| end.saturating_sub(registers::time_stamp()));
        if self.shared.blocked() != 0 {
            self.shared.announce_mode(TACET_MODE_SPINNING);
            let patience = if left() < self.ticks(SHORTEST_HALT_NS) { SHORTEST_HALT_NS } else { SPIN_NS };
            self.spin(patience, || woken() || self.shared.wanted() || left() == 0);
        }
        self.shared.announce_mode(TACET_MODE_IDLE);
        // Who wakes a thread from here on rings.
        if !woken() && left() > 0 {
            match end {
                None => entry::idle(self.local),
                Some(_) => self.doze(left()),
            }
        }
        self.shared.set_mode(TACET_MODE_KERNEL);
    }

    /// Halts with the timer on.
    fn doze(&self, ticks: u64) {
        if self.alarm.rate.get() == 0 {
            self.learn();
        }
        let begun = registers::time_stamp();
        let count = self.alarm.count(ticks).max(1);
        apic::begin_alarm(count);
        let mut vector = entry::doze(self.local);
        if apic::is_alarm(vector) {
            self.shared.count_alarm();
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
        apic::end_alarm();
    }

    /// Sees how far the timer counts in a while.
    fn learn(&self) {
        let begun = registers::time_stamp();
        apic::begin_alarm(u32::MAX);
        self.spin(LESSON_NS, || false);
        let left = apic::stop_alarm();
        apic::end_alarm();
        self.alarm.learn(u32::MAX - left, registers::time_stamp().wrapping_sub(begun));
    }

    fn end_interrupt(&self, vector: u64) {
        if vector != apic::SPURIOUS_VECTOR {
            apic::end_of_interrupt();
        }
        if !apic::is_alarm(vector) {
            self.shared.count_foreign(vector as u8);
        }
    }

    fn ticks(&self, ns: u64) -> u64 {
        ns * self.tsc_khz / 1_000_000
    }
}
