// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls about clocks, and sleeps. A program has no vDSO here, so it asks for each reading.

use crate::base::clock::{NS_PER_S, read_timespec, write_pair};
use crate::base::{StaticHost, Subject};
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_core::Answer;
use tacet_logic::deadlines::Deadline;
use tacet_wire::errno::Errno;

const REALTIME: u32 = 0;
const MONOTONIC: u32 = 1;
const PROCESS_TIME: u32 = 2;
const THREAD_TIME: u32 = 3;
const BOOTTIME: u32 = 7;
/// In a clock that names a thread.
const PER_THREAD: i32 = 4;
const TIMER_ABSTIME: u64 = 1;
impl StaticHost {
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
        // Its two lowest bits say which time of it.
        if clock & 3 == 3 {
            return None;
        }
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
            (true, REALTIME) => ns.saturating_sub(self.realtime_ahead_ns()),
            (true, _) => ns,
            (false, _) => self.monotonic_ns(cycles).saturating_add(ns),
        };
        thread.sleeps_until_ns.store(until, Ordering::Relaxed);
        Answer::Sleep(Deadline::at(until))
    }
}
