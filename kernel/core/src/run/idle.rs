// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A CPU that has nothing to run: it halts, until the doorbell rings or until a time.

use crate::cpu::Cpu;
use crate::host::Host;
use tacet_arch::Processor;
use tacet_logic::handshake::idle::{Rest, rest};

/// About what a halt, a doorbell and the way back take.
const SPIN_NS: u64 = 5_000;
/// A halt for less than this is not worth its beginning and end.
const SHORTEST_HALT_NS: u64 = 20_000;

impl<H: Host> Cpu<H> {
    /// Halts until the doorbell rings, or for so many ticks, or for less; returns at once if it has rung. While one of
    /// the CPU's threads waits, it first looks for a while whether that thread is woken: for as long as a halt and its
    /// end would take. If a thread has just gone to its host with a question, it looks for as long as the host says that
    /// answers take.
    pub(crate) fn idle(&self, ticks: Option<u64>) {
        let processor = self.host.processor();
        let end = ticks.map(|ticks| processor.cycles().saturating_add(ticks));
        let left = || end.map_or(u64::MAX, |end| end.saturating_sub(processor.cycles()));
        let answer_ns = if self.asked.take() { self.host.answers_within_ns() } else { 0 };
        let look = || {
            let short = left() < processor.ticks(SHORTEST_HALT_NS);
            let patience = if short { SHORTEST_HALT_NS } else { SPIN_NS };
            processor.spin(patience.max(answer_ns), || self.anybody_woken() || processor.is_wanted() || left() == 0);
        };
        let look = (self.waiting() != 0 || answer_ns != 0).then_some(look);
        let is_over = || self.anybody_woken() || processor.is_wanted() || left() == 0;
        let say = |rest: Rest| processor.set_mode(rest.into());
        rest(say, look, is_over, || processor.halt(end.map(|_| left())));
    }
}
