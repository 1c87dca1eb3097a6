// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When the threads that wait on one core continue: by Linux's CLOCK_MONOTONIC, told by the
//! processor's counter of cycles.
//!
//! Linux reads both together now and then; between two readings the clock may run faster or
//! slower than the counter says, by [`DRIFT`] at most (adjtimex(2) steers it by half of that).
//! A thread never continues too early, and too late by no more than that makes necessary.

/// One part in so many: twice what Linux steers its clock by (500 ppm).
pub const DRIFT: u64 = 1024;
/// How far apart the two halves of a reading may lie.
pub const READING_NS: u64 = 5_000;

/// A reading of both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// The processor's counter, read right after the other one.
    pub cycles: u64,
    pub monotonic_ns: u64,
    /// What the counter does in a millisecond.
    pub cycles_per_ms: u64,
}

/// An end of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    monotonic_ns: u64,
    /// By itself it ends the waiting too: of a short wait the counter alone knows the end better.
    cycles: u64,
}

impl Clock {
    /// Where Linux has read nothing: only the counter is known, at `now`.
    pub fn unread(now: u64, cycles_per_ms: u64) -> Self {
        Self { cycles: now, monotonic_ns: 0, cycles_per_ms }
    }

    /// In `ticks` of the counter.
    fn ns(&self, ticks: u64) -> u64 {
        narrow(u128::from(ticks) * 1_000_000 / u128::from(self.cycles_per_ms.max(1)))
    }

    /// Of the counter, in so many nanoseconds; rounded up.
    pub fn ticks(&self, ns: u64) -> u64 {
        narrow(u128::from(ns) * u128::from(self.cycles_per_ms) / 1_000_000 + 1)
    }

    /// The clock is not behind this when the counter is at `cycles`.
    fn earliest_ns(&self, cycles: u64) -> u64 {
        if cycles >= self.cycles {
            let passed = self.ns(cycles - self.cycles);
            return self.monotonic_ns.saturating_add(passed - passed.div_ceil(DRIFT));
        }
        let until = self.ns(self.cycles - cycles) + 1;
        self.monotonic_ns.saturating_sub(until + until / DRIFT)
    }

    /// And not past this.
    fn latest_ns(&self, cycles: u64) -> u64 {
        let read = self.monotonic_ns.saturating_add(READING_NS);
        let passed = self.ns(cycles.saturating_sub(self.cycles)) + 1;
        read.saturating_add(passed + passed.div_ceil(DRIFT))
    }
}

impl Deadline {
    /// When the clock is there.
    pub fn at(monotonic_ns: u64) -> Self {
        Self { monotonic_ns, cycles: u64::MAX }
    }

    /// `ns` from `now`, the counter's.
    pub fn after(clock: &Clock, now: u64, ns: u64) -> Self {
        let ticks = clock.ticks(ns.saturating_add(ns.div_ceil(DRIFT - 1)));
        Self { monotonic_ns: clock.latest_ns(now).saturating_add(ns), cycles: now.saturating_add(ticks) }
    }

    /// Whether it has certainly come.
    pub fn is_over(&self, clock: &Clock, now: u64) -> bool {
        now >= self.cycles || clock.earliest_ns(now) >= self.monotonic_ns
    }

    /// How long to sleep before it is worth looking again, with newer readings; 0 if it is over.
    pub fn ticks_left(&self, clock: &Clock, now: u64) -> u64 {
        if self.is_over(clock, now) {
            return 0;
        }
        let left = self.monotonic_ns.saturating_sub(clock.earliest_ns(now));
        clock.ticks(left - left / (DRIFT / 2)).min(self.cycles.saturating_sub(now)).max(1)
    }

    /// What is left to wait, never less than the truth.
    pub fn ns_left(&self, clock: &Clock, now: u64) -> u64 {
        let by_counter = clock.ns(self.cycles.saturating_sub(now)).saturating_add(1);
        let left = self.monotonic_ns.saturating_sub(clock.earliest_ns(now));
        left.min(by_counter.saturating_add(by_counter.div_ceil(DRIFT)))
    }
}

/// The threads of one core that wait until a time; owned by it alone, and on its stack: in two arrays, because pairs
/// would be larger.
pub struct Deadlines<const N: usize> {
    threads: [u16; N],
    deadlines: [Deadline; N],
    length: usize,
}

/// As many wait as there is room for.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

impl<const N: usize> Deadlines<N> {
    /// No thread waits.
    pub const fn new() -> Self {
        Self { threads: [0; N], deadlines: [Deadline { monotonic_ns: 0, cycles: 0 }; N], length: 0 }
    }

    /// No thread waits.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// No more can wait.
    pub fn is_full(&self) -> bool {
        self.length == N
    }

    /// One more waits; its number is below 65,536.
    pub fn add(&mut self, thread: u32, deadline: Deadline) -> Result<(), Full> {
        let number = u16::try_from(thread).map_err(|_| Full)?;
        *self.deadlines.get_mut(self.length).ok_or(Full)? = deadline;
        *self.threads.get_mut(self.length).ok_or(Full)? = number;
        self.length += 1;
        Ok(())
    }

    /// It waits no more; until when it would have, if it did.
    pub fn remove(&mut self, thread: u32) -> Option<Deadline> {
        let at = self.waiting().position(|(other, _)| other == thread)?;
        self.take(at).map(|(_, deadline)| deadline)
    }

    /// Any one thread waits no more.
    pub fn take_any(&mut self) -> Option<(u32, Deadline)> {
        self.take(self.length.checked_sub(1)?)
    }

    /// The thread whose time came first, if it has come, waits no more.
    pub fn take_over(&mut self, clock: &Clock, now: u64) -> Option<u32> {
        let over = self.waiting().enumerate().filter(|(_, (_, deadline))| deadline.is_over(clock, now));
        let (at, _) = over.min_by_key(|(_, (_, deadline))| deadline.monotonic_ns)?;
        self.take(at).map(|(thread, _)| thread)
    }

    /// How long to sleep before it is worth looking; None: no thread waits.
    pub fn ticks_left(&self, clock: &Clock, now: u64) -> Option<u64> {
        self.waiting().map(|(_, deadline)| deadline.ticks_left(clock, now)).min()
    }

    fn waiting(&self) -> impl Iterator<Item = (u32, &Deadline)> {
        self.threads.iter().map(|&thread| thread.into()).zip(&self.deadlines).take(self.length)
    }

    fn take(&mut self, at: usize) -> Option<(u32, Deadline)> {
        let taken = self.waiting().nth(at).map(|(thread, &deadline)| (thread, deadline))?;
        self.length -= 1;
        *self.threads.get_mut(at)? = *self.threads.get(self.length)?;
        *self.deadlines.get_mut(at)? = *self.deadlines.get(self.length)?;
        Some(taken)
    }
}

impl<const N: usize> Default for Deadlines<N> {
    fn default() -> Self {
        Self::new()
    }
}

fn narrow(wide: u128) -> u64 {
    u64::try_from(wide).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "deadlines_tests.rs"]
mod tests;
