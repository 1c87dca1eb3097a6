// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets: a header of 64 bytes and a fragment of a message, in one datagram.
//!
//! Both ends encode with [`seal`] and decode with [`Packet::parse`]. A parsed packet has consistent sizes, but anybody
//! may have sent it: nobody may act on its contents before [`Packet::is_genuine`] has said yes.

use crate::bytes::{Reader, Writer};
use crate::key::{Key, TAG_BYTES};

pub const HEADER_BYTES: usize = 64;
/// A datagram that no Ethernet splits: each end takes it.
pub const PACKET_BYTES: usize = 1472;
/// The longest, for links that have no frames of Ethernet's size: a piece with its head is two.
pub const LARGE_PACKET_BYTES: usize = 33_024;
/// A bit each in `have`.
pub const MAX_FRAGMENTS: usize = 64;
/// The data of one call. Longer reads and writes are several calls.
pub const PIECE_BYTES: usize = 64 << 10;
/// Paths, arguments and heads beside a piece.
const BESIDE_BYTES: usize = 12 << 10;
/// The longest message from a node, and the shortest buffer for messages: a piece, with two paths and arguments beside it.
pub const MESSAGE_BYTES: usize = PIECE_BYTES + BESIDE_BYTES;
/// The data of one call that reads, where the node has a buffer for it and a link of long packets. The packets of such a
/// reply follow each other, so all who pass them on work at once. Not of one that writes: nobody could receive as much as that
/// before it is looked at.
pub const LARGE_PIECE_BYTES: usize = 256 << 10;
/// The longest message to a node.
pub const LARGE_MESSAGE_BYTES: usize = LARGE_PIECE_BYTES + BESIDE_BYTES;

/// Whether the longest message fits into packets of so many bytes.
pub const fn takes_large(packet_bytes: usize) -> bool {
    packet_bytes.saturating_sub(HEADER_BYTES) * MAX_FRAGMENTS >= LARGE_MESSAGE_BYTES
}

/// The data of one call that reads into a buffer for messages of this length.
pub(crate) fn read_bytes(buffer: usize) -> usize {
    buffer.saturating_sub(BESIDE_BYTES).clamp(PIECE_BYTES, LARGE_PIECE_BYTES)
}

const MAGIC: [u8; 2] = *b"TC";
const VERSION: u8 = 2;
const TAG_AT: usize = HEADER_BYTES - TAG_BYTES;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A system call, to the proxy of its process.
    Call,
    Reply,
    /// A question of a node, to the daemon.
    Ask,
    Answer,
    /// The other end cannot serve; the payload is a [`crate::ask::Refusal`].
    Refusal,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Call, Self::Reply, Self::Ask, Self::Answer, Self::Refusal];

    fn number(self) -> u8 {
        self as u8 + 1
    }

    fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

/// The thread of a node that a message is from or for. Asks have job 0 and process 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Party {
    pub node: u32,
    pub job: u32,
    /// The process's rank in the job.
    pub process: u32,
    /// The thread's number in its process; the node never gives a number twice.
    pub thread: u32,
}

/// The low bits of `flags`. The others say how long a packet the sender's link takes.
pub mod flags {
    use super::{LARGE_PACKET_BYTES, PACKET_BYTES};

    /// Say which fragments of my message you have.
    pub const ASK: u16 = 1;
    /// The message is complete, and the work in progress.
    pub const BUSY: u16 = 2;
    /// Let the call end early, as by a signal.
    pub const INTERRUPT: u16 = 4;

    const UNIT_BYTES: usize = 16;
    const SIZE_AT: u32 = 4;

    /// Says that the link takes packets of `bytes`, or a few bytes less.
    pub(crate) fn taking(bytes: usize) -> u16 {
        ((bytes / UNIT_BYTES) as u16) << SIZE_AT
    }

    /// How long packets to the sender may be.
    pub(crate) fn taken(flags: u16) -> usize {
        (usize::from(flags >> SIZE_AT) * UNIT_BYTES).clamp(PACKET_BYTES, LARGE_PACKET_BYTES)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub kind: Kind,
    pub party: Party,
    /// The node's exchange; the other end echoes it.
    pub slot: u16,
    /// The number of this fragment.
    pub index: u16,
    /// How many fragments the message has. 0: this packet brings no fragment.
    pub count: u16,
    pub flags: u16,
    /// The whole message's length.
    pub bytes: u32,
    /// The message's number: per party, from 1. A reply has its call's.
    pub sequence: u64,
    /// The fragments of the other end's message that the sender has: bit n is fragment n.
    pub have: u64,
}

/// A packet as it came in.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    pub header: Header,
    payload: &'a [u8],
    offset: usize,
    signed: &'a [u8],
    tag: [u8; TAG_BYTES],
}

