// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Turns on a CPU whose host answers calls itself: no other kernel ends the turn of a thread that computes or spins while
//! others wait for its CPU, so the CPU's own timer does.
//!
//! A thread that is alone on its CPU has no turn and takes no interrupt. Others are threads in the queue, threads that sleep
//! here, and what the host itself waits for.

use crate::cpu::Cpu;
use crate::host::Host;
use tacet_arch::{Processor, Turn};

/// How long a thread computes while others are in the queue.
pub const TURN_NS: u64 = 10_000_000;
/// How seldom it is interrupted for the host, and for sleeps that end.
const HOST_NS: u64 = 1_000_000;
const SLEEP_NS: u64 = 100_000;

impl<H: Host> Cpu<H> {
    /// A thread that is loaded begins to run.
    #[inline]
    pub(crate) fn begin_turn(&mut self) {
        if !H::ANSWERS {
            return;
        }
        self.turn_is_shared = !self.queue.is_empty();
        match self.ticks_of_turn() {
            Some(ticks) => self.host.processor().begin_turn(ticks),
            None => self.host.processor().end_turn(),
        }
    }

    /// Threads may have come while one runs, whose turn had no end or lasted until some sleep's.
    #[inline]
    pub(crate) fn begin_turn_if_others_came(&mut self) {
        if H::ANSWERS && !self.turn_is_shared && !self.queue.is_empty() {
            self.begin_turn();
        }
    }

    #[inline]
    pub(crate) fn turn_is_over(&self) -> bool {
        H::ANSWERS && self.host.processor().turn() == Turn::Over
    }

    /// The running thread goes behind the others, and behind those whose waits have just ended. False: the host ends the
    /// service.
    pub(crate) fn pass_turn_on(&mut self, number: u32) -> bool {
        self.end_waits_that_are_over();
        self.host.looks_between_turns();
        let goes_on = self.serve_requests(true);
        self.yield_cpu(number);
        goes_on
    }

    /// `None`: nobody waits for the CPU.
    fn ticks_of_turn(&mut self) -> Option<u64> {
        let sleep = self.ticks_until_a_wait_ends();
        let processor = self.host.processor();
        let sleep = sleep.map(|ticks| ticks.max(processor.ticks(SLEEP_NS)));
        let others = (!self.queue.is_empty()).then(|| processor.ticks(TURN_NS));
        let host = self.host.waits_for_something().then(|| processor.ticks(HOST_NS));
        [sleep, others, host].into_iter().flatten().min()
    }
}
