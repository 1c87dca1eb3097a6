// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node's end of a shipped call, second half: puts a reply's outputs into the program's memory and decides whether
//! another piece follows. The first half is `marshal.rs`.

use crate::bytes::Reader;
use crate::calls::{Kind, Size};
use crate::errno::Errno;
use crate::head::{CUT, LENGTHS_BYTES, NO_BUFFER, ReplyHead, WHOLE, at, filled};
use crate::marshal::{Shipment, UserMemory};
use crate::memory::{CONTROL_LENGTH_AT, FLAGS_AT, MESSAGE_LENGTH_AT, MessageHeader, NAME_LENGTH_AT, Vector};
use crate::packet::PIECE_BYTES;

/// The meaning of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// The call's result. `None`: another piece follows.
    pub result: Option<i64>,
    /// The signals that the proxy has received for the process since the last reply: bit n-1 is signal n.
    pub pending: u64,
}

const GETRANDOM: u32 = 318;
const RECVFROM: u32 = 45;
const MSG_WAITALL: u64 = 0x100;

impl Shipment {
    /// Takes the reply to the piece in progress.
    pub fn finish(&mut self, reply: &[u8], memory: &impl UserMemory) -> Finished {
        let mut fields = Reader::new(reply);
        let Some(head) = ReplyHead::decode(&mut fields) else {
            return Finished { result: Some(self.failed(Errno::EIO)), pending: 0 };
        };
        let pending = head.pending;
        if head.result < 0 {
            return Finished { result: Some(self.total(head.result)), pending };
        }
        if let Err(errno) = self.outputs(&head, fields, memory) {
            return Finished { result: Some(self.failed(errno)), pending };
        }
        if !self.moves_bytes() {
            return Finished { result: Some(head.result), pending };
        }
        let moved = filled(head.result, 1, self.piece);
        self.done = self.done.saturating_add(moved as u64);
        let is_full = self.sent.flags & CUT != 0 && moved == self.piece && moved > 0;
        if is_full && self.continues(&head) {
            return Finished { result: None, pending };
        }
        // A call may report more than it moves: the length of a datagram that did not fit.
        let result = if self.done > moved as u64 { self.total(head.result) } else { head.result };
        Finished { result: Some(self.end(result, memory)), pending }
    }

    /// For the first of many messages, its length is not the result, but beside the message.
    fn end(&self, result: i64, memory: &impl UserMemory) -> i64 {
        let [_, first, ..] = self.arguments;
        if !self.many {
            return result;
        }
        let length = result.to_le_bytes();
        let [l0, l1, l2, l3, ..] = length;
        match memory.write(first.wrapping_add(MESSAGE_LENGTH_AT), &[l0, l1, l2, l3]) {
            Some(()) => 1,
            None => Errno::EFAULT.result(),
        }
    }

    /// Whether the result counts bytes of a buffer of the program's.
    fn moves_bytes(&self) -> bool {
        self.kinds.iter().any(|kind| match kind {
            Kind::Fill(Size::Times(unit, _)) => *unit == 1,
            Kind::Stream(_) | Kind::Gather(_) | Kind::Scatter(_) | Kind::MessageIn | Kind::MessageOut => true,
            _ => false,
        })
    }

    /// Whether a piece that was full is followed by another.
    fn continues(&self, head: &ReplyHead) -> bool {
        let [_, _, _, flags, ..] = self.arguments;
        let writes = |kind: &Kind| matches!(kind, Kind::Stream(_) | Kind::Gather(_) | Kind::MessageIn);
        self.kinds.iter().any(writes)
            || head.flags & WHOLE != 0
            || self.number == GETRANDOM
            || (self.number == RECVFROM && flags & MSG_WAITALL != 0)
    }

