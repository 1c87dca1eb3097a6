// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node's end of a shipped call, second half: puts a reply's outputs into the program's memory and decides whether
//! another piece follows. The first half is `marshal.rs`.

use crate::bytes::Reader;
use crate::calls::{Kind, Size};
use crate::errno::Errno;
use crate::head::{CUT, KICKED, LENGTHS_BYTES, ReplyHead, WHOLE, at, filled, has_buffer};
use crate::marshal::{Shipment, UserMemory};
use crate::memory::{CONTROL_LENGTH_AT, FLAGS_AT, MESSAGE_LENGTH_AT, MessageHeader, NAME_LENGTH_AT, Vector, written};
use crate::packing::COPY_FILE_RANGE;

/// The meaning of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// The call's result. `None`: another piece follows.
    pub result: Option<i64>,
    /// It is so because of a signal: without it, the call had gone on ([`Shipment::go_on`]).
    pub unfinished: bool,
    /// The signals that the proxy has received for the process since the last reply: bit n-1 is signal n.
    pub pending: u64,
}

const GETRANDOM: u32 = 318;
const SENDFILE: u32 = 40;
const RECVFROM: u32 = 45;
const RECVMSG: u32 = 47;
const MSG_WAITALL: u64 = 0x100;
const MSG_PEEK: u64 = 2;

impl Shipment {
    /// Takes the reply to the piece in progress.
    pub fn finish(&mut self, reply: &[u8], memory: &impl UserMemory) -> Finished {
        let mut fields = Reader::new(reply);
        let Some(head) = ReplyHead::decode(&mut fields) else {
            return Finished { result: Some(self.failed(Errno::EIO)), unfinished: false, pending: 0 };
        };
        let pending = head.pending;
        let finished = |result| Finished { result, unfinished: false, pending };
        if let Some(result) = self.parts.finish(&head, fields, memory) {
            return finished(result);
        }
        if head.result < 0 {
            let interrupted = [Errno::EINTR.result(), Errno::RESTART].contains(&head.result);
            let unfinished = interrupted && self.done > 0 && !self.many;
            let result = if head.result == Errno::EFAULT.result() { self.fault.result() } else { head.result };
            return Finished { result: Some(self.total(result)), unfinished, pending };
        }
        if let Err(errno) = self.outputs(&head, fields, memory) {
            return finished(Some(self.failed(errno)));
        }
        if self.parts.come_back(head.result) {
            return finished(None);
        }
        let kicked = head.flags & KICKED != 0 && head.result > 0 && !self.many;
        if self.number == SENDFILE {
            return self.between_files(head.result, kicked, pending);
        }
        if !self.moves_bytes() {
            return finished(Some(head.result));
        }
        let moved = filled(head.result, 1, self.piece);
        self.done = self.done.saturating_add(moved as u64);
        let is_full = self.sent.flags & CUT != 0 && moved == self.piece && moved > 0;
        if is_full && self.continues(&head) {
            return finished(None);
        }
        let unfinished = kicked && moved < self.piece && self.waits_for_the_whole();
        // A call may report more than it moves: the length of a datagram that did not fit.
        let result = if self.done > moved as u64 { self.total(head.result) } else { head.result };
        Finished { result: Some(self.end(result, memory)), unfinished, pending }
    }

