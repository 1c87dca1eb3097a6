// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The clocks: the processor's counter, beside what the job's Linux node said when it sent the job. A program has no vDSO
//! here, so it asks for each reading.

use crate::host::{Alone, Subject};
use crate::thread::ThreadState;
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_core::Answer;
use tacet_logic::deadlines::Deadline;
use tacet_shipping::errno::Errno;

const REALTIME: u32 = 0;
const MONOTONIC: u32 = 1;
const PROCESS_TIME: u32 = 2;
const THREAD_TIME: u32 = 3;
const BOOTTIME: u32 = 7;
/// In a clock that names a thread.
const PER_THREAD: i32 = 4;
const TIMER_ABSTIME: u64 = 1;
pub const NS_PER_S: u64 = 1_000_000_000;
pub const NS_PER_MS: u64 = 1_000_000;
pub const NS_PER_US: u64 = 1_000;
/// No clock gets as far.
const LATEST_S: u64 = 1 << 33;

impl Alone {
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

    fn realtime_ns(&self) -> u64 {
        self.monotonic_ns(self.cpu.cycles()).wrapping_add(tacet_core::Host::realtime_ahead_ns(self))
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

    fn clock_ns(&self, subject: &Subject<'_>, clock: u64) -> Option<u64> {
        match clock as u32 {
            // The alarm's clock, and international atomic time: its distance is zero here, as on Linux until it is set.
            REALTIME | 5 | 8 | 11 => Some(self.realtime_ns()),
            MONOTONIC | 4 | 6 | BOOTTIME | 9 => Some(self.monotonic_ns(self.cpu.cycles())),
            PROCESS_TIME => Some(self.process_ns(subject)),
            THREAD_TIME => Some(self.thread_ns(subject.thread)),
            clock if (clock as i32) < 0 => self.clock_of_others(subject, clock as i32),
            _ => None,
        }
    }

    /// The clock of a process or of a thread by its number, as pthread_getcpuclockid(3) makes it.
    fn clock_of_others(&self, subject: &Subject<'_>, clock: i32) -> Option<u64> {
        let id = !(clock >> 3);
        let (_, thread) = self.thread_with_id(subject, id)?;
        Some(if clock & PER_THREAD != 0 { self.thread_ns(thread) } else { self.process_ns(subject) })
    }

    pub fn clock_gettime(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [clock, address, ..] = *arguments;
        let ns = self.clock_ns(subject, clock).ok_or(Errno::EINVAL)?;
        write_pair(subject, address, ns / NS_PER_S, ns % NS_PER_S)
    }

    pub fn clock_getres(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [clock, address, ..] = *arguments;
        self.clock_ns(subject, clock).ok_or(Errno::EINVAL)?;
        if address == 0 { Ok(0) } else { write_pair(subject, address, 0, 1) }
    }

    pub fn gettimeofday(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [address, zone, ..] = *arguments;
        let ns = self.realtime_ns();
        if address != 0 {
            write_pair(subject, address, ns / NS_PER_S, ns % NS_PER_S / 1000)?;
        }
        // The kernel's time zone, which nobody sets.
        if zone == 0 { Ok(0) } else { subject.memory.write_u64(zone, 0).map(|()| 0).ok_or(Errno::EFAULT) }
    }

    pub fn time(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [address, ..] = *arguments;
        let seconds = self.realtime_ns() / NS_PER_S;
        if address != 0 {
            subject.memory.write_u64(address, seconds).ok_or(Errno::EFAULT)?;
        }
        Ok(seconds)
    }

    /// times(2): in hundredths of a second.
    pub fn times(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [address, ..] = *arguments;
        let hundredths = |ns: u64| ns / (NS_PER_S / 100);
        if address != 0 {
            let [user, zero] = [hundredths(self.process_ns(subject)), 0].map(u64::to_le_bytes);
            let bytes = [user, zero, zero, zero];
            subject.memory.write(address, bytes.as_flattened()).ok_or(Errno::EFAULT)?;
        }
        Ok(hundredths(self.monotonic_ns(self.cpu.cycles())))
    }

    /// nanosleep(2).
    pub fn nanosleep(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Answer {
        let [requested, ..] = *arguments;
        self.sleep(subject, MONOTONIC, requested, false)
    }

    pub fn clock_nanosleep(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Answer {
        let [clock, flags, requested, ..] = *arguments;
        match clock as u32 {
            clock @ (REALTIME | MONOTONIC | BOOTTIME) => {
                self.sleep(subject, clock, requested, flags & TIMER_ABSTIME != 0)
            }
            PROCESS_TIME => Answer::Done(Errno::EOPNOTSUPP.result() as u64),
            _ => Answer::Done(Errno::EINVAL.result() as u64),
        }
    }

    fn sleep(&self, subject: &Subject<'_>, clock: u32, requested: u64, absolute: bool) -> Answer {
        let thread = subject.thread;
        let cycles = self.cpu.cycles();
        if thread.sleeps_on.swap(false, Ordering::Relaxed) {
            return Answer::Sleep(Deadline::at(thread.sleeps_until_ns.load(Ordering::Relaxed)));
        }
        let ns = match read_timespec(subject, requested) {
            Ok(ns) => ns,
            Err(error) => return Answer::Done(error.result() as u64),
        };
        let until = match (absolute, clock) {
            (true, REALTIME) => ns.saturating_sub(tacet_core::Host::realtime_ahead_ns(self)),
            (true, _) => ns,
            (false, _) => self.monotonic_ns(cycles).saturating_add(ns),
        };
        thread.sleeps_until_ns.store(until, Ordering::Relaxed);
        Answer::Sleep(Deadline::at(until))
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