    fn outputs(&self, head: &ReplyHead, mut fields: Reader<'_>, memory: &impl UserMemory) -> Result<(), Errno> {
        let lengths = self.pointed(head, fields);
        for ((index, kind), size) in (0u8..).zip(self.kinds).zip(self.sent.sizes) {
            if size == NO_BUFFER {
                continue;
            }
            let address = at(&self.sent.arguments, index);
            let size = size as usize;
            match kind {
                Kind::Out(Size::Pointed(length)) => {
                    let output = fields.take(size).ok_or(Errno::EIO)?;
                    let used = lengths.get(usize::from(length)).copied().flatten().ok_or(Errno::EIO)?;
                    let used = output.get(..used.min(size)).ok_or(Errno::EIO)?;
                    put(memory, address, used)?;
                }
                Kind::Out(_) | Kind::InOut(_) => {
                    let output = fields.take(size).ok_or(Errno::EIO)?;
                    put(memory, address, output)?;
                }
                Kind::Fill(of) => {
                    let output = fields.take(filled(head.result, unit(of), size)).ok_or(Errno::EIO)?;
                    put(memory, address.wrapping_add(self.done), output)?;
                }
                Kind::Scatter(count) => {
                    let output = fields.take(filled(head.result, 1, size)).ok_or(Errno::EIO)?;
                    self.scatter(Vector { address, count: at(&self.arguments, count) }, output, memory)?;
                }
                Kind::MessageOut => self.message(address, head, &mut fields, memory)?,
                _ => {}
            }
        }
        if fields.rest().is_empty() { Ok(()) } else { Err(Errno::EIO) }
    }

    /// The 32-bit numbers among the outputs, by argument: lengths of others.
    fn pointed(&self, head: &ReplyHead, mut fields: Reader<'_>) -> [Option<usize>; 6] {
        let mut lengths = [None; 6];
        for ((kind, size), length) in self.kinds.iter().zip(self.sent.sizes).zip(&mut lengths) {
            let bytes = match kind {
                Kind::Out(_) | Kind::InOut(_) if size != NO_BUFFER => size as usize,
                Kind::Fill(of) if size != NO_BUFFER => filled(head.result, unit(*of), size as usize),
                _ => continue,
            };
            let Some(output) = fields.take(bytes) else { break };
            *length = output.try_into().ok().map(|number| u32::from_le_bytes(number) as usize);
        }
        lengths
    }

    fn scatter(&self, vector: Vector, mut data: &[u8], memory: &impl UserMemory) -> Result<(), Errno> {
        let walked = vector.walk(memory, self.done, data.len().min(PIECE_BYTES), |address, bytes| {
            let (portion, rest) = data.split_at_checked(bytes)?;
            data = rest;
            memory.write(address, portion)
        });
        walked.map(|_| ())
    }

    /// Puts a received message into the buffers of its msghdr.
    fn message(
        &self,
        address: u64,
        head: &ReplyHead,
        fields: &mut Reader<'_>,
        memory: &impl UserMemory,
    ) -> Result<(), Errno> {
        let sizes = self.message.ok_or(Errno::EIO)?;
        let mut lengths = Reader::new(fields.take(LENGTHS_BYTES).ok_or(Errno::EIO)?);
        let (name_length, control_length) = (lengths.u32().ok_or(Errno::EIO)?, lengths.u32().ok_or(Errno::EIO)?);
        let name = fields.take(sizes.name).ok_or(Errno::EIO)?;
        let control = fields.take(sizes.control).ok_or(Errno::EIO)?;
        let data = fields.take(filled(head.result, 1, sizes.data)).ok_or(Errno::EIO)?;
        let header = MessageHeader::read(memory, address)?;
        let name = name.get(..name.len().min(name_length as usize).min(header.name_bytes)).unwrap_or_default();
        let control =
            control.get(..control.len().min(control_length as usize).min(header.control_bytes)).unwrap_or_default();
        self.scatter(header.vector, data, memory)?;
        let control_length = (control.len() as u64).to_le_bytes();
        let name_length = if header.name == 0 { None } else { Some(name_length.to_le_bytes()) };
        let written = [
            (header.name, name),
            (header.control, control),
            (address.wrapping_add(NAME_LENGTH_AT), name_length.as_ref().map_or(&[], |length| &length[..])),
            (address.wrapping_add(CONTROL_LENGTH_AT), &control_length[..]),
            (address.wrapping_add(FLAGS_AT), lengths.rest()),
        ];
        for (address, bytes) in written {
            put(memory, address, bytes)?;
        }
        Ok(())
    }
}

/// Writes to the program's memory. No bytes go to any address.
fn put(memory: &impl UserMemory, address: u64, bytes: &[u8]) -> Result<(), Errno> {
    if bytes.is_empty() { Ok(()) } else { memory.write(address, bytes).ok_or(Errno::EFAULT) }
}

fn unit(size: Size) -> usize {
    if let Size::Times(unit, _) = size { unit.into() } else { 1 }
}
