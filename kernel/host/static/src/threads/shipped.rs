// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls that threads ship: what the floors above the shipment do meanwhile (orders, signals, an end that is wanted), and
//! afterwards (a process whose proxy is lost ends).

use super::waits::Left;
use crate::base::{StaticHost, Subject};
use crate::link::exchange::Wish;
use crate::ship::memory::{AnyRights, KernelText};
use crate::ship::{Caller, Proxy, result};
use core::sync::atomic::Ordering;
use tacet_logic::signals::interrupted;
use tacet_wire::calls::number;
use tacet_wire::errno::Errno;
use tacet_wire::marshal::{Shipment, UserMemory};
use tacet_wire::packet::Party;

/// A thread during its call. `last`: the last words of a process, which nobody ends.
struct Waiting<'a> {
    host: &'a StaticHost,
    subject: &'a Subject<'a>,
    last: bool,
}

impl Caller for Waiting<'_> {
    fn wish(&self) -> Wish {
        self.host.look_for_orders();
        let Self { subject, last, .. } = *self;
        match subject.thread.is_wanted() {
            // Nobody is there to answer.
            _ if subject.process.orphaned.load(Ordering::Acquire) => Wish::GiveUp,
            true if last => Wish::Wait,
            // Also if it ended before the call began: the thread may have come here meanwhile.
            true if subject.process.end().is_some() => Wish::GiveUp,
            true => Wish::Interrupt,
            false => Wish::Wait,
        }
    }

    fn take_signals(&self, pending: u64) {
        self.host.take_signals_of_proxy(self.subject, pending);
    }

    fn goes_on(&self) -> bool {
        !self.subject.thread.is_wanted()
    }
}

impl StaticHost {
    /// The proxy of the thread's process.
    pub fn proxy<'a>(&'a self, subject: &'a Subject<'_>) -> Proxy<'a> {
        let party = Party {
            node: self.node.settings.node,
            job: self.node.job.with(|job| job.id),
            process: subject.process.rank.load(Ordering::Relaxed),
            thread: subject.thread.serial.load(Ordering::Relaxed),
        };
        let port = port_of(subject);
        let key = subject.process.key.with(|key| key.clone());
        Proxy { link: &self.node.link, thread: subject.thread, party, port, key }
    }

    /// Lets the proxy make a call, with memory of any kind.
    pub fn ship(&self, subject: &Subject<'_>, number: u64, arguments: &[u64; 6], memory: &impl UserMemory) -> i64 {
        let last = number == number::EXIT_GROUP;
        match Shipment::new(number, *arguments).map_or_else(|result| result, |it| self.send(subject, it, memory, last))
        {
            Errno::RESTART => Errno::EINTR.result(),
            result => result,
        }
    }

    /// The same of a shipment. `last`: it tells the end of the process.
    pub fn send(&self, subject: &Subject<'_>, shipment: Shipment, memory: &impl UserMemory, last: bool) -> i64 {
        let waiting = Waiting { host: self, subject, last };
        self.proxy(subject).call(&self.cpu, shipment, memory, &waiting).unwrap_or_else(|(lost, result)| {
            self.lose_proxy(subject, lost);
            result
        })
    }

    /// Lets the proxy make a call of the thread.
    pub fn ship_call(&self, subject: &Subject<'_>, number: u64, arguments: &[u64; 6]) -> i64 {
        self.ship(subject, number, arguments, &subject.memory)
    }

    /// Writes a line to the user's standard error.
    pub fn tell_user(&self, subject: &Subject<'_>, line: &[u8]) {
        let memory = KernelText(line);
        let _ = self.ship(subject, number::WRITE, &[2, KernelText::AT, line.len() as u64, 0, 0, 0], &memory);
    }

    /// Reads from a file to memory of the process, whatever the program may do there.
    pub fn read_file(
        &self,
        subject: &Subject<'_>,
        descriptor: u64,
        offset: u64,
        address: u64,
        bytes: u64,
    ) -> Result<u64, Errno> {
        let memory = AnyRights(&subject.memory);
        result(self.ship(subject, number::PREAD64, &[descriptor, address, bytes, offset, 0, 0], &memory))
    }

    /// Ships a call of the thread. If a signal interrupts it that leads to nothing, the call is made again.
    pub fn ship_interruptibly(&self, subject: &Subject<'_>, number: u64, arguments: &[u64; 6]) -> i64 {
        self.ship_left(subject, number, arguments, self.with_time_left(subject, number, arguments, false))
    }

    /// The same with the time that is left at its beginning.
    pub fn ship_left<'a>(
        &self,
        subject: &'a Subject<'_>,
        number: u64,
        arguments: &[u64; 6],
        mut left: Left<'a>,
    ) -> i64 {
        if let Err(error) = self.replace_mask(subject, number, arguments) {
            return error.result();
        }
        loop {
            let result = left.shipment(number).map_or_else(|result| result, |it| self.send(subject, it, &left, false));
            let Some(code) = interruption(result) else {
                self.restore_mask(subject);
                return result;
            };
            if subject.thread.is_wanted() {
                subject.thread.interrupted.store(code, Ordering::Relaxed);
                return result;
            }
            left = self.with_time_left(subject, number, arguments, true);
        }
    }
}

/// The port of its process's proxy.
pub fn port_of(subject: &Subject<'_>) -> u16 {
    subject.process.port.load(Ordering::Relaxed) as u16
}

/// How the call goes on whose result says that it was interrupted. `None`: it says something else.
pub fn interruption(result: i64) -> Option<i64> {
    match result {
        Errno::RESTART => Some(interrupted::IF_ALLOWED),
        _ if result == Errno::EINTR.result() => Some(interrupted::UNLESS_HANDLED),
        _ => None,
    }
}
