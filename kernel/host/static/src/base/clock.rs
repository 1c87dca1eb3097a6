// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The clocks: the processor's counter, beside what the job's Linux node said when it sent the job; and the times that
//! programs write and read.

use super::thread::ThreadState;
use super::{StaticHost, Subject};
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_wire::errno::Errno;

pub const NS_PER_S: u64 = 1_000_000_000;
pub const NS_PER_MS: u64 = 1_000_000;
pub const NS_PER_US: u64 = 1_000;
/// No clock gets as far.
const LATEST_S: u64 = 1 << 33;

impl StaticHost {
    pub fn ns(&self, cycles: u64) -> u64 {
        (u128::from(cycles) * 1_000_000 / u128::from(self.cpu.cycles_per_ms().max(1))) as u64
    }

    /// CLOCK_MONOTONIC when the counter is at `cycles`.
    pub fn monotonic_ns(&self, cycles: u64) -> u64 {
        let clock = &self.node.clock;
        let passed = cycles.saturating_sub(clock.cycles.load(Ordering::Relaxed));
        clock.monotonic_ns.load(Ordering::Relaxed).wrapping_add(self.ns(passed))
    }

    /// How long it is until `monotonic_ns` on CLOCK_MONOTONIC.
    pub fn ns_until(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.monotonic_ns(self.cpu.cycles()))
    }

    /// How far the clock of the day is ahead of CLOCK_MONOTONIC.
    pub fn realtime_ahead_ns(&self) -> u64 {
        let clock = &self.node.clock;
        clock.realtime_ns.load(Ordering::Relaxed).wrapping_sub(clock.monotonic_ns.load(Ordering::Relaxed))
    }

    pub fn realtime_ns(&self) -> u64 {
        self.monotonic_ns(self.cpu.cycles()).wrapping_add(self.realtime_ahead_ns())
    }

    /// The time that a thread has had in user mode.
    pub fn thread_ns(&self, thread: &ThreadState) -> u64 {
        let since = thread.entered_cycles.load(Ordering::Relaxed);
        let running = if since == 0 { 0 } else { self.cpu.cycles().saturating_sub(since) };
        self.ns(thread.user_cycles.load(Ordering::Relaxed).wrapping_add(running))
    }

    /// The time that all threads of the process have had in user mode.
    pub fn process_ns(&self, subject: &Subject<'_>) -> u64 {
        let ended = self.ns(subject.process.ended_cycles.load(Ordering::Relaxed));
        let threads = self.node.threads_of(subject.thread.process());
        threads.fold(ended, |sum, (_, thread)| sum.wrapping_add(self.thread_ns(thread)))
    }
}

/// A struct timespec in nanoseconds.
pub fn read_timespec(subject: &Subject<'_>, address: u64) -> Result<u64, Errno> {
    read_pair(subject, address, 1)
}

/// A struct timespec or timeval in nanoseconds: the second word is so many each.
pub fn read_pair(subject: &Subject<'_>, address: u64, unit_ns: u64) -> Result<u64, Errno> {
    let seconds = subject.memory.read_u64(address).ok_or(Errno::EFAULT)?;
    let rest = subject.memory.read_u64(address.wrapping_add(8)).ok_or(Errno::EFAULT)?;
    if (seconds as i64) < 0 || rest >= NS_PER_S / unit_ns {
        return Err(Errno::EINVAL);
    }
    Ok(seconds.min(LATEST_S) * NS_PER_S + rest * unit_ns)
}

/// A struct timespec or timeval.
pub fn write_pair(subject: &Subject<'_>, address: u64, first: u64, second: u64) -> Result<u64, Errno> {
    let bytes = [first, second].map(u64::to_le_bytes);
    subject.memory.write(address, bytes.as_flattened()).map(|()| 0).ok_or(Errno::EFAULT)
}
