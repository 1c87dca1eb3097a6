// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One message to the Linux node and its reply: the state that packets change, and the waiting for it.
//!
//! Each CPU has one, for the call of the thread that it runs; the node has one more for orders. While a CPU waits it
//! polls the link and does nothing else, except that it answers flushes.

use crate::node::Node;
use tacet_arch::Processor;
use tacet_arch::native::Cpu;
use tacet_arch::native::alone::{Locked, Machine};
use tacet_shipping::ask::Refusal;
use tacet_shipping::client::Client;
use tacet_shipping::key::Key;
use tacet_shipping::packet::{Kind, LARGE_PACKET_BYTES, MESSAGE_BYTES, Packet, Party};

/// When the first question goes out, and how seldom they get.
pub const FIRST_PATIENCE_NS: u64 = 20_000_000;
pub const MOST_PATIENCE_NS: u64 = 640_000_000;
/// After so many questions in a row without any sign the other end is lost: about half a minute. On a host with thirty times as
/// much to do as it has CPUs, proxies did nothing for fourteen seconds.
pub const PATIENCE: u32 = 50;

/// How long a CPU looks for a reply without a halt, and how long it halts between two looks.
const SOON_NS: u64 = 300_000;
const SHORTEST_HALT_NS: u64 = 50_000;
const LONGEST_HALT_NS: u64 = 200_000_000;

pub struct Exchange {
    client: Client,
    key: Key,
    /// How refusals are signed.
    refuser: Key,
    /// The message, then the reply.
    pub message: &'static mut [u8],
    datagram: &'static mut [u8],
    outcome: Option<Outcome>,
    /// There may be packets to send.
    due: bool,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The reply is the first so many bytes.
    Reply(usize),
    /// The other end does not serve.
    Refused(Refusal),
}

/// Why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// The other end is silent.
    Silent,
    Refused(Refusal),
    /// The message is too long.
    TooLong,
    /// The waiting CPU has given up.
    GivenUp,
}

/// The wish of a waiting CPU for its exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    Wait,
    /// The call shall end early.
    Interrupt,
    GiveUp,
}

/// A message that is to be exchanged.
pub struct Message<'a> {
    pub kind: Kind,
    pub party: Party,
    pub sequence: u64,
    pub port: u16,
    pub key: &'a Key,
    /// How a refusal is signed.
    pub refuser: &'a Key,
}

impl Exchange {
    /// `None`: too little memory.
    pub fn new(machine: &mut Machine, slot: u16, large_packets: bool) -> Option<Self> {
        Some(Self {
            client: Client::new(slot, large_packets),
            key: Key::new(&[0; 32]),
            refuser: Key::new(&[0; 32]),
            message: machine.keep_bytes(MESSAGE_BYTES)?,
            datagram: machine.keep_bytes(LARGE_PACKET_BYTES)?,
            outcome: None,
            due: false,
        })
    }

    /// Begins to send the first `bytes` bytes of the message. `None`: too long.
    pub fn begin(&mut self, message: &Message<'_>, bytes: usize) -> Option<()> {
        (self.key, self.refuser) = (message.key.clone(), message.refuser.clone());
        (self.outcome, self.due) = (None, true);
        self.client.begin(message.kind, message.party, message.sequence, bytes)
    }

    /// A packet for this exchange has come. One that is not genuine changes nothing.
    pub fn receive(&mut self, packet: &Packet<'_>) {
        if packet.header.kind == Kind::Refusal {
            if let Some(refusal) = self.client.receive_refusal(packet, &self.refuser) {
                self.outcome = Some(Outcome::Refused(refusal));
            }
            return;
        }
        self.due = true;
        if let Ok(Some(bytes)) = self.client.receive(packet, &self.key, self.message) {
            self.outcome = Some(Outcome::Reply(bytes));
        }
    }

    /// Sends what is to be sent.
    pub fn send_due(&mut self, mut send: impl FnMut(&[u8])) {
        self.due = false;
        while let Some(bytes) = self.client.next_packet(&self.key, self.message, self.datagram) {
            send(self.datagram.get(..bytes).unwrap_or(&[]));
        }
    }

    /// The call shall end early.
    pub fn interrupt(&mut self) {
        self.client.interrupt();
        self.due = true;
    }

    /// Nobody waits any more.
    pub fn give_up(&mut self) {
        self.client.abandon();
        (self.outcome, self.due) = (None, false);
    }

    /// Asks the other end, since no packet has come for a while. Returns how often in a row that was so.
    pub fn ask_again(&mut self) -> u32 {
        self.due = true;
        self.client.timeout()
    }

    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }
}

impl Node {
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
        let end = self.await_reply(exchange, message, bytes, cpu, wish);
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
    ) -> Result<usize, Lost> {
        exchange.with(|exchange| exchange.begin(message, bytes)).ok_or(Lost::TooLong)?;
        let mut patience = FIRST_PATIENCE_NS;
        let begun = cpu.cycles();
        let mut asked = begun;
        let mut interrupted = false;
        loop {
            self.send_packets(exchange, message.port);
            self.poll_link();
            match exchange.with(|exchange| exchange.outcome()) {
                Some(Outcome::Reply(bytes)) => return Ok(bytes),
                Some(Outcome::Refused(refusal)) => return Err(Lost::Refused(refusal)),
                None => {}
            }
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
            if cpu.cycles().wrapping_sub(asked) > cpu.ticks(patience) {
                let silent = exchange.with(|exchange| exchange.ask_again());
                if silent > PATIENCE {
                    exchange.with(Exchange::give_up);
                    return Err(Lost::Silent);
                }
                asked = cpu.cycles();
                patience = (2 * patience).min(MOST_PATIENCE_NS);
            }
            self.rest(cpu, cpu.cycles().wrapping_sub(begun));
        }
    }

    /// The link's lock comes first: a CPU that has it hands packets to exchanges.
    pub fn send_packets(&self, exchange: &Locked<Exchange>, port: u16) {
        if !exchange.with(|exchange| exchange.due) {
            return;
        }
        self.link.with(|link| exchange.with(|exchange| exchange.send_due(|packet| link.send(port, packet))));
    }

    /// Between two looks: a reply mostly comes soon; after a while the CPU halts in between, for longer and longer.
    fn rest(&self, cpu: &Cpu, waited: u64) {
        if waited < cpu.ticks(SOON_NS) {
            core::hint::spin_loop();
        } else {
            let ticks = (waited / 8).clamp(cpu.ticks(SHORTEST_HALT_NS), cpu.ticks(LONGEST_HALT_NS));
            self.halt_until_something_comes(cpu, ticks);
        }
    }
}
