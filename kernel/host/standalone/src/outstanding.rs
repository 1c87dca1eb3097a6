// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls that are shipped while other threads of the same CPU run: only for jobs that ask for it (`YIELD_ON_IO`), and
//! only if the CPU has other threads. A reply is looked at when a thread of the CPU leaves the co-kernel, makes a call that
//! is shipped or ends its turn, which is short then, or when the CPU has nothing to run.
//!
//! A thread whose call is under way is with its host. Its CPU alone sends, looks and goes on with it.

use crate::delivery::{INTERRUPTED, is_restartable};
use crate::exchange::{Exchange, FIRST_PATIENCE_NS, Lost, MOST_PATIENCE_NS, Outcome, PATIENCE};
use crate::host::{Alone, Subject};
use crate::waits::Left;
use core::sync::atomic::{AtomicBool, Ordering};
use tacet_arch::native::alone::{self, Locked};
use tacet_arch::{Processor, UserState};
use tacet_logic::signals::interrupted;
use tacet_shipping::errno::Errno;
use tacet_shipping::job::YIELD_ON_IO;
use tacet_shipping::marshal::{Finished, Shipment};

/// The most calls of a CPU that may be under way.
pub const CALLS: usize = 8;
/// How long a CPU halts at most while calls are under way and it has nothing to run.
pub const REST_NS: u64 = 100_000;

/// An exchange that any CPU may take for a call.
pub struct Spare {
    pub exchange: Locked<Exchange>,
    pub taken: AtomicBool,
}

/// A call under way.
pub struct Outstanding {
    number: u32,
    spare: &'static Spare,
    shipment: Shipment,
    asked: u64,
    patience_ns: u64,
    interrupted: bool,
}

/// The state of a call under way after one look.
#[expect(clippy::large_enum_variant, reason = "it lives for a moment, and there is no heap")]
enum Step {
    Waits(Outstanding),
    /// The thread's call has this result.
    Result(i64),
    /// The thread ends with its process.
    Gone,
}

impl Alone {
    /// Whether a call of the thread is shipped while others run.
    pub fn yields(&self) -> bool {
        let others = self.node.cpu(self.cpu.index()).is_some_and(|cpu| cpu.threads.load(Ordering::Relaxed) > 1);
        others && self.node.job.with(|job| job.flags) & YIELD_ON_IO != 0
    }

    /// Begins a call of a thread that has left the co-kernel. `Err`: its result; `Ok(false)`: it must be waited for.
    pub fn begin_call(&self, subject: &Subject<'_>, number: u64, call: &Left<'_>) -> Result<bool, i64> {
        let has_room = self.calls(|calls| calls.iter().any(Option::is_none));
        let take = |spare: &&'static Spare| {
            spare.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        self.replace_mask(subject, number, &call.arguments).map_err(Errno::result)?;
        let mut spares = self.node.spares.iter().flatten();
        let Some(spare) = has_room.then(|| spares.find(take)).flatten() else { return Ok(false) };
        let begun = Shipment::new(number, call.arguments).and_then(|mut shipment| {
            self.begin_piece(subject, &spare.exchange, &mut shipment, call).map_err(|errno| shipment.failed(errno))?;
            Ok(shipment)
        });
        let shipment = begun.inspect_err(|_| {
            spare.taken.store(false, Ordering::Release);
            self.restore_mask(subject);
        })?;
        self.node.send_packets(&spare.exchange, self.port(subject));
        let asked = self.cpu.cycles();
        let (number, patience_ns) = (subject.number, FIRST_PATIENCE_NS);
        self.keep(Outstanding { number, spare, shipment, asked, patience_ns, interrupted: false });
        Ok(true)
    }

    fn calls<T>(&self, work: impl FnOnce(&mut [Option<Outstanding>; CALLS]) -> T) -> T {
        match self.node.cpu(self.cpu.index()) {
            Some(cpu) => cpu.calls.with(work),
            None => alone::die(format_args!("CPU {}: it has no calls", self.cpu.index())),
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

    /// Looks at all calls that are under way.
    pub fn tend_calls(&self) {
        if !self.has_outstanding() {
            return;
        }
        self.node.poll_link();
        self.node.tell_of_orders(&self.cpu);
        for place in 0..CALLS {
            let call = self.calls(|calls| calls.get_mut(place).and_then(Option::take));
            let Some(call) = call else { continue };
            let (subject, spare) = (self.subject(call.number), call.spare);
            match self.tend(&subject, call) {
                Step::Waits(call) => self.keep(call),
                Step::Result(result) => {
                    spare.taken.store(false, Ordering::Release);
                    self.conclude(&subject, result);
                }
                Step::Gone => {
                    spare.exchange.with(Exchange::give_up);
                    spare.taken.store(false, Ordering::Release);
                    self.end_thread(&subject);
                }
            }
        }
    }

    fn tend(&self, subject: &Subject<'_>, mut call: Outstanding) -> Step {
        let exchange = &call.spare.exchange;
        match exchange.with(|exchange| exchange.outcome()) {
            Some(Outcome::Reply(bytes)) => return self.finish_piece(subject, call, bytes),
            Some(Outcome::Refused(refusal)) => {
                self.lose_proxy(subject, Lost::Refused(refusal));
                return Step::Gone;
            }
            None => {}
        }
        if subject.process.end().is_some() {
            return Step::Gone;
        }
        if subject.thread.is_wanted() && !call.interrupted {
            call.interrupted = true;
            exchange.with(Exchange::interrupt);
        }
        let now = self.cpu.cycles();
        if now.wrapping_sub(call.asked) > self.cpu.ticks(call.patience_ns) {
            if exchange.with(Exchange::ask_again) > PATIENCE {
                self.lose_proxy(subject, Lost::Silent);
                return Step::Gone;
            }
            call.asked = now;
            call.patience_ns = (2 * call.patience_ns).min(MOST_PATIENCE_NS);
        }
        self.node.send_packets(exchange, self.port(subject));
        Step::Waits(call)
    }

    /// A reply is there: the call's result, or its next piece.
    fn finish_piece(&self, subject: &Subject<'_>, mut call: Outstanding, bytes: usize) -> Step {
        let Finished { result, pending } = call
            .spare
            .exchange
            .with(|exchange| call.shipment.finish(exchange.message.get(..bytes).unwrap_or(&[]), &subject.memory));
        if pending != 0 {
            self.take_signals_of_proxy(subject, pending);
        }
        if let Some(result) = result {
            return Step::Result(result);
        }
        match self.begin_piece(subject, &call.spare.exchange, &mut call.shipment, &subject.memory) {
            Ok(()) => {
                self.node.send_packets(&call.spare.exchange, self.port(subject));
                (call.asked, call.patience_ns) = (self.cpu.cycles(), FIRST_PATIENCE_NS);
                Step::Waits(call)
            }
            Err(errno) => Step::Result(call.shipment.failed(errno)),
        }
    }

    /// The thread goes on with its result. A signal that leads to nothing does not end a call.
    fn conclude(&self, subject: &Subject<'_>, result: i64) {
        let number = subject.thread.call.load(Ordering::Relaxed);
        let user = self.context(subject.number).user();
        if result == INTERRUPTED {
            let code = if is_restartable(number) { interrupted::IF_ALLOWED } else { interrupted::UNLESS_HANDLED };
            subject.thread.interrupted.store(code, Ordering::Relaxed);
        } else {
            self.restore_mask(subject);
        }
        user.set_result(result as u64);
        self.go_on(subject);
    }
}
