// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The waiting of CPUs for what comes by the link: who looks, for how long a CPU halts between two looks, and when the
//! other end counts as lost.
//!
//! A CPU that waits for a reply polls the link and does nothing else, except that it answers flushes and what it
//! `wish`es. While no CPU looks, the link interrupts CPU 0, whatever that does: so orders of the daemon reach a node whose
//! CPUs all compute.

use super::exchange::{Exchange, Lost, Message, Outcome, Wish};
use super::patience::Patience;
use super::{Line, Link};
use crate::machine::Cpu;
use crate::machine::Locked;
use crate::machine::relax;
use tacet_arch::Processor;
use tacet_core::request;
use tacet_logic::listening::listen_from_now_on;

/// How long a CPU looks for a reply without a halt, and how long it halts between two looks.
const SOON_NS: u64 = 300_000;
/// A reply that has not come by then may be for an address that the other end has forgotten: it asks everybody for it.
const BROADCASTS_NS: u64 = 20_000_000;
const SHORTEST_HALT_NS: u64 = 50_000;
const LONGEST_HALT_NS: u64 = 200_000_000;
/// The same if the link does not interrupt it.
const LONGEST_DEAF_HALT_NS: u64 = 2_000_000;

impl Link {
    /// Sends the first `bytes` bytes of the exchange's message and waits for the reply, which is in their place then.
    pub fn converse(
        &self,
        exchange: &Locked<Exchange>,
        message: &Message<'_>,
        bytes: usize,
        cpu: &Cpu,
        wish: impl FnMut() -> Wish,
    ) -> Result<usize, Lost> {
        self.begin_looking();
        let mut held = 0;
        let end = self.await_reply(exchange, message, bytes, cpu, wish, &mut held);
        if held != 0 {
            cpu.call(cpu.index(), held);
        }
        self.end_looking(cpu);
        end
    }

    fn await_reply(
        &self,
        exchange: &Locked<Exchange>,
        message: &Message<'_>,
        bytes: usize,
        cpu: &Cpu,
        mut wish: impl FnMut() -> Wish,
        held: &mut u32,
    ) -> Result<usize, Lost> {
        exchange.with(|exchange| exchange.begin(message, bytes)).ok_or(Lost::TooLong)?;
        let begun = cpu.cycles();
        let mut patience = Patience::new(begun);
        let mut interrupted = false;
        loop {
            self.send_packets(exchange, message.port);
            self.poll();
            match exchange.with(|exchange| exchange.outcome()) {
                Some(Outcome::Reply(bytes)) => return Ok(bytes),
                Some(Outcome::Refused(refusal)) => return Err(Lost::Refused(refusal)),
                None => {}
            }
            // The core answers requests after the call. Until then they would end each halt at once: a thread that is
            // posted to this CPU, say, must not make it poll for as long as a call takes. They are taken before the wish
            // is looked at, so that a later one ends the next halt.
            *held |= cpu.take_attention();
            match wish() {
                Wish::Wait => {}
                Wish::Interrupt if interrupted => {}
                Wish::Interrupt => {
                    interrupted = true;
                    exchange.with(|exchange| exchange.interrupt());
                }
                Wish::GiveUp => {
                    exchange.with(Exchange::give_up);
                    return Err(Lost::GivenUp);
                }
            }
            if exchange.with(|exchange| exchange.waits_too_long(&mut patience, cpu)) {
                exchange.with(Exchange::give_up);
                return Err(Lost::Silent);
            }
            match exchange.with(|exchange| exchange.is_due()) {
                true => relax(), // the link has no room yet
                false => self.rest(cpu, cpu.cycles().wrapping_sub(begun)),
            }
        }
    }

    /// Between two looks: a reply mostly comes soon; after a while the CPU halts in between, for longer and longer.
    fn rest(&self, cpu: &Cpu, waited: u64) {
        if waited > cpu.ticks(BROADCASTS_NS) {
            self.line.with(|line| line.endpoint.hear_broadcasts(true));
        }
        if waited < cpu.ticks(SOON_NS) {
            relax();
        } else {
            let ticks = (waited / 8).clamp(cpu.ticks(SHORTEST_HALT_NS), cpu.ticks(LONGEST_HALT_NS));
            self.halt_until_something_comes(cpu, ticks);
        }
    }

    /// This CPU looks again and again from here on: the link need not interrupt.
    pub fn begin_looking(&self) {
        self.line.with(|line| {
            line.lookers += 1;
            if line.lookers == 1 {
                line.endpoint.listen(false);
            }
        });
    }

    /// This CPU looks no more. If no CPU looks, the link interrupts when something comes.
    pub fn end_looking(&self, cpu: &Cpu) {
        self.line.with(|line| {
            line.lookers -= 1;
            if line.lookers == 0 {
                line.endpoint.hear_broadcasts(false);
                let interrupts = line.endpoint.interrupts();
                let listen = |line: &mut Line| line.endpoint.listen(true);
                listen_from_now_on(line, interrupts, listen, |line| self.take_packets(line));
            }
        });
        self.tell_of_orders(cpu);
    }

    /// This CPU, which goes on with something else, may have taken an order: CPU 0 leaves its program and looks.
    pub fn tell_of_orders(&self, cpu: &Cpu) {
        if self.orders().with(|exchange| exchange.outcome().is_some()) {
            cpu.call(0, request::POSTED);
        }
    }

    /// A CPU that looks halts until something comes, or for so many ticks.
    pub fn halt_until_something_comes(&self, cpu: &Cpu, ticks: u64) {
        let is_rung = cpu.index() == 0 && self.line.with(|line| line.lookers == 1 && line.endpoint.listen(true));
        if is_rung {
            cpu.halt_for_link(ticks);
            self.line.with(|line| line.endpoint.listen(false));
        } else {
            cpu.halt(Some(ticks.min(cpu.ticks(LONGEST_DEAF_HALT_NS))));
        }
    }
}
