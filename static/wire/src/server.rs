// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Linux node's end of an exchange: takes each message exactly once, and in order, and repeats the reply while the
//! node asks for it. Without I/O: the caller moves datagrams.
//!
//! The daemon and the proxies have one for each party, with a buffer of [`crate::packet::MESSAGE_BYTES`] for the message
//! and another for the reply. A server never sends of its own accord, except for [`Server::remind`], and never answers a packet
//! that is not signed.

use crate::client::Ignored;
use crate::fragments::{Fragment, Incoming, Outgoing, is_last};
use crate::key::Key;
use crate::packet::{Header, Kind, PACKET_BYTES, Packet, Party, flags, seal};

#[derive(Debug)]
pub struct Server {
    kind: Kind,
    party: Party,
    slot: u16,
    /// The longest that the node's link takes.
    packet_bytes: usize,
    sequence: u64,
    incoming: Incoming,
    outgoing: Outgoing,
    state: State,
    report_due: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Receiving,
    /// The caller works on the message.
    Working,
    Replied,
}

/// Something for the caller to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Nothing,
    /// The message is complete: the first so many bytes of its buffer. The caller works on it, then calls
    /// [`Server::reply`].
    Message(usize),
    /// The node wants the work in progress to end early. Comes again until the reply is there.
    Interrupt,
}

impl Server {
    /// For messages of this kind, `Call` or `Ask`, from this party.
    #[must_use]
    pub fn new(kind: Kind, party: Party) -> Self {
        Self {
            kind,
            party,
            slot: 0,
            packet_bytes: PACKET_BYTES,
            sequence: 0,
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            state: State::Receiving,
            report_due: false,
        }
    }

    /// Takes a packet that has come in.
    ///
    /// # Errors
    /// If the packet changes nothing.
    pub fn receive(&mut self, packet: &Packet<'_>, key: &Key, message: &mut [u8]) -> Result<Event, Ignored> {
        let header = &packet.header;
        if header.kind != self.kind || header.party != self.party {
            return Err(Ignored::Misdirected);
        }
        if !packet.is_genuine(key) {
            return Err(Ignored::Forged);
        }
        let is_next = header.sequence > self.sequence;
        if header.sequence < self.sequence || header.sequence == 0 || (is_next && self.state == State::Working) {
            return Err(Ignored::Stale);
        }
        if is_next {
            *self = Self { sequence: header.sequence, ..Self::new(self.kind, self.party) };
        }
        self.slot = header.slot;
        self.packet_bytes = flags::taken(header.flags);
        let asked = header.flags & flags::ASK != 0;
        match self.state {
            State::Receiving => self.receive_fragment(packet, message),
            State::Working => {
                self.report_due |= asked;
                Ok(if header.flags & flags::INTERRUPT != 0 { Event::Interrupt } else { Event::Nothing })
            }
            State::Replied => {
                self.outgoing.acknowledge(header.have);
                if asked {
                    self.outgoing.send_again();
                }
                Ok(Event::Nothing)
            }
        }
    }

    /// The work is done; the reply is the first `bytes` of its buffer. `None`: so long a reply cannot be sent, or no
    /// message is being worked on.
    pub fn reply(&mut self, bytes: usize) -> Option<()> {
        if self.state != State::Working {
            return None;
        }
        self.outgoing = Outgoing::new(bytes, self.packet_bytes)?;
        self.state = State::Replied;
        self.report_due = false;
        Some(())
    }

    /// The next packet to send, written to `datagram`; how long it is. To be called until `None`, after every other
    /// call.
    pub fn next_packet(&mut self, key: &Key, reply: &[u8], datagram: &mut [u8]) -> Option<usize> {
        let (fragment, payload) = match self.outgoing.next(reply) {
            Some(due) => due,
            None if self.report_due => {
                self.report_due = false;
                Default::default()
            }
            None => return None,
        };
        let Fragment { index, count, bytes } = fragment;
        let header = Header {
            kind: if self.kind == Kind::Ask { Kind::Answer } else { Kind::Reply },
            party: self.party,
            slot: self.slot,
            index,
            count,
            flags: if self.state == State::Working { flags::BUSY } else { 0 },
            bytes,
            sequence: self.sequence,
            have: self.incoming.have(),
        };
        seal(&header, payload, key, datagram)
    }

    /// The number of the last message that began. A packet that raises it is new; anybody can repeat others.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Lets the next packet say what this end has, though nobody asked: whoever gets it looks at its exchange.
    pub fn remind(&mut self) {
        self.report_due = true;
    }

    /// Whether a message is being worked on.
    #[must_use]
    pub fn is_working(&self) -> bool {
        self.state == State::Working
    }

    fn receive_fragment(&mut self, packet: &Packet<'_>, message: &mut [u8]) -> Result<Event, Ignored> {
        let header = &packet.header;
        if header.count != 0 {
            self.incoming.accept(packet, message).ok_or(Ignored::Sizes)?;
        }
        if let Some(bytes) = self.incoming.complete() {
            self.state = State::Working;
            return Ok(Event::Message(bytes));
        }
        self.report_due |= header.flags & flags::ASK != 0 || is_last(header);
        Ok(Event::Nothing)
    }
}
