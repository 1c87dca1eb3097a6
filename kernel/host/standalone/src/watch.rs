// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Orders of the daemon while a job runs: signals for its processes, and the node's end.
//!
//! One question is open all the time (`Ask::Watch`). CPUs that wait for something else, and CPUs that rest, look whether
//! it has an answer. If all compute, the link interrupts CPU 0. The CPU that finds the answer carries it out and asks
//! again.

use crate::exchange::{Exchange, Message, Outcome};
use crate::host::Alone;
use crate::process::End;
use crate::ship::SIGKILL;
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_arch::native::alone::power_off;
use tacet_logic::signals::{Info, codes};
use tacet_shipping::ask::{Answer, Ask, Refusal, WATCHER};
use tacet_shipping::key::Key;
use tacet_shipping::packet::{Kind, Party};

/// How seldom somebody looks, and how seldom the daemon is asked whether it got the question.
const LOOK_NS: u64 = 1_000_000;
const ASK_NS: u64 = 900_000_000;
/// A CPU with nothing to run looks after so long.
pub const REST_NS: u64 = 10_000_000;

pub struct Watch {
    pub exchange: Exchange,
    /// Of the last question; it goes on over jobs.
    sequence: u64,
    job: u32,
    open: bool,
    /// The question is a greeting.
    greets: bool,
    asked: u64,
}

/// The order in an answer.
enum Order {
    Signal { process: Option<u32>, signal: u32 },
    Orphaned,
    PowerOff,
}

impl Watch {
    pub fn new(exchange: Exchange) -> Self {
        Self { exchange, sequence: 0, job: 0, open: false, greets: false, asked: 0 }
    }

    /// Somebody has to look.
    pub fn has_answer(&self) -> bool {
        self.open && self.exchange.outcome().is_some()
    }
}

impl Alone {
    /// A job begins: its program is not loaded yet.
    pub fn begin_watch(&self, job: u32) {
        self.node.watch.with(|watch| {
            watch.job = job;
            self.ask_for_orders(watch);
        });
    }

    /// The job has ended.
    pub fn end_watch(&self) {
        self.node.watch.with(|watch| {
            watch.exchange.give_up();
            watch.open = false;
        });
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
        let (sequence, hello) = self.node.session.with(|session| {
            session.sequence += 1;
            (session.sequence, session.hello(self.node))
        });
        self.ask(watch, &self.node.settings.key, 0, sequence, &hello);
        watch.greets = true;
    }

    fn ask(&self, watch: &mut Watch, key: &Key, thread: u32, sequence: u64, ask: &Ask<'_>) {
        let settings = &self.node.settings;
        let party = Party { node: settings.node, thread, ..Party::default() };
        let (port, refuser) = (settings.daemon_port, &settings.key);
        let message = Message { kind: Kind::Ask, party, sequence, port, key, refuser };
        let bytes = ask.encode(watch.exchange.message);
        let begun = bytes.and_then(|bytes| watch.exchange.begin(&message, bytes));
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
        self.node.begin_looking();
        self.look_now();
        self.node.end_looking(&self.cpu);
    }

    fn look_now(&self) {
        let now = self.cpu.cycles();
        self.node.poll_link();
        let order = self.node.link.with(|link| {
            self.node.watch.with(|watch| {
                if !watch.open {
                    return None;
                }
                let waits = watch.exchange.outcome().is_none();
                if waits && now.wrapping_sub(watch.asked) > self.cpu.ticks(ASK_NS) {
                    watch.asked = now;
                    watch.exchange.ask_again();
                }
                let order = self.take_order(watch);
                let port = self.node.settings.daemon_port;
                watch.exchange.send_due(|packet| link.send(port, packet));
                order
            })
        });
        match order {
            Some(Order::Signal { process, signal }) => self.signal_processes(process, signal),
            Some(Order::Orphaned) => self.orphan_processes(),
            Some(Order::PowerOff) => power_off(0),
            None => {}
        }
    }

    fn take_order(&self, watch: &mut Watch) -> Option<Order> {
        let bytes = match watch.exchange.outcome()? {
            Outcome::Reply(bytes) => bytes,
            Outcome::Refused(Refusal::NoSession) => {
                self.greet_again(watch);
                return None;
            }
            // The daemon does not know the job any more: nobody gives orders.
            Outcome::Refused(Refusal::NoJob) => {
                watch.open = false;
                return None;
            }
        };
        let is_loaded = self.node.living.load(Ordering::Acquire) > 0;
        let order = match watch.exchange.message.get(..bytes).and_then(Answer::decode) {
            // It only wants to hear from this node, which asks again.
            Some(Answer::Signal { signal: 0, .. }) => None,
            // It waits until there is a program that can take it.
            Some(Answer::Signal { .. }) if !is_loaded => return None,
            Some(Answer::Welcome { nonce }) if watch.greets => {
                self.node.session.with(|session| session.begin(self.node, &nonce));
                None
            }
            Some(Answer::Signal { process, signal }) => Some(Order::Signal { process, signal }),
            Some(Answer::Orphaned) => Some(Order::Orphaned),
            Some(Answer::PowerOff) => Some(Order::PowerOff),
            _ => None,
        };
        self.ask_for_orders(watch);
        order
    }

    /// `run` is gone, and with it the proxies: a process that told its proxy of its end would wait half a minute for an answer.
    fn orphan_processes(&self) {
        for (index, process) in self.node.processes.iter().enumerate() {
            if process.threads.load(Ordering::Acquire) > 0 {
                process.orphaned.store(true, Ordering::Release);
                self.end_process(index, End::Signal(SIGKILL));
            }
        }
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
