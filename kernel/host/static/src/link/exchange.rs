// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One message to the Linux node and its reply: the state that packets change. [`super::Link`] has all exchanges, and
//! `waiting.rs` waits for replies.

use super::network::Endpoint;
use super::patience::{Patience, QUESTIONS};
use crate::machine::{Cpu, Machine};
use tacet_arch::Processor;
use tacet_wire::ask::Refusal;
use tacet_wire::client::Client;
use tacet_wire::key::{BULK_BYTES, Key};
use tacet_wire::packet::{Kind, Packet, Party};

pub struct Exchange {
    client: Client,
    key: Key,
    /// How refusals are signed.
    refuser: Key,
    /// The message, then the reply.
    pub message: &'static mut [u8],
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
    /// With room for a message of `bytes`. `None`: too little memory.
    pub fn new(machine: &mut Machine, slot: u16, packet_bytes: usize, bytes: usize) -> Option<Self> {
        Some(Self {
            client: Client::new(slot, packet_bytes),
            key: Key::new(&[0; 32]),
            refuser: Key::new(&[0; 32]),
            message: machine.keep_bytes(bytes)?,
            outcome: None,
            due: false,
        })
    }

    /// Begins to send the first `bytes` bytes of the message. `None`: too long.
    pub fn begin(&mut self, message: &Message<'_>, bytes: usize) -> Option<()> {
        // A key that is prepared stays so.
        if !self.key.is_same(message.key) {
            self.key = message.key.clone();
        }
        if bytes >= BULK_BYTES {
            self.key.prepare();
        }
        self.refuser = message.refuser.clone();
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
        if packet.payload().len() >= BULK_BYTES {
            self.key.prepare();
        }
        self.due = true;
        if let Ok(Some(bytes)) = self.client.receive(packet, &self.key, self.message) {
            self.outcome = Some(Outcome::Reply(bytes));
        }
    }

    /// Sends what is to be sent, as long as there is room: the rest stays due. Each packet is written where it is sent from.
    pub fn send_due(&mut self, endpoint: &mut Endpoint, port: u16) {
        let Self { client, key, message, .. } = self;
        while endpoint.has_room() {
            if !endpoint.send(port, |datagram| client.next_packet(key, message, datagram)) {
                self.due = false;
                return;
            }
        }
    }

    /// The job has ended, and nobody waits: its key stays with nobody.
    pub fn forget(&mut self) {
        self.key = Key::new(&[0; 32]);
        self.refuser = Key::new(&[0; 32]);
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

    /// Asks the other end if there was no progress for a while. True: there was no sign of it for so long that it is lost.
    pub fn waits_too_long(&mut self, patience: &mut Patience, cpu: &Cpu) -> bool {
        let now = cpu.cycles();
        if self.client.take_progress() {
            *patience = Patience::new(now);
        }
        if !patience.is_over(now, |ns| cpu.ticks(ns)) {
            return false;
        }
        self.ask_again() > QUESTIONS
    }

    /// Asks the other end. Returns how often in a row there was no sign of it.
    pub fn ask_again(&mut self) -> u32 {
        self.due = true;
        self.client.timeout()
    }

    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// There may be packets to send.
    pub fn is_due(&self) -> bool {
        self.due
    }

    /// The first `bytes` bytes of the message.
    pub fn text(&self, bytes: usize) -> &[u8] {
        self.message.get(..bytes).unwrap_or(&[])
    }
}