    /// sendfile(2): what it has moved is not moved again. Where it goes on is in its files, or beside the offset that it has
    /// written. (splice(2) returns what there was, so nobody knows whether it would have gone on.)
    fn between_files(&mut self, moved: i64, kicked: bool, pending: u64) -> Finished {
        let bytes = u64::try_from(moved).unwrap_or(0);
        self.done = self.done.saturating_add(bytes);
        let [_, _, _, count, ..] = &mut self.arguments;
        *count = count.saturating_sub(bytes);
        let unfinished = kicked && *count > 0;
        Finished { result: Some(self.total(moved)), unfinished, pending }
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
            Kind::Fill(size) => unit(*size) == 1,
            Kind::Stream(_) | Kind::Gather(_) | Kind::Scatter(_) | Kind::MessageIn | Kind::MessageOut => true,
            _ => false,
        })
    }

    /// Whether a piece that was full is followed by another.
    fn continues(&self, head: &ReplyHead) -> bool {
        head.flags & WHOLE != 0 || self.waits_for_the_whole()
    }

    /// Whether Linux returns early from the call only for a signal.
    fn waits_for_the_whole(&self) -> bool {
        let writes = |kind: &Kind| matches!(kind, Kind::Stream(_) | Kind::Gather(_) | Kind::MessageIn);
        self.kinds.iter().any(writes) || self.number == GETRANDOM || self.waits_for_all()
    }

    /// Whether a receive goes on until its buffer is full. Not if it leaves its bytes where they are, which would come
    /// again, nor if control data may come, of which there is one place.
    fn waits_for_all(&self) -> bool {
        let [_, _, of_message, of_buffer, ..] = self.arguments;
        let flags = match self.number {
            RECVFROM => of_buffer,
            RECVMSG if !self.many && self.message.is_some_and(|sizes| sizes.control == 0) => of_message,
            _ => return false,
        };
        flags & (MSG_WAITALL | MSG_PEEK) == MSG_WAITALL
    }

    fn outputs(&self, head: &ReplyHead, mut fields: Reader<'_>, memory: &impl UserMemory) -> Result<(), Errno> {
        let lengths = self.pointed(head, fields);
        for ((index, kind), size) in (0u8..).zip(self.kinds).zip(self.sent.sizes) {
            if !has_buffer(size) {
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
                Kind::Out(_) => {
                    let output = fields.take(size).ok_or(Errno::EIO)?;
                    let used = written(self.number, &self.arguments, memory, size);
                    put(memory, address, output.get(..used).unwrap_or(output))?;
                }
                Kind::InOut(of) => {
                    let put = put(memory, address, fields.take(size).ok_or(Errno::EIO)?);
                    let may_fail = of.is_time() || self.number == COPY_FILE_RANGE && head.result == 0;
                    put.or(if may_fail { Ok(()) } else { Err(Errno::EFAULT) })?;
                }
                Kind::Fill(of) => {
                    let output = fields.take(filled(head.result, unit(of), size)).ok_or(Errno::EIO)?;
                    put(memory, address.wrapping_add(self.done), output)?;
                }
                Kind::Scatter(count) => {
                    let output = fields.take(filled(head.result, 1, size)).ok_or(Errno::EIO)?;
                    let count = at(&self.arguments, count) & u64::from(u32::MAX);
                    self.scatter(Vector { address, count }, output, memory)?;
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
        for ((kind, size), length) in self.kinds.iter().zip(&self.sent.sizes).zip(&mut lengths) {
            let bytes = match kind {
                Kind::Out(_) | Kind::InOut(_) if has_buffer(*size) => *size as usize,
                Kind::Fill(of) if has_buffer(*size) => filled(head.result, unit(*of), *size as usize),
                _ => continue,
            };
            let Some(output) = fields.take(bytes) else { break };
            *length = output.try_into().ok().map(|number| u32::from_le_bytes(number) as usize);
        }
        lengths
    }

    fn scatter(&self, vector: Vector, mut data: &[u8], memory: &impl UserMemory) -> Result<(), Errno> {
        let all = data.len();
        let walked = vector.walk(memory, self.done, all, |address, bytes| {
            let Some((portion, rest)) = data.split_at_checked(bytes) else { return 0 };
            data = rest;
            memory.write(address, portion).map_or(0, |()| bytes)
        })?;
        // the program has changed its rights meanwhile
        if walked.bytes == all { Ok(()) } else { Err(Errno::EFAULT) }
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
    size.counted().map_or(1, |(unit, _)| unit)
}
