// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals that were sent and not yet delivered, of a thread or of a process. Used by [`super::Thread`] and
//! [`super::Process`] alone.
//!
//! A standard signal is pending once; a real-time signal as often as it was sent, in that order. Infos are in a small
//! queue: if it is full, a standard signal arrives without its cause, and a real-time signal is refused, as on Linux.

use super::info::Info;
use super::number::is_real_time;
use super::set::Set;

/// Infos that fit.
pub(super) const QUEUE: usize = 16;

pub(super) struct Pending {
    set: Set,
    queue: [Info; QUEUE],
    count: usize,
}

impl Pending {
    pub const EMPTY: Self = Self { set: Set::EMPTY, queue: [Info::kernel(0); QUEUE], count: 0 };

    pub const fn set(&self) -> Set {
        self.set
    }

    /// False: the queue is full.
    pub fn add(&mut self, info: Info) -> bool {
        if self.set.has(info.signal) && !is_real_time(info.signal) {
            return true;
        }
        match self.queue.get_mut(self.count) {
            Some(place) => {
                *place = info;
                self.count += 1;
            }
            None if is_real_time(info.signal) => return false,
            None => {}
        }
        self.set = self.set | Set::of(&[info.signal]);
        true
    }

    /// The first of signal `signal`, which is pending.
    pub fn take(&mut self, signal: u8) -> Info {
        let known = self.infos().iter().position(|info| info.signal == signal);
        let info = known.and_then(|at| self.remove(at)).unwrap_or(Info::sent(signal, 0, 0, 0));
        if !self.infos().iter().any(|info| info.signal == signal) {
            self.set = self.set.without(Set::of(&[signal]));
        }
        info
    }

    /// Forgets all of these.
    pub fn forget(&mut self, signals: Set) {
        let mut at = 0;
        while let Some(info) = self.infos().get(at) {
            if signals.has(info.signal) {
                self.remove(at);
            } else {
                at += 1;
            }
        }
        self.set = self.set.without(signals);
    }

    fn infos(&self) -> &[Info] {
        self.queue.get(..self.count).unwrap_or(&[])
    }

    fn remove(&mut self, at: usize) -> Option<Info> {
        let tail = self.queue.get_mut(at..self.count)?;
        let info = *tail.first()?;
        tail.rotate_left(1);
        self.count -= 1;
        Some(info)
    }
}
