// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads that wait on this CPU: until a time, for a futex, or both.
//!
//! Their time is kept only while the CPU has nothing to run: a program that computes is not interrupted for another
//! thread's sake. When the CPU gets something to run, threads with a time continue to wait with their host, and so do
//! threads that are recalled.

use crate::base::escape::Escape;
use crate::base::place::{Event, Place, Recall};
use crate::cpu::Cpu;
use crate::host::{Host, Thread};
use tacet_arch::Processor;
use tacet_logic::deadlines::{Clock, Deadline};
use tacet_logic::woken::Taken;

/// ETIMEDOUT, as a call gives it.
const TIMED_OUT: u64 = -110i64 as u64;

impl<H: Host> Cpu<H> {
    /// Lets threads continue whose time has come. Where the end cannot be told, all continue to wait with the host.
    pub(crate) fn end_waits_that_are_over(&mut self) {
        if self.waits.get_mut().is_empty() {
            return;
        }
        let Some(clock) = self.host.clock() else { return self.give_waits_away() };
        loop {
            let now = self.host.processor().cycles();
            let Some(number) = self.waits.get_mut().take_over(&clock, now) else { return };
            let result = match self.place(number) {
                Place::WaitsForTime if H::ANSWERS => self.host.result_of_sleep(number),
                Place::WaitsForTime => 0,
                Place::WaitsForFutex if self.common().futexes.cancel(number) => TIMED_OUT,
                _ => continue, // it has just been woken
            };
            let room = self.room(false);
            self.end_wait_and_proceed(number, Event::Over(room), result);
        }
    }

    /// How long the CPU may halt at most; `None`: until the bell rings.
    pub(crate) fn ticks_until_a_wait_ends(&mut self) -> Option<u64> {
        if self.waits.get_mut().is_empty() {
            return None;
        }
        let (clock, now) = (self.clock_or_counter(), self.host.processor().cycles());
        self.waits.get_mut().ticks_left(&clock, now)
    }

    /// Gives the host all threads that wait until a time.
    #[inline]
    pub(crate) fn give_waits_away(&mut self) {
        while let Some((number, deadline)) = self.waits.get_mut().take_any() {
            self.give_wait_away(number, Some(deadline));
        }
    }

    /// Gives the host the threads that wait here and that it has recalled: they continue to wait there.
    pub(crate) fn return_recalled_waits(&mut self) {
        if self.waiting() == 0 {
            return;
        }
        let here = self.host.processor().index();
        let mut next = self.waiting.from(0);
        while let Some(number) = next {
            next = self.waiting.from(number + 1);
            if !matches!(self.place(number), Place::WaitsForFutex | Place::WaitsForTime) {
                continue; // it is on the list of woken threads
            }
            let thread = self.present(number);
            if thread.home() != here {
                self.host.die(format_args!("thread {number}: it waits here, and its CPU is number {}", thread.home()));
            }
            let recalled = thread.recall() == Recall::Always;
            drop(thread);
            if recalled {
                let deadline = self.waits.get_mut().remove(number);
                self.give_wait_away(number, deadline);
            }
        }
    }

    /// Gives the host a thread that waits, unless it has just been woken.
    fn give_wait_away(&mut self, number: u32, deadline: Option<Deadline>) {
        let left_ns = match self.place(number) {
            Place::WaitsForFutex if self.common().futexes.cancel(number) => None,
            Place::WaitsForTime => {
                let (clock, now) = (self.clock_or_counter(), self.host.processor().cycles());
                deadline.map(|deadline| deadline.ns_left(&clock, now))
            }
            _ => return,
        };
        self.end_wait(number, Event::Leave, None);
        self.give_back(number, Escape::Waiting { left_ns });
    }

    /// Whether another CPU has woken a thread of this one.
    pub(crate) fn anybody_woken(&self) -> bool {
        let here = self.host.processor().index() as usize;
        self.common().woken.get(here).is_some_and(|list| !list.is_empty())
    }

    /// Takes the threads of this CPU that were woken.
    #[inline]
    pub(crate) fn take_woken(&self) -> Taken {
        let here = self.host.processor().index() as usize;
        let common = self.common();
        common.woken.get(here).map_or(Taken::NONE, |list| list.take(&common.next_woken))
    }

    /// The host's clock, or, where it cannot be told, one of which only the counter is known.
    fn clock_or_counter(&self) -> Clock {
        let processor = self.host.processor();
        self.host.clock().unwrap_or(Clock::unread(processor.cycles(), processor.cycles_per_ms()))
    }
}
