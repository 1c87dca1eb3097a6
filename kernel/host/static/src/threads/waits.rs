// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shipped calls that say how long they wait: made again after an interruption for nothing, they wait for what is left.
//!
//! Called where calls are shipped (`shipped.rs`, `proceed.rs`) and by `delivery.rs`. The program's memory keeps what the
//! program wrote there: the proxy alone reads another time.

use crate::base::clock::{NS_PER_MS, NS_PER_S, NS_PER_US, read_pair};
use crate::base::thread::ThreadState;
use crate::base::user_memory::UserMemory;
use crate::base::{StaticHost, Subject};
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_wire::calls::number;
use tacet_wire::marshal::{self, Shipment};

/// How a call says how long it waits: by this argument.
#[derive(Clone, Copy)]
enum Time {
    Milliseconds(usize),
    /// The address of a struct timespec or timeval, whose second word is so many nanoseconds each.
    Pair(usize, u64),
}

const TIME_BYTES: usize = 16;

/// poll(2), select(2), epoll_wait(2), pselect6(2), ppoll(2), epoll_pwait(2), epoll_pwait2(2).
fn time_of(number: u64) -> Option<Time> {
    Some(match number {
        number::POLL => Time::Milliseconds(2),
        number::SELECT => Time::Pair(4, NS_PER_US),
        number::EPOLL_WAIT | number::EPOLL_PWAIT => Time::Milliseconds(3),
        number::PSELECT6 => Time::Pair(4, 1),
        number::PPOLL => Time::Pair(2, 1),
        number::EPOLL_PWAIT2 => Time::Pair(3, 1),
        _ => return None,
    })
}

/// For how long a shipped call waits, if it does so for a while and not for ever.
pub fn wait_ns(subject: &Subject<'_>, number: u64, arguments: &[u64; 6]) -> Option<u64> {
    let ns = match time_of(number)? {
        Time::Milliseconds(place) => u64::from(u32::try_from(*arguments.get(place)? as i32).ok()?) * NS_PER_MS,
        Time::Pair(place, unit_ns) => {
            let address = arguments.get(place).copied().filter(|&address| address != 0)?;
            read_pair(subject, address, unit_ns).ok()?
        }
    };
    (ns != 0).then_some(ns)
}

/// Where a call that was interrupted says how much was left of its wait, and how many nanoseconds the second word counts:
/// select(2), pselect6(2), ppoll(2), if they say how long they wait.
pub fn place_of_rest(subject: &Subject<'_>, number: u64, arguments: &[u64; 6]) -> Option<(u64, u64)> {
    match time_of(number) {
        Some(Time::Pair(place, unit_ns)) if number != number::EPOLL_PWAIT2 => {
            wait_ns(subject, number, arguments)?;
            Some((arguments.get(place).copied()?, unit_ns))
        }
        _ => None,
    }
}

/// A call with the time that is left: its arguments, and the memory where its proxy finds them.
pub struct Left<'a> {
    pub arguments: [u64; 6],
    memory: &'a UserMemory<'a>,
    /// Where a time is, and what is read there instead.
    time: Option<(u64, [u8; TIME_BYTES])>,
    /// The call goes on.
    again: bool,
}

impl Left<'_> {
    /// `Err`: the call's result.
    pub fn shipment(&self, number: u64) -> Result<Shipment, i64> {
        let shipment = Shipment::new(number, self.arguments)?;
        Ok(if self.again { shipment.again() } else { shipment })
    }
}

impl marshal::UserMemory for Left<'_> {
    fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        match &self.time {
            Some((at, bytes)) if *at == address && to.len() == bytes.len() => {
                to.copy_from_slice(bytes);
                Some(())
            }
            _ => self.memory.read(address, to),
        }
    }

    fn write(&self, address: u64, from: &[u8]) -> Option<()> {
        self.memory.write(address, from)
    }

    fn is_writable(&self, address: u64, bytes: usize) -> bool {
        self.memory.may_write(address, bytes as u64)
    }
}

impl StaticHost {
    /// Until when the thread waits that asks for so many nanoseconds, or that goes on with a wait.
    pub fn end_of_wait(&self, thread: &ThreadState, asked_ns: Option<u64>) -> Option<u64> {
        if thread.sleeps_on.swap(false, Ordering::Relaxed) {
            return Some(thread.sleeps_until_ns.load(Ordering::Relaxed));
        }
        let until = self.monotonic_ns(self.cpu.cycles()).saturating_add(asked_ns?);
        thread.sleeps_until_ns.store(until, Ordering::Relaxed);
        Some(until)
    }

    /// A shipped call as it is sent. `again`: it was sent before.
    pub fn with_time_left<'a>(
        &self,
        subject: &'a Subject<'_>,
        number: u64,
        arguments: &[u64; 6],
        again: bool,
    ) -> Left<'a> {
        let asked = wait_ns(subject, number, arguments);
        let again = subject.thread.sleeps_on.swap(false, Ordering::Relaxed) || again;
        let mut left = Left { arguments: *arguments, memory: &subject.memory, time: None, again };
        subject.thread.sleeps_on.store(again && asked.is_some(), Ordering::Relaxed);
        let Some(until) = asked.and_then(|_| self.end_of_wait(subject.thread, asked)) else { return left };
        let ns = self.ns_until(until);
        match time_of(number) {
            Some(Time::Milliseconds(place)) => {
                if let Some(argument) = left.arguments.get_mut(place) {
                    *argument = ns.div_ceil(NS_PER_MS);
                }
            }
            Some(Time::Pair(place, unit_ns)) => {
                let [seconds, rest] = [ns / NS_PER_S, ns % NS_PER_S / unit_ns].map(u64::to_le_bytes);
                let mut bytes = [0; TIME_BYTES];
                bytes.iter_mut().zip(seconds.into_iter().chain(rest)).for_each(|(byte, from)| *byte = from);
                left.time = arguments.get(place).map(|&at| (at, bytes));
            }
            None => {}
        }
        left
    }
}
