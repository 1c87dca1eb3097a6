// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A CPU's host where there is no Linux: what `tacet_core::Host` asks for, each from the file that has it.

use crate::exchange::Exchange;
use crate::node::{COMMON, Node};
use crate::outstanding;
use crate::process::Process;
use crate::thread::{AloneThread, ThreadState, Waits};
use crate::user_memory::UserMemory;
use crate::watch::REST_NS;
use core::cell::RefCell;
use core::fmt::Arguments;
use core::sync::atomic::Ordering;
use tacet_arch::native::alone::{Context, Contexts, Locked, Ram, log};
use tacet_arch::native::{Cpu, User};
use tacet_arch::{Processor, native};
use tacet_core::memory::{NoMemory, Question};
use tacet_core::{Answer, Common, Escape, Host, Place, QUEUE, WakeRequest};
use tacet_logic::deadlines::Clock;
use tacet_logic::futex::Key;
use tacet_logic::run_queue::RunQueue;
use tacet_logic::static_map::Part;
use tacet_pico::NoDevices;
use tacet_shipping::errno::Errno;

/// The node, seen from one CPU.
pub struct Alone {
    pub cpu: Cpu,
    pub node: &'static Node,
    pub ram: Ram,
    pub contexts: Contexts,
    /// Threads that have ended, until those that wait for them are woken (`exit.rs`).
    pub ended: RefCell<RunQueue<QUEUE>>,
}

/// The thread that a call or an event is about, with everything that it may need.
pub struct Subject<'a> {
    pub number: u32,
    pub thread: &'a ThreadState,
    pub process: &'a Process,
    pub memory: UserMemory<'a>,
}

impl Alone {
    pub fn new(cpu: Cpu, node: &'static Node) -> Self {
        let Some(ram) = node.ram.with(|ram| *ram) else {
            native::alone::die(format_args!("CPU {}: started before its memory was known", cpu.index()));
        };
        Self { cpu, node, ram, contexts: node.contexts, ended: RefCell::new(RunQueue::new()) }
    }

    /// A thread that has this number.
    pub fn subject(&self, number: u32) -> Subject<'static> {
        let node = self.node;
        let found = node.thread(number).and_then(|thread| Some((thread, node.process(thread.process())?)));
        let Some((thread, process)) = found else {
            self.die(format_args!("thread {number}: there is no such thread"));
        };
        Subject { number, thread, process, memory: UserMemory { process, ram: self.ram } }
    }

    /// This CPU's exchange.
    pub fn exchange(&self) -> &'static Locked<Exchange> {
        match self.node.cpu(self.cpu.index()) {
            Some(state) => &state.exchange,
            None => self.die(format_args!("CPU {}: it has no exchange", self.cpu.index())),
        }
    }

    /// The registers of a thread that this CPU has.
    pub fn context(&self, number: u32) -> Context<'_> {
        match self.contexts.get(number, &self.cpu) {
            Some(context) => context,
            None => self.die(format_args!("thread {number}: its registers are not this CPU's")),
        }
    }
}

impl Host for Alone {
    type Processor = Cpu;
    type Thread<'a> = AloneThread<'a>;
    type Space = Waits<'static>;
    type Memory = NoMemory;
    type Devices = NoDevices;

    const ANSWERS: bool = true;

    #[inline]
    fn processor(&self) -> &Cpu {
        &self.cpu
    }

    #[inline]
    fn common(&self) -> &Common {
        &COMMON
    }

    #[inline]
    fn cpu_number(&self) -> u32 {
        self.cpu.index()
    }

    fn node(&self) -> u32 {
        0
    }

    fn open_memory(&self) -> Option<NoMemory> {
        None
    }