/// Why a datagram is no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// Not of this protocol, or of another version of it.
    Stranger,
    /// Its sizes contradict each other.
    Sizes,
}

impl<'a> Packet<'a> {
    /// Takes a datagram apart.
    ///
    /// # Errors
    /// If it cannot be a packet of any sender.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, Malformed> {
        let (signed, _) = datagram.split_at_checked(TAG_AT).ok_or(Malformed::Stranger)?;
        let mut fields = Reader::new(datagram);
        let header = decode(&mut fields).ok_or(Malformed::Stranger)?;
        let tag = fields.array().ok_or(Malformed::Stranger)?;
        let payload = fields.rest();
        let offset = offset(&header, payload.len()).ok_or(Malformed::Sizes)?;
        Ok(Self { header, payload, offset, signed, tag })
    }

    /// Whether a holder of `key` has sent this packet.
    #[must_use]
    pub fn is_genuine(&self, key: &Key) -> bool {
        key.verifies(self.signed, self.payload, &self.tag)
    }

    /// The signature: nobody without the key can tell it before the packet is sent.
    #[must_use]
    pub fn tag(&self) -> &[u8; TAG_BYTES] {
        &self.tag
    }

    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Where in the message the payload belongs.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The length of all fragments except the last.
    #[must_use]
    pub fn fragment_bytes(&self) -> usize {
        match self.header.index {
            0 => self.payload.len(),
            index => self.offset / usize::from(index),
        }
    }
}

/// Writes a packet to `datagram`; how long it is. `None`: it does not fit.
#[must_use]
pub fn seal(header: &Header, payload: &[u8], key: &Key, datagram: &mut [u8]) -> Option<usize> {
    let mut fields = Writer::new(datagram);
    encode(header, &mut fields)?;
    fields.bytes(&[0; TAG_BYTES])?;
    fields.bytes(payload)?;
    let used = fields.used();
    let tag = key.packet_tag(datagram.get(..TAG_AT)?, payload);
    datagram.get_mut(TAG_AT..HEADER_BYTES)?.copy_from_slice(&tag);
    Some(used)
}

fn decode(fields: &mut Reader<'_>) -> Option<Header> {
    if fields.array()? != MAGIC || fields.u8()? != VERSION {
        return None;
    }
    let kind = Kind::from_number(fields.u8()?)?;
    let party = Party { node: fields.u32()?, job: fields.u32()?, process: fields.u32()?, thread: fields.u32()? };
    let (slot, index, count, flags) = (fields.u16()?, fields.u16()?, fields.u16()?, fields.u16()?);
    let (bytes, sequence, have) = (fields.u32()?, fields.u64()?, fields.u64()?);
    Some(Header { kind, party, slot, index, count, flags, bytes, sequence, have })
}

fn encode(header: &Header, fields: &mut Writer<'_>) -> Option<()> {
    fields.bytes(&MAGIC)?;
    fields.u8(VERSION)?;
    fields.u8(header.kind.number())?;
    let Party { node, job, process, thread } = header.party;
    for number in [node, job, process, thread] {
        fields.u32(number)?;
    }
    for number in [header.slot, header.index, header.count, header.flags] {
        fields.u16(number)?;
    }
    fields.u32(header.bytes)?;
    fields.u64(header.sequence)?;
    fields.u64(header.have)
}

/// Where the payload belongs, if the sizes agree: all fragments except the last are equally long, and the last is not
/// longer.
fn offset(header: &Header, payload: usize) -> Option<usize> {
    let (index, count, bytes) = (usize::from(header.index), usize::from(header.count), header.bytes as usize);
    if count == 0 {
        return (index == 0 && payload == 0 && bytes == 0).then_some(0);
    }
    if index >= count || count > MAX_FRAGMENTS || bytes > LARGE_MESSAGE_BYTES || payload == 0 || payload > bytes {
        return None;
    }
    if count == 1 {
        return (payload == bytes).then_some(0);
    }
    let before = count - 1;
    if index < before {
        return (before * payload < bytes && bytes <= count * payload).then_some(index * payload);
    }
    let offset = bytes - payload;
    (offset.is_multiple_of(before) && payload <= offset / before).then_some(offset)
}
