// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A CPU's host where there is no Linux: what `tacet_core::Host` asks for, each from the file that has it.

use crate::base::StaticHost;
use crate::base::held::{StaticThread, Waits};
use crate::machine;
use crate::machine::log;
use crate::machine::{Cpu, User};
use crate::threads::orders;
use core::fmt::Arguments;
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_core::memory::{NoMemory, Question};
use tacet_core::{Answer, Common, Escape, Host, Place, WakeRequest};
use tacet_logic::deadlines::Clock;
use tacet_logic::futex::Key;
use tacet_logic::run_queue::RunQueue;
use tacet_pico::NoDevices;
use tacet_wire::errno::Errno;

impl Host for StaticHost {
    type Processor = Cpu;
    type Thread<'a> = StaticThread<'a>;
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
        self.node.common
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
    fn thread(&self, number: u32) -> Option<StaticThread<'_>> {
        let state = self.node.thread(number)?;
        state.here.load(Ordering::Acquire).then_some(StaticThread { number, state, node: self.node })
    }

    #[inline]
    fn user<'a>(&'a self, thread: &StaticThread<'a>) -> User<'a> {
        self.context(thread.number).user()
    }

    fn give_back(&self, number: u32, escape: Escape) {
        if let Some(thread) = self.node.thread(number) {
            thread.here.store(false, Ordering::Release);
        }
        self.proceed(&self.subject(number), escape);
    }

    fn moved(&self, _: &StaticThread<'_>, _: Place, _: Place) {}

    #[inline]
    fn space(&self, thread: &StaticThread<'_>) -> Option<Waits<'static>> {
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

    fn answer<'a>(&'a self, number: u32, _: &StaticThread<'a>, user: &User<'a>) -> Answer {
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
        Some(self.rest_of_calls().unwrap_or_else(|| self.cpu.ticks(orders::REST_NS)))
    }

    fn waits_for_something(&self) -> bool {
        self.has_outstanding()
    }

    fn looks_between_turns(&self) {
        self.look_for_orders();
        self.tend_calls();
    }

    fn realtime_ahead_ns(&self) -> u64 {
        StaticHost::realtime_ahead_ns(self)
    }

    fn end_of_relative_wait(&self, number: u32, asked_ns: Option<u64>) -> Option<u64> {
        self.end_of_wait(self.node.thread(number)?, asked_ns)
    }

    fn shared_futex(&self, thread: &StaticThread<'_>, address: u64) -> Key {
        self.futex_key(thread.state, address)
    }

    fn test(&self) {}

    fn log(&self, text: &[u8]) {
        if self.node.settings.verbose {
            log(text);
        }
    }

    fn die(&self, reason: Arguments<'_>) -> ! {
        machine::die(reason)
    }
}