    fn receive(&self) -> Option<u32> {
        if self.cpu.index() == 0 {
            self.look_for_orders_now(); // the request may be the link's
        }
        let number = self.node.cpu(self.cpu.index())?.inbox.with(RunQueue::pop)?;
        // The CPU that handed it over, if it was another, gave its registers up before.
        if self.contexts.get(number, &self.cpu).is_none() && !self.contexts.take(number, &self.cpu) {
            self.die(format_args!("thread {number}: another CPU has its registers"));
        }
        self.node.thread(number)?.here.store(true, Ordering::Release);
        Some(number)
    }

    #[inline]
    fn thread(&self, number: u32) -> Option<AloneThread<'_>> {
        let state = self.node.thread(number)?;
        state.here.load(Ordering::Acquire).then_some(AloneThread { number, state, node: self.node })
    }

    #[inline]
    fn user<'a>(&'a self, thread: &AloneThread<'a>) -> User<'a> {
        self.context(thread.number).user()
    }

    fn give_back(&self, number: u32, escape: Escape) {
        if let Some(thread) = self.node.thread(number) {
            thread.here.store(false, Ordering::Release);
        }
        self.proceed(&self.subject(number), escape);
    }

    fn moved(&self, _: &AloneThread<'_>, _: Place, _: Place) {}

    #[inline]
    fn space(&self, thread: &AloneThread<'_>) -> Option<Waits<'static>> {
        self.node.process(thread.state.process()).map(|process| Waits(&process.futex_waits))
    }

    fn switched_to(&self, _: u32) {}

    fn count_entry(&self) {}

    fn count_progress(&self) {}

    fn clock(&self) -> Option<Clock> {
        let cycles = self.cpu.cycles();
        Some(Clock { cycles, monotonic_ns: self.monotonic_ns(cycles), cycles_per_ms: self.cpu.cycles_per_ms() })
    }

    fn answer_wake(&self, wake: impl FnMut(WakeRequest) -> u32) {
        self.wake_for_ended(wake);
    }

    fn answer_question(&self, _: impl FnOnce(Question) -> i32) {}

    fn answer<'a>(&'a self, number: u32, _: &AloneThread<'a>, user: &User<'a>) -> Answer {
        self.answer_call(&self.subject(number), user)
    }

    /// A wait for a signal ends with EAGAIN; every other sleep succeeds.
    fn result_of_sleep(&self, number: u32) -> u64 {
        let thread = self.node.thread(number);
        let waited = thread.is_some_and(|thread| thread.waits_for.swap(0, Ordering::SeqCst) != 0);
        if waited { Errno::EAGAIN.result() as u64 } else { 0 }
    }

    fn rests(&self) -> Option<u64> {
        self.look_for_orders();
        self.tend_calls();
        let ns = if self.has_outstanding() { outstanding::REST_NS } else { REST_NS };
        Some(self.cpu.ticks(ns))
    }

    fn waits_for_something(&self) -> bool {
        self.has_outstanding()
    }

    fn looks_between_turns(&self) {
        self.look_for_orders();
        self.tend_calls();
    }

    fn realtime_ahead_ns(&self) -> u64 {
        let clock = &self.node.clock;
        clock.realtime_ns.load(Ordering::Relaxed).wrapping_sub(clock.monotonic_ns.load(Ordering::Relaxed))
    }

    fn end_of_relative_wait(&self, number: u32, asked_ns: Option<u64>) -> Option<u64> {
        self.end_of_wait(self.node.thread(number)?, asked_ns)
    }

    fn shared_futex(&self, thread: &AloneThread<'_>, address: u64) -> Key {
        let process = thread.state.process();
        let shared = self.node.map.with(|map| {
            let shared = map.segments(process).find(|segment| segment.part == Part::Shared)?;
            shared.physical(address, size_of::<u32>() as u64)
        });
        match shared {
            Some(physical) => Key { root: 0, address: physical },
            None => Key { root: thread.state.root(), address },
        }
    }

    fn test(&self) {}

    fn log(&self, text: &[u8]) {
        if self.node.settings.verbose {
            log(text);
        }
    }

    fn die(&self, reason: Arguments<'_>) -> ! {
        native::alone::die(reason)
    }
}
