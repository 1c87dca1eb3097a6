// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node's end of a shipped call: makes its message from the program's memory, and puts the reply there.
//!
//! The kernel begins a [`Shipment`] for a call whose disposition is to be shipped, then repeats: [`Shipment::request`],
//! an exchange, [`Shipment::finish`], until that gives a result. Neither end of the shipment is trusted: the program may
//! change its memory meanwhile, and the reply is checked like any input.

use crate::bytes::Writer;
use crate::calls::{self, Kind, Size};
use crate::errno::Errno;
pub use crate::finish::Finished;
use crate::head::{CALL_HEAD_BYTES, CUT, CallHead, LENGTHS_BYTES, NO_BUFFER, REPLY_HEAD_BYTES, at};
pub use crate::memory::UserMemory;
use crate::memory::{CONTROL_BYTES, MESSAGE_LENGTH_AT, MessageHeader, Vector, read_text};
use crate::packet::{MESSAGE_BYTES, PIECE_BYTES};

/// A call on its way. Long reads and writes travel in pieces.
#[derive(Debug)]
pub struct Shipment {
    pub(crate) number: u32,
    /// As the program has given them.
    pub(crate) arguments: [u64; 6],
    /// The bytes that earlier pieces have moved.
    pub(crate) done: u64,
    /// The program's call is for many messages, of which this is the first.
    pub(crate) many: bool,
    pub(crate) kinds: [Kind; 6],
    /// The piece in progress: the message's head.
    pub(crate) sent: CallHead,
    /// Its bytes of data.
    pub(crate) piece: usize,
    /// The room that it has for a message that comes in.
    pub(crate) message: Option<MessageSizes>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageSizes {
    pub(crate) name: usize,
    pub(crate) control: usize,
    pub(crate) data: usize,
}

const SENDMSG: u32 = 46;
const RECVMSG: u32 = 47;
const RECVMMSG: u32 = 299;
const SENDMMSG: u32 = 307;
const MSG_WAITFORONE: u64 = 0x10000;

/// The longest value or address of a socket.
const POINTED_BYTES: u32 = 16 << 10;

impl Shipment {
    /// # Errors
    /// The call's result, if it needs no shipping.
    pub fn new(number: u64, arguments: [u64; 6]) -> Result<Self, i64> {
        let number = u32::try_from(number).map_err(|_| Errno::ENOSYS.result())?;
        let many = number == SENDMMSG || number == RECVMMSG;
        let (number, arguments) = match (number, arguments) {
            (SENDMMSG | RECVMMSG, [_, _, 0, ..]) => return Err(0),
            (SENDMMSG, [socket, first, _, flags, ..]) => (SENDMSG, [socket, first, flags, 0, 0, 0]),
            (RECVMMSG, [socket, first, _, flags, ..]) => (RECVMSG, [socket, first, flags & !MSG_WAITFORONE, 0, 0, 0]),
            other => other,
        };
        let kinds = calls::kinds(number, &arguments).map_err(Errno::result)?;
        let sent = CallHead { number, flags: 0, arguments, sizes: [NO_BUFFER; 6] };
        Ok(Self { number, arguments, done: 0, many, kinds, sent, piece: 0, message: None })
    }

    /// Makes the message of the next piece; how long it is.
    ///
    /// # Errors
    /// If the program's memory or arguments do not allow the call. Nothing has happened then, except for earlier
    /// pieces: [`Shipment::failed`] says what the call's result is.
    pub fn request(&mut self, memory: &impl UserMemory, buffer: &mut [u8]) -> Result<usize, Errno> {
        let (head, body) = buffer.split_at_mut_checked(CALL_HEAD_BYTES).ok_or(Errno::EINVAL)?;
        let mut arguments = self.arguments;
        self.move_offset(&mut arguments);
        let sent = CallHead { number: self.number, flags: 0, arguments, sizes: [NO_BUFFER; 6] };
        let mut packing = Packing {
            memory,
            done: self.done,
            sent,
            fields: Writer::new(body),
            outputs: REPLY_HEAD_BYTES,
            piece: 0,
            lengths: [None; 6],
            message: None,
        };
        for (index, kind) in (0u8..).zip(self.kinds) {
            packing.argument(index, kind)?;
        }
        if packing.outputs > MESSAGE_BYTES {
            return Err(Errno::EINVAL);
        }
        self.piece = packing.piece;
        self.sent = packing.sent;
        self.message = packing.message;
        let used = CALL_HEAD_BYTES + packing.fields.used();
        self.sent.encode(&mut Writer::new(head)).ok_or(Errno::EINVAL)?;
        Ok(used)
    }

