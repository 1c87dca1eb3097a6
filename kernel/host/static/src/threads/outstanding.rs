// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls that are shipped while other threads of the same CPU run: only for jobs that ask for it (`YIELD_ON_IO`), and
//! only if the CPU has other threads. A reply is looked at when a thread of the CPU leaves the co-kernel, makes a call that
//! is shipped or ends its turn, which is short then, or when the CPU has nothing to run.
//!
//! A thread whose call is under way is with its host. Its CPU alone sends, looks and goes on with it.

use super::shipped::port_of;
use super::waits::Left;
use crate::base::node::{CALLS, Outstanding};
use crate::base::{StaticHost, Subject};
use crate::link::exchange::{Exchange, Lost, Outcome};
use crate::link::patience::Patience;
use crate::machine::die;
use core::sync::atomic::{AtomicBool, Ordering};
use tacet_arch::{Processor, UserState};
use tacet_wire::errno::Errno;
use tacet_wire::job::YIELD_ON_IO;
use tacet_wire::marshal::Finished;

/// How long a CPU halts while calls are under way and it has nothing to run: longer and longer while they wait.
const SHORTEST_REST_NS: u64 = 100_000;
const LONGEST_REST_NS: u64 = 2_000_000;

/// The end of a call that was under way.
pub enum Done {
    /// The thread's call has this result.
    Result(i64),
    /// The thread ends with its process.
    Gone,
}

/// The state of a call under way after one look.
#[expect(clippy::large_enum_variant, reason = "it lives for a moment, and there is no heap")]
enum Step {
    Waits(Outstanding),
    Done(Done),
}

impl StaticHost {
    /// Whether a call of the thread is shipped while others run.
    pub fn yields(&self) -> bool {
        let others = self.node.cpu(self.cpu.index()).is_some_and(|cpu| cpu.threads.load(Ordering::Relaxed) > 1);
        others && self.node.job.with(|job| job.flags) & YIELD_ON_IO != 0
    }

