// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Puts the arguments of one piece of a shipped call into its message: buffers that the call reads, room for those that
//! it writes.
//!
//! `marshal.rs` asks for one argument after the other. A buffer that the program may not use is no reason to refuse the
//! call here: Linux gets a pointer that it refuses, because the call may be wrong for another reason, which it says first.

use crate::bytes::Writer;
use crate::calls::{Kind, Size};
use crate::errno::Errno;
use crate::head::{BEYOND, CUT, CallHead, FAULTS, IN_STORE, LENGTHS_BYTES, at};
use crate::memory::{
    CONTROL_BYTES, MAX_VECTOR, MESSAGE_LENGTH_AT, MessageHeader, UserMemory, Vector, read_text, take, written,
};
use crate::packet::PIECE_BYTES;
use crate::stored::STORE_BYTES;

/// sendto, recvfrom, getdents, getcwd, getdents64, getrandom: no length is too long.
const CAPPED: [u32; 6] = [44, 45, 78, 79, 217, 318];
/// read, pread64, recvfrom, getdents, getdents64, getrandom: they fill what there is room for.
const MOVERS: [u32; 6] = [0, 17, 45, 78, 217, 318];

/// The end of the addresses of programs.
const USER_END: u64 = 0x7fff_ffff_f000;

/// The longest value or address of a socket.
const POINTED_BYTES: u32 = 16 << 10;

#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageSizes {
    pub(crate) name: usize,
    pub(crate) control: usize,
    pub(crate) data: usize,
}

/// It writes an offset only if it has moved something.
pub(crate) const COPY_FILE_RANGE: u32 = 326;

/// Why a buffer is not in the message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unfit {
    /// The program may not use it.
    Faults,
    /// Its length is no length.
    Length,
    /// The call ends with this, whatever else it has.
    Other(Errno),
}

impl From<Errno> for Unfit {
    fn from(errno: Errno) -> Self {
        if errno == Errno::EFAULT { Self::Faults } else { Self::Other(errno) }
    }
}

impl From<Unfit> for Errno {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Faults | Unfit::Length => Self::EFAULT,
            Unfit::Other(errno) => errno,
        }
    }
}

/// A message in the making.
pub(crate) struct Packing<'a, M> {
    pub(crate) memory: &'a M,
    pub(crate) done: u64,
    /// Buffers that may be in the proxy's store are there.
    pub(crate) stored: bool,
    pub(crate) sent: CallHead,
    pub(crate) fields: Writer<'a>,
    /// The reply's length at most.
    pub(crate) outputs: usize,
    /// The data of a call that reads.
    pub(crate) reads: usize,
    pub(crate) piece: usize,
    /// The numbers to which arguments point that are other arguments' lengths.
    pub(crate) lengths: [Option<u32>; 6],
    pub(crate) message: Option<MessageSizes>,
    /// What the program is told if Linux finds that it may not use a buffer.
    pub(crate) fault: Errno,
}

