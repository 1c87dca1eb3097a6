// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node's end of an exchange: sends a message and gets the other end's, whatever the network loses, doubles or
//! reorders. Without I/O: the caller moves datagrams and decides when to stop waiting.
//!
//! The kernel has one for each exchange that it can have in progress, with one buffer of
//! [`crate::packet::MESSAGE_BYTES`]: the reply overwrites the message, which the other end has by then. Only the client
//! repeats of its own accord; the other end answers. A client never gives up a message and begins another with the same
//! party, unless the job ends.

use crate::ask::Refusal;
use crate::fragments::{Fragment, Incoming, Outgoing, is_last};
use crate::key::{Key, TAG_BYTES};
use crate::packet::{HEADER_BYTES, Header, Kind, Packet, Party, flags, seal};

#[derive(Debug)]
pub struct Client {
    kind: Kind,
    party: Party,
    slot: u16,
    packet_bytes: usize,
    sequence: u64,
    outgoing: Outgoing,
    incoming: Incoming,
    in_progress: bool,
    question_due: bool,
    interrupt: bool,
    silent_timeouts: u32,
    progress: bool,
    /// Of the packet that was sent last.
    last_tag: [u8; TAG_BYTES],
}

/// Why a packet changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// It is not signed with the key.
    Forged,
    /// It is for somebody else.
    Misdirected,
    /// It belongs to an exchange that has ended.
    Stale,
    /// Its sizes contradict those of earlier packets.
    Sizes,
}

impl Client {
    /// `slot` comes back in every reply. `packet_bytes`: the longest packet that the link takes, between
    /// [`crate::packet::PACKET_BYTES`] and [`crate::packet::LARGE_PACKET_BYTES`].
    #[must_use]
    pub fn new(slot: u16, packet_bytes: usize) -> Self {
        Self {
            kind: Kind::Call,
            party: Party::default(),
            slot,
            packet_bytes,
            sequence: 0,
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            in_progress: false,
            question_due: false,
            interrupt: false,
            silent_timeouts: 0,
            progress: false,
            last_tag: [0; TAG_BYTES],
        }
    }

    /// Begins an exchange; the message is the first `bytes` of the buffer. `sequence` is one more than the party's
    /// last. `None`: so long a message cannot be sent.
    pub fn begin(&mut self, kind: Kind, party: Party, sequence: u64, bytes: usize) -> Option<()> {
        *self = Self { kind, party, sequence, ..Self::new(self.slot, self.packet_bytes) };
        self.outgoing = Outgoing::new(bytes, self.packet_bytes)?;
        self.in_progress = true;
        Some(())
    }

    /// The next packet to send, written to `datagram`; how long it is. To be called until `None`, after every other
    /// call.
    pub fn next_packet(&mut self, key: &Key, buffer: &[u8], datagram: &mut [u8]) -> Option<usize> {
        if !self.in_progress {
            return None;
        }
        let mut flags = flags::taking(self.packet_bytes);
        if self.interrupt {
            flags |= flags::INTERRUPT;
        }
        let (fragment, payload) = match self.outgoing.next(buffer) {
            Some(due) => due,
            None if self.question_due => {
                self.question_due = false;
                flags |= flags::ASK;
                self.outgoing.first_missing(buffer).unwrap_or_default()
            }
            None => return None,
        };
        let Fragment { index, count, bytes } = fragment;
        let header = Header {
            kind: self.kind,
            party: self.party,
            slot: self.slot,
            index,
            count,
            flags,
            bytes,
            sequence: self.sequence,
            have: self.incoming.have(),
        };
        let used = seal(&header, payload, key, datagram)?;
        self.last_tag = *datagram.get(HEADER_BYTES - TAG_BYTES..)?.first_chunk()?;
        Some(used)
    }

    /// Takes a packet that has come in. When the reply is complete, it is the first so many bytes of the buffer, and
    /// the exchange has ended.
    ///
    /// # Errors
    /// If the packet changes nothing.
    pub fn receive(&mut self, packet: &Packet<'_>, key: &Key, buffer: &mut [u8]) -> Result<Option<usize>, Ignored> {
        let header = &packet.header;
        let expected = if self.kind == Kind::Ask { Kind::Answer } else { Kind::Reply };
        if header.kind != expected || header.party != self.party || header.slot != self.slot {
            return Err(Ignored::Misdirected);
        }
        if !self.in_progress || header.sequence != self.sequence {
            return Err(Ignored::Stale);
        }
        if !packet.is_genuine(key) {
            return Err(Ignored::Forged);
        }
        if header.count == 0 {
            self.heard(header);
            return Ok(None);
        }
        self.incoming.accept(packet, buffer).ok_or(Ignored::Sizes)?;
        self.outgoing.acknowledge_all();
        self.progress = true;
        self.silent_timeouts = 0;
        let complete = self.incoming.complete();
        if complete.is_some() {
            self.in_progress = false;
        } else if is_last(header) {
            self.question_due = true;
        }
        Ok(complete)
    }

    /// Takes a refusal that has come in, signed with `key`: if it answers the packet that was sent last, the exchange has
    /// ended. Others change nothing: anybody can repeat an old refusal, and can make a restarted daemon refuse an old
    /// packet. If it was lost or overtaken, the next question is refused too.
    pub fn receive_refusal(&mut self, packet: &Packet<'_>, key: &Key) -> Option<Refusal> {
        let header = &packet.header;
        let ours = header.kind == Kind::Refusal
            && header.party == self.party
            && header.slot == self.slot
            && header.sequence == self.sequence;
        let (refusal, tag) = Refusal::decode(packet.payload())?;
        let answers = self.in_progress && ours && tag == self.last_tag && packet.is_genuine(key);
        self.in_progress &= !answers;
        answers.then_some(refusal)
    }

    /// Nothing has come for a while: asks, with what the other end may lack. How often this has happened since
    /// something came.
    pub fn timeout(&mut self) -> u32 {
        self.question_due = true;
        self.silent_timeouts = self.silent_timeouts.saturating_add(1);
        self.silent_timeouts
    }

    /// Whether anything has moved since this was asked last. That the other end is busy moves nothing.
    pub fn take_progress(&mut self) -> bool {
        core::mem::take(&mut self.progress)
    }

    /// Asks the other end to let the call end early, until the reply is there.
    pub fn interrupt(&mut self) {
        self.interrupt = true;
        self.question_due = true;
    }

    /// Ends the exchange without a reply: the job has ended.
    pub fn abandon(&mut self) {
        self.in_progress = false;
    }

    #[must_use]
    pub fn is_in_progress(&self) -> bool {
        self.in_progress
    }

    /// The other end has said what it has.
    fn heard(&mut self, header: &Header) {
        self.silent_timeouts = 0;
        if header.flags & flags::BUSY != 0 {
            self.outgoing.acknowledge_all();
        } else {
            self.outgoing.acknowledge(header.have);
            self.outgoing.send_again();
            self.progress = true;
        }
    }
}