    /// Begins a call of a thread that has left the co-kernel. `Err`: its result; `Ok(false)`: it must be waited for.
    pub fn begin_call(&self, subject: &Subject<'_>, number: u64, call: &Left<'_>) -> Result<bool, i64> {
        let has_room = self.calls(|calls| calls.iter().any(Option::is_none));
        let take = |(_, taken): &(usize, &AtomicBool)| {
            taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        self.replace_mask(subject, number, &call.arguments).map_err(Errno::result)?;
        let found = if has_room { self.node.spares.iter().enumerate().find(take) } else { None };
        let Some((spare, _)) = found else { return Ok(false) };
        let (exchange, proxy) = (self.node.link.spare(spare), self.proxy(subject));
        let begun = call.shipment(number).and_then(|mut shipment| {
            proxy.begin_piece(exchange, &mut shipment, call).map_err(|errno| shipment.failed(errno))?;
            Ok(shipment)
        });
        let shipment = begun.inspect_err(|_| {
            self.give_back_spare(spare);
            self.restore_mask(subject);
        })?;
        self.node.link.send_packets(exchange, proxy.port);
        let (number, sent) = (subject.number, self.cpu.cycles());
        self.keep(Outstanding { number, spare, shipment, patience: Patience::new(sent), sent, interrupted: false });
        Ok(true)
    }

    fn give_back_spare(&self, spare: usize) {
        if let Some(taken) = self.node.spares.get(spare) {
            taken.store(false, Ordering::Release);
        }
    }

    fn calls<T>(&self, work: impl FnOnce(&mut [Option<Outstanding>; CALLS]) -> T) -> T {
        match self.node.cpu(self.cpu.index()) {
            Some(cpu) => cpu.calls.with(work),
            None => die(format_args!("CPU {}: it has no calls", self.cpu.index())),
        }
    }

    fn keep(&self, call: Outstanding) {
        self.calls(|calls| {
            if let Some(place) = calls.iter_mut().find(|place| place.is_none()) {
                *place = Some(call);
            }
        });
    }

    pub fn has_outstanding(&self) -> bool {
        self.calls(|calls| calls.iter().any(Option::is_some))
    }

    /// For how long the CPU halts between two looks at its calls, in ticks. `None`: none is under way.
    pub fn rest_of_calls(&self) -> Option<u64> {
        let now = self.cpu.cycles();
        let waited = |call: &Outstanding| now.wrapping_sub(call.sent);
        let youngest = self.calls(|calls| calls.iter().flatten().map(waited).min())?;
        Some((youngest / 8).clamp(self.cpu.ticks(SHORTEST_REST_NS), self.cpu.ticks(LONGEST_REST_NS)))
    }

    /// Looks at all calls that are under way, once. `done` is told which threads go on, and how.
    pub fn tend(&self, mut done: impl FnMut(&Subject<'_>, Done)) {
        if !self.has_outstanding() {
            return;
        }
        self.node.link.poll();
        self.node.link.tell_of_orders(&self.cpu);
        for place in 0..CALLS {
            let call = self.calls(|calls| calls.get_mut(place).and_then(Option::take));
            let Some(call) = call else { continue };
            let (subject, spare) = (self.subject(call.number), call.spare);
            match self.look_at(&subject, call) {
                Step::Waits(call) => self.keep(call),
                Step::Done(end) => {
                    if matches!(end, Done::Gone) {
                        self.node.link.spare(spare).with(Exchange::give_up);
                    }
                    self.give_back_spare(spare);
                    done(&subject, end);
                }
            }
        }
    }

    fn look_at(&self, subject: &Subject<'_>, mut call: Outstanding) -> Step {
        let exchange = self.node.link.spare(call.spare);
        match exchange.with(|exchange| exchange.outcome()) {
            Some(Outcome::Reply(bytes)) => return self.finish_piece(subject, call, bytes),
            Some(Outcome::Refused(refusal)) => {
                self.lose_proxy(subject, Lost::Refused(refusal));
                return Step::Done(Done::Gone);
            }
            None => {}
        }
        if subject.process.end().is_some() {
            return Step::Done(Done::Gone);
        }
        if subject.thread.is_wanted() && !call.interrupted {
            call.interrupted = true;
            exchange.with(Exchange::interrupt);
        }
        if exchange.with(|exchange| exchange.waits_too_long(&mut call.patience, &self.cpu)) {
            self.lose_proxy(subject, Lost::Silent);
            return Step::Done(Done::Gone);
        }
        self.node.link.send_packets(exchange, port_of(subject));
        Step::Waits(call)
    }

    /// A reply is there: the call's result, or its next piece.
    fn finish_piece(&self, subject: &Subject<'_>, mut call: Outstanding, bytes: usize) -> Step {
        let exchange = self.node.link.spare(call.spare);
        let number = subject.thread.call.load(Ordering::Relaxed);
        let left = self.with_time_left(subject, number, &self.context(subject.number).user().arguments(), true);
        let finished = exchange.with(|exchange| call.shipment.finish(exchange.text(bytes), &left));
        let Finished { result, unfinished, pending } = finished;
        if pending != 0 {
            self.take_signals_of_proxy(subject, pending);
        }
        match result {
            Some(_) if unfinished && !subject.thread.is_wanted() => call.shipment.go_on(),
            Some(result) => return Step::Done(Done::Result(result)),
            None => {}
        }
        let proxy = self.proxy(subject);
        match proxy.begin_piece(exchange, &mut call.shipment, &left) {
            Ok(()) => {
                self.node.link.send_packets(exchange, proxy.port);
                call.sent = self.cpu.cycles();
                call.patience = Patience::new(call.sent);
                call.interrupted = false;
                Step::Waits(call)
            }
            Err(errno) => Step::Done(Done::Result(call.shipment.failed(errno))),
        }
    }
}