impl<M: UserMemory> Packing<'_, M> {
    pub(crate) fn argument(&mut self, index: u8, kind: Kind) -> Result<(), Errno> {
        let address = at(&self.sent.arguments, index);
        match kind {
            Kind::Value | Kind::Descriptor | Kind::Own => return Ok(()),
            Kind::Unused | Kind::Null => {
                self.set(index, 0);
                return Ok(());
            }
            _ if address == 0 => return Ok(()),
            Kind::InOut(size) if self.stored && size.may_be_stored() => {
                self.note_size(index, IN_STORE);
                return Ok(());
            }
            _ => {}
        }
        let before = (self.sent, self.fields.used(), self.outputs, self.piece);
        let size = match self.buffer(index, kind, address) {
            Ok(0) if address > USER_END => Err(BEYOND),
            Err(Unfit::Faults | Unfit::Length) if address >= USER_END && self.done == 0 => Err(BEYOND),
            Ok(size) => Ok(u32::try_from(size).map_err(|_| Errno::EINVAL)?),
            // Other arguments may be wrong too: Linux, which gets the lengths as they are, says what comes first.
            Err(Unfit::Faults) if self.done == 0 => Err(FAULTS),
            Err(Unfit::Length) if self.done == 0 => Err(BEYOND),
            // Linux counts a message's parts where it would find a fault of theirs: after it has looked at the descriptor.
            Err(Unfit::Other(errno)) if self.done == 0 && [Errno::EMSGSIZE, Errno::ENOBUFS].contains(&errno) => {
                self.fault = errno;
                Err(FAULTS)
            }
            Err(unfit) => return Err(unfit.into()),
        };
        let size = size.unwrap_or_else(|marker| {
            (self.sent, self.outputs, self.piece) = (before.0, before.2, before.3);
            self.fields.rewind(before.1);
            marker
        });
        self.note_size(index, size);
        Ok(())
    }

    fn note_size(&mut self, index: u8, size: u32) {
        if let Some(sent) = self.sent.sizes.get_mut(usize::from(index)) {
            *sent = size;
        }
    }

    fn buffer(&mut self, index: u8, kind: Kind, address: u64) -> Result<usize, Unfit> {
        Ok(match kind {
            Kind::Text => self.text(address)?,
            Kind::In(size) => {
                let bytes = size.bytes(&self.sent.arguments).ok_or(Unfit::Length)?;
                self.input(address, bytes)?
            }
            Kind::Stream(length) => self.stream(address, length)?,
            Kind::Out(Size::Pointed(length)) => {
                let bytes = self.pointed(length)?;
                self.some_output(address, bytes)?
            }
            Kind::Out(size) => {
                let bytes = size.bytes(&self.sent.arguments).ok_or(Unfit::Length)?;
                let used = written(self.sent.number, &self.sent.arguments, self.memory, bytes);
                self.check_writable(address, used)?;
                self.some_output(address, bytes)?
            }
            Kind::InOut(size) => self.both(index, address, size)?,
            Kind::Fill(size) => self.fill(address, size)?,
            Kind::Gather(count) => self.gather(address, count)?,
            Kind::Scatter(count) => self.scatter(address, count)?,
            Kind::MessageIn => self.message_in(address)?,
            Kind::MessageOut => self.message_out(address)?,
            _ => return Err(Errno::ENOSYS.into()),
        })
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

    /// A buffer that is longer than any that a call takes is left to Linux, which looks at its length first.
    fn input(&mut self, address: u64, bytes: usize) -> Result<usize, Unfit> {
        let space = self.fields.space(bytes).ok_or(Unfit::Faults)?;
        if bytes > 0 {
            self.memory.read(address, space).ok_or(Unfit::Faults)?;
        }
        Ok(bytes)
    }

    /// Of a buffer that can be read in part, the part: what is sent as a whole or not at all is refused by the proxy.
    fn stream(&mut self, address: u64, length: u8) -> Result<usize, Unfit> {
        let bytes = self.cut(Size::Times(1, length), PIECE_BYTES)?;
        let address = address.wrapping_add(self.done);
        let space = self.fields.space(bytes).ok_or(Errno::EINVAL)?;
        let sent = match bytes == 0 || self.memory.read(address, space).is_some() {
            true => bytes,
            false => self.memory.readable(address, bytes),
        };
        if sent < bytes {
            if sent == 0 {
                return Err(Unfit::Faults);
            }
            self.fields.rewind(self.fields.used() - (bytes - sent));
            self.note_piece(sent, true);
        }
        self.set(length, sent as u64);
        Ok(sent)
    }

    /// A buffer of which at least a byte can be written: the call decides how many it needs.
    fn some_output(&mut self, address: u64, bytes: usize) -> Result<usize, Unfit> {
        if bytes > 0 && self.memory.writable(address, bytes) == 0 {
            return Err(Unfit::Faults);
        }
        self.outputs = self.outputs.saturating_add(bytes);
        Ok(bytes)
    }

    /// A time limit need not be writable: Linux says nothing if it cannot write what is left of it.
    fn both(&mut self, index: u8, address: u64, size: Size) -> Result<usize, Unfit> {
        let bytes = size.bytes(&self.sent.arguments).ok_or(Unfit::Faults)?;
        match self.lengths.get(usize::from(index)).copied().flatten() {
            Some(length) => self.fields.u32(length).ok_or(Errno::EINVAL)?,
            None if bytes > STORE_BYTES && self.memory.readable(address, bytes) == bytes => {
                return Err(Errno::EINVAL.into());
            }
            None => {
                self.input(address, bytes)?;
                let written = if size.is_time() || self.sent.number == COPY_FILE_RANGE { 0 } else { bytes };
                self.check_writable(address, written)?;
            }
        }
        self.outputs = self.outputs.saturating_add(bytes);
        Ok(bytes)
    }

    /// Of a buffer that can be written in part, the part, if the call moves as many bytes as there is room for; others
    /// may need less than they are offered.
    fn fill(&mut self, address: u64, size: Size) -> Result<usize, Unfit> {
        let bytes = self.cut(size, self.reads)?;
        let address = address.wrapping_add(self.done);
        let room = match MOVERS.contains(&self.sent.number) {
            true => self.memory.writable(address, bytes),
            false => bytes,
        };
        if room < bytes {
            if room == 0 {
                return Err(Unfit::Faults);
            }
            self.note_piece(room, true);
        }
        if let Some((unit, length)) = size.counted() {
            self.set(length, (room / unit.max(1)) as u64);
        }
        self.some_output(address, room)
    }

    /// The bytes left of a buffer whose length arguments give, up to a piece.
    fn cut(&mut self, size: Size, piece: usize) -> Result<usize, Unfit> {
        let bytes = match size.bytes(&self.sent.arguments) {
            // Linux shortens these before it looks at anything.
            None if CAPPED.contains(&self.sent.number) => i32::MAX as usize,
            Some(bytes) if bytes as u64 > USER_END && CAPPED.contains(&self.sent.number) => i32::MAX as usize,
            Some(bytes) if bytes as u64 <= USER_END => bytes,
            _ => return Err(Unfit::Length),
        };
        let left = bytes.saturating_sub(usize::try_from(self.done).unwrap_or(usize::MAX));
        let unit = size.counted().map_or(1, |(unit, _)| unit.max(1));
        let piece = left.min(piece / unit * unit);
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
    fn pointed(&mut self, length: u8) -> Result<usize, Unfit> {
        let mut bytes = [0; 4];
        self.memory.read(at(&self.sent.arguments, length), &mut bytes).ok_or(Unfit::Faults)?;
        let bytes = u32::from_le_bytes(bytes);
        if i32::try_from(bytes).is_err() {
            return Err(Unfit::Faults);
        }
        let bytes = bytes.min(POINTED_BYTES);
        if let Some(known) = self.lengths.get_mut(usize::from(length)) {
            *known = Some(bytes);
        }
        Ok(bytes as usize)
    }

    fn gather(&mut self, address: u64, count: u8) -> Result<usize, Unfit> {
        let vector = self.vector(address, count)?;
        self.set(count, 1);
        Ok(self.gathered(vector)?)
    }

    /// Linux counts a vector's buffers by 32 bits.
    fn vector(&self, address: u64, count: u8) -> Result<Vector, Unfit> {
        let count = at(&self.sent.arguments, count) & u64::from(u32::MAX);
        if count > MAX_VECTOR { Err(Unfit::Faults) } else { Ok(Vector { address, count }) }
    }

    fn gathered(&mut self, vector: Vector) -> Result<usize, Errno> {
        let (memory, fields) = (self.memory, &mut self.fields);
        let walked =
            vector.walk(memory, self.done, PIECE_BYTES, |address, bytes| take(memory, fields, address, bytes))?;
        self.note_piece(walked.bytes, walked.more);
        Ok(walked.bytes)
    }

    fn scatter(&mut self, address: u64, count: u8) -> Result<usize, Unfit> {
        let vector = self.vector(address, count)?;
        self.set(count, 1);
        Ok(self.scattered(vector)?)
    }

    fn scattered(&mut self, vector: Vector) -> Result<usize, Errno> {
        let memory = self.memory;
        let walked = vector.walk(memory, self.done, self.reads, |address, bytes| memory.writable(address, bytes))?;
        self.note_piece(walked.bytes, walked.more);
        self.outputs = self.outputs.saturating_add(walked.bytes);
        Ok(walked.bytes)
    }

    fn message_in(&mut self, address: u64) -> Result<usize, Unfit> {
        let header = MessageHeader::read(self.memory, address)?;
        let before = self.fields.used();
        let name = header.name_bytes;
        // Descriptors and the like travel once, with the first piece.
        let control = if self.done == 0 { header.control_bytes } else { 0 };
        if control > CONTROL_BYTES {
            return Err(Errno::ENOBUFS.into());
        }
        let data = header.vector.walk(self.memory, self.done, PIECE_BYTES, |_, bytes| bytes)?.bytes;
        self.lengths_of(name, control, data)?;
        self.input(header.name, name)?;
        self.input(header.control, control)?;
        if self.gathered(header.vector)? != data {
            return Err(Unfit::Faults);
        }
        Ok(self.fields.used() - before)
    }

    fn message_out(&mut self, address: u64) -> Result<usize, Unfit> {
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