    /// The call's result if a piece of it ended with this error: what earlier pieces have moved, if they have.
    #[must_use]
    pub fn failed(&self, errno: Errno) -> i64 {
        self.total(errno.result())
    }

    pub(crate) fn total(&self, result: i64) -> i64 {
        match i64::try_from(self.done) {
            Ok(done) if done > 0 => done,
            _ => result,
        }
    }

    /// Calls that name an offset in the file continue there.
    fn move_offset(&self, arguments: &mut [u64; 6]) {
        let [_, _, _, offset, ..] = arguments;
        let is_positioned = matches!(self.number, 17 | 18 | 295 | 296 | 327 | 328);
        if is_positioned && *offset != u64::MAX {
            *offset = offset.saturating_add(self.done);
        }
    }
}

/// A message in the making.
struct Packing<'a, M> {
    memory: &'a M,
    done: u64,
    sent: CallHead,
    fields: Writer<'a>,
    /// The reply's length at most.
    outputs: usize,
    piece: usize,
    /// The numbers to which arguments point that are other arguments' lengths.
    lengths: [Option<u32>; 6],
    message: Option<MessageSizes>,
}

impl<M: UserMemory> Packing<'_, M> {
    fn argument(&mut self, index: u8, kind: Kind) -> Result<(), Errno> {
        let address = at(&self.sent.arguments, index);
        match kind {
            Kind::Value | Kind::Descriptor | Kind::Own => return Ok(()),
            Kind::Unused | Kind::Null => {
                self.set(index, 0);
                return Ok(());
            }
            _ if address == 0 => return Ok(()),
            _ => {}
        }
        let size = match kind {
            Kind::Text => self.text(address)?,
            Kind::In(size) => {
                let bytes = size.bytes(&self.sent.arguments).ok_or(Errno::EINVAL)?;
                self.input(address, bytes)?
            }
            Kind::Stream(length) => {
                let bytes = self.cut(Size::Times(1, length))?;
                self.set(length, bytes as u64);
                self.input(address.wrapping_add(self.done), bytes)?
            }
            Kind::Out(Size::Pointed(length)) => {
                let bytes = self.pointed(length)?;
                self.output(address, bytes)?
            }
            Kind::Out(size) => {
                let bytes = size.bytes(&self.sent.arguments).ok_or(Errno::EINVAL)?;
                self.output(address, bytes)?
            }
            Kind::InOut(size) => self.both(index, address, size)?,
            Kind::Fill(size) => self.fill(address, size)?,
            Kind::Gather(count) => self.gather(address, count)?,
            Kind::Scatter(count) => self.scatter(address, count)?,
            Kind::MessageIn => self.message_in(address)?,
            Kind::MessageOut => self.message_out(address)?,
            _ => return Err(Errno::ENOSYS),
        };
        let size = u32::try_from(size).map_err(|_| Errno::EINVAL)?;
        if let Some(sent) = self.sent.sizes.get_mut(usize::from(index)) {
            *sent = size;
        }
        Ok(())
    }

    fn set(&mut self, index: u8, value: u64) {
        if let Some(argument) = self.sent.arguments.get_mut(usize::from(index)) {
            *argument = value;
        }
    }

    fn text(&mut self, address: u64) -> Result<usize, Errno> {
        let bytes = read_text(self.memory, address, self.fields.rest())?;
        self.fields.space(bytes).ok_or(Errno::ENAMETOOLONG)?;
        Ok(bytes)
    }

    fn input(&mut self, address: u64, bytes: usize) -> Result<usize, Errno> {
        let space = self.fields.space(bytes).ok_or(Errno::EINVAL)?;
        if bytes > 0 {
            self.memory.read(address, space).ok_or(Errno::EFAULT)?;
        }
        Ok(bytes)
    }

    fn output(&mut self, address: u64, bytes: usize) -> Result<usize, Errno> {
        self.check_writable(address, bytes)?;
        self.outputs = self.outputs.saturating_add(bytes);
        Ok(bytes)
    }

    fn both(&mut self, index: u8, address: u64, size: Size) -> Result<usize, Errno> {
        let bytes = size.bytes(&self.sent.arguments).ok_or(Errno::EINVAL)?;
        match self.lengths.get(usize::from(index)).copied().flatten() {
            Some(length) => self.fields.u32(length).ok_or(Errno::EINVAL)?,
            None => {
                self.input(address, bytes)?;
            }
        }
        self.output(address, bytes)
    }

    fn fill(&mut self, address: u64, size: Size) -> Result<usize, Errno> {
        let bytes = self.cut(size)?;
        if let Size::Times(unit, length) = size {
            self.set(length, (bytes / usize::from(unit).max(1)) as u64);
        }
        self.output(address.wrapping_add(self.done), bytes)
    }

    /// The bytes left of a buffer whose length arguments give, up to a piece.
    fn cut(&mut self, size: Size) -> Result<usize, Errno> {
        let bytes = size.bytes(&self.sent.arguments).ok_or(Errno::EINVAL)?;
        let left = bytes.saturating_sub(usize::try_from(self.done).unwrap_or(usize::MAX));
        let unit = if let Size::Times(unit, _) = size { usize::from(unit).max(1) } else { 1 };
        let piece = left.min(PIECE_BYTES / unit * unit);
        self.note_piece(piece, left > piece);
        Ok(piece)
    }

    fn note_piece(&mut self, piece: usize, is_cut: bool) {
        self.piece = piece;
        if is_cut {
            self.sent.flags |= CUT;
        }
    }

    /// The length of a buffer, which another argument points to.
    fn pointed(&mut self, length: u8) -> Result<usize, Errno> {
        let mut bytes = [0; 4];
        self.memory.read(at(&self.sent.arguments, length), &mut bytes).ok_or(Errno::EFAULT)?;
        let bytes = u32::from_le_bytes(bytes);
        if i32::try_from(bytes).is_err() {
            return Err(Errno::EINVAL);
        }
        let bytes = bytes.min(POINTED_BYTES);
        if let Some(known) = self.lengths.get_mut(usize::from(length)) {
            *known = Some(bytes);
        }
        Ok(bytes as usize)
    }

    fn gather(&mut self, address: u64, count: u8) -> Result<usize, Errno> {
        let vector = Vector { address, count: at(&self.sent.arguments, count) };
        self.set(count, 1);
        self.gathered(vector)
    }

    fn gathered(&mut self, vector: Vector) -> Result<usize, Errno> {
        let (memory, fields) = (self.memory, &mut self.fields);
        let walked =
            vector.walk(memory, self.done, PIECE_BYTES, |address, bytes| memory.read(address, fields.space(bytes)?))?;
        self.note_piece(walked.bytes, walked.more);
        Ok(walked.bytes)
    }

    fn scatter(&mut self, address: u64, count: u8) -> Result<usize, Errno> {
        let vector = Vector { address, count: at(&self.sent.arguments, count) };
        self.set(count, 1);
        self.scattered(vector)
    }

    fn scattered(&mut self, vector: Vector) -> Result<usize, Errno> {
        let memory = self.memory;
        let walked = vector
            .walk(memory, self.done, PIECE_BYTES, |address, bytes| memory.is_writable(address, bytes).then_some(()))?;
        self.note_piece(walked.bytes, walked.more);
        self.outputs = self.outputs.saturating_add(walked.bytes);
        Ok(walked.bytes)
    }

    fn message_in(&mut self, address: u64) -> Result<usize, Errno> {
        let header = MessageHeader::read(self.memory, address)?;
        let before = self.fields.used();
        let name = header.name_bytes;
        // Descriptors and the like travel once, with the first piece.
        let control = if self.done == 0 { header.control_bytes } else { 0 };
        if control > CONTROL_BYTES {
            return Err(Errno::ENOBUFS);
        }
        let data = header.vector.walk(self.memory, self.done, PIECE_BYTES, |_, _| Some(()))?.bytes;
        self.lengths_of(name, control, data)?;
        self.input(header.name, name)?;
        self.input(header.control, control)?;
        if self.gathered(header.vector)? != data {
            return Err(Errno::EFAULT);
        }
        Ok(self.fields.used() - before)
    }

    fn message_out(&mut self, address: u64) -> Result<usize, Errno> {
        let header = MessageHeader::read(self.memory, address)?;
        let (name, control) = (header.name_bytes, header.control_bytes.min(CONTROL_BYTES));
        self.check_writable(address, MESSAGE_LENGTH_AT as usize)?;
        self.check_writable(header.name, name)?;
        self.check_writable(header.control, control)?;
        let data = self.scattered(header.vector)?;
        self.lengths_of(name, control, data)?;
        self.message = Some(MessageSizes { name, control, data });
        self.outputs = self.outputs.saturating_add(LENGTHS_BYTES + name + control);
        Ok(LENGTHS_BYTES + name + control + data)
    }

    fn check_writable(&self, address: u64, bytes: usize) -> Result<(), Errno> {
        if bytes == 0 || self.memory.is_writable(address, bytes) { Ok(()) } else { Err(Errno::EFAULT) }
    }

    fn lengths_of(&mut self, name: usize, control: usize, data: usize) -> Result<(), Errno> {
        for length in [name, control, data] {
            let length = u32::try_from(length).map_err(|_| Errno::EINVAL)?;
            self.fields.u32(length).ok_or(Errno::EINVAL)?;
        }
        Ok(())
    }
}
