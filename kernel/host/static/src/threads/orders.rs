// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Orders of the daemon while a job runs: signals for its processes, and the node's end.
//!
//! One question is open all the time (`Ask::Watch`). CPUs that wait for something else, and CPUs that rest, look whether
//! it has an answer. If all compute, the link interrupts CPU 0. The CPU that finds the answer carries it out and asks
//! again.

use crate::base::StaticHost;
use crate::link::exchange::{Exchange, Message, Outcome};
use crate::link::session::Watch;
use crate::machine::power_off;
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_logic::signals::{Info, codes};
use tacet_wire::ask::{Answer, Ask, Refusal, WATCHER};
use tacet_wire::key::{Key, NONCE_BYTES};
use tacet_wire::packet::{Kind, Party};

/// How seldom somebody looks, and how seldom the daemon is asked whether it got the question.
const LOOK_NS: u64 = 1_000_000;
const ASK_NS: u64 = 900_000_000;
/// A CPU with nothing to run looks after so long.
pub const REST_NS: u64 = 10_000_000;

/// The order in an answer.
enum Order {
    Signal { process: Option<u32>, signal: u32 },
    Orphaned,
    PowerOff,
}

/// What an answer is for.
enum Taken {
    Order(Order),
    Welcome([u8; NONCE_BYTES]),
    Nothing,
    /// It is looked at again.
    Later,
}

impl StaticHost {
    /// A job begins: its program is not loaded yet.
    pub fn begin_watch(&self, job: u32) {
        self.node.watch.with(|watch| {
            watch.job = job;
            self.ask_for_orders(watch);
        });
    }

    /// The job has ended.
    pub fn end_watch(&self) {
        self.node.watch.with(|watch| self.close(watch));
    }

    fn close(&self, watch: &mut Watch) {
        watch.open = false;
        self.node.link.orders().with(Exchange::give_up);
    }

    fn ask_for_orders(&self, watch: &mut Watch) {
        watch.sequence += 1;
        let key = self.node.session.with(|session| session.key.clone());
        let (sequence, job) = (watch.sequence, watch.job);
        self.ask(watch, &key, WATCHER, sequence, &Ask::Watch { job });
        watch.greets = false;
    }

    /// The daemon was started anew: it is greeted before it is asked again.
    fn greet_again(&self, watch: &mut Watch) {
        let sequence = self.node.session.with(|session| session.next_sequence());
        self.ask(watch, &self.node.settings.key, 0, sequence, &self.node.hello());
        watch.greets = true;
    }

    fn ask(&self, watch: &mut Watch, key: &Key, thread: u32, sequence: u64, ask: &Ask<'_>) {
        let settings = &self.node.settings;
        let party = Party { node: settings.node, thread, ..Party::default() };
        let (port, refuser) = (settings.daemon_port, &settings.key);
        let message = Message { kind: Kind::Ask, party, sequence, port, key, refuser };
        let begun = self.node.link.orders().with(|exchange| {
            let bytes = ask.encode(exchange.message)?;
            exchange.begin(&message, bytes)
        });
        watch.open = begun.is_some();
        watch.asked = self.cpu.cycles();
    }

    /// Looks whether there is an order, unless a CPU has just looked.
    pub fn look_for_orders(&self) {
        let now = self.cpu.cycles();
        let next = &self.node.next_look;
        let due = next.load(Ordering::Relaxed);
        let later = now.wrapping_add(self.cpu.ticks(LOOK_NS));
        if now < due || next.compare_exchange(due, later, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        self.look_now();
    }

    /// The link has interrupted this CPU.
    pub fn look_for_orders_now(&self) {
        self.node.link.begin_looking();
        self.look_now();
        self.node.link.end_looking(&self.cpu);
    }

    fn look_now(&self) {
        let now = self.cpu.cycles();
        let exchange = self.node.link.orders();
        self.node.link.poll();
        let order = self.node.watch.with(|watch| {
            if !watch.open {
                return None;
            }
            let waits = exchange.with(|exchange| exchange.outcome().is_none());
            if waits && now.wrapping_sub(watch.asked) > self.cpu.ticks(ASK_NS) {
                watch.asked = now;
                exchange.with(Exchange::ask_again);
            }
            self.take_order(watch)
        });
        self.node.link.send_packets(exchange, self.node.settings.daemon_port);
        match order {
            Some(Order::Signal { process, signal }) => self.signal_processes(process, signal),
            Some(Order::Orphaned) => self.orphan_processes(),
            Some(Order::PowerOff) => power_off(0),
            None => {}
        }
    }

    fn take_order(&self, watch: &mut Watch) -> Option<Order> {
        let exchange = self.node.link.orders();
        let bytes = match exchange.with(|exchange| exchange.outcome())? {
            Outcome::Reply(bytes) => bytes,
            Outcome::Refused(Refusal::NoSession) => {
                self.greet_again(watch);
                return None;
            }
            // The daemon does not know the job any more: nobody gives orders.
            Outcome::Refused(Refusal::NoJob) => {
                self.close(watch);
                return None;
            }
        };
        let is_loaded = self.node.living.load(Ordering::Acquire) > 0;
        let greets = watch.greets;
        let order = exchange.with(|exchange| match Answer::decode(exchange.text(bytes)) {
            // It only wants to hear from this node, which asks again.
            Some(Answer::Signal { signal: 0, .. }) => Taken::Nothing,
            // It waits until there is a program that can take it.
            Some(Answer::Signal { .. }) if !is_loaded => Taken::Later,
            Some(Answer::Welcome { nonce }) if greets => Taken::Welcome(nonce),
            Some(Answer::Signal { process, signal }) => Taken::Order(Order::Signal { process, signal }),
            Some(Answer::Orphaned) => Taken::Order(Order::Orphaned),
            Some(Answer::PowerOff) => Taken::Order(Order::PowerOff),
            _ => Taken::Nothing,
        });
        let order = match order {
            Taken::Later => return None,
            Taken::Welcome(nonce) => {
                self.node.begin_session(&nonce);
                None
            }
            Taken::Order(order) => Some(order),
            Taken::Nothing => None,
        };
        self.ask_for_orders(watch);
        order
    }

    /// `rank`: of one process, or of all.
    fn signal_processes(&self, rank: Option<u32>, signal: u32) {
        let count = self.node.processes.len();
        for (index, process) in self.node.processes.iter().enumerate().take(count) {
            let alive = process.threads.load(Ordering::Acquire) > 0;
            let meant = rank.is_none_or(|rank| rank == process.rank.load(Ordering::Relaxed));
            if alive && meant {
                self.send_to_process(index, Info::sent(signal as u8, codes::USER, 0, 0), None);
            }
        }
    }
}
