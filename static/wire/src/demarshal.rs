// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Linux end of a shipped call: says what each argument is, as ranges of two buffers, and packs the reply.
//!
//! A proxy decodes a message with [`Call::decode`], executes the call with pointers into its two buffers, and packs the
//! reply with [`Call::reply`]. The node is not trusted: everything that its message says is checked against the table,
//! so that no number of a node's becomes a pointer or the length of a buffer that is shorter.

use crate::bytes::{Reader, Writer};
use crate::calls::{self, Kind, Size};
use crate::errno::Errno;
use crate::head::{
    AGAIN, BEYOND, CUT, CallHead, FAULTS, IN_STORE, KICKED, LENGTHS_BYTES, NO_BUFFER, REPLY_HEAD_BYTES, ReplyHead,
    WHOLE, at, filled,
};
use crate::program;

/// Addresses at which no process has memory: in its first page, and where no addresses are.
const NOWHERE: u64 = 8;
const NO_ADDRESS: u64 = 1 << 63;

/// A part of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub start: usize,
    pub bytes: usize,
}

/// An argument for Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    Value(u64),
    /// A pointer to this part of the message.
    Input(Span),
    /// A pointer to this part of the reply.
    Output(Span),
    /// A pointer to this part of the thread's store.
    Stored(Span),
    /// A pointer to one struct iovec, which points to this part of the message.
    InputVector(Span),
    /// The same, of the reply.
    OutputVector(Span),
    /// A pointer to a struct msghdr whose parts are in the message.
    InputMessage {
        name: Span,
        control: Span,
        data: Span,
    },
    /// A pointer to a struct msghdr whose parts are in the reply. `lengths` takes `msg_namelen`, `msg_controllen` and
    /// `msg_flags` after the call, 32 bits each.
    OutputMessage {
        lengths: Span,
        name: Span,
        control: Span,
        data: Span,
    },
}

#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub number: u32,
    pub arguments: [Argument; 6],
    /// The program's buffer is longer. Linux would refuse such a call on a socket of another type than SOCK_STREAM
    /// (EMSGSIZE), if the call sends.
    pub cut: bool,
    /// It goes on, after an interruption.
    pub again: bool,
    kinds: [Kind; 6],
}

impl Span {
    #[must_use]
    pub fn of(self, buffer: &[u8]) -> &[u8] {
        buffer.get(self.start..self.start.saturating_add(self.bytes)).unwrap_or_default()
    }

    #[must_use]
    pub fn of_mut(self, buffer: &mut [u8]) -> &mut [u8] {
        buffer.get_mut(self.start..self.start.saturating_add(self.bytes)).unwrap_or_default()
    }
}

impl Call {
    /// Takes a message apart and prepares the outputs' part of `reply`. `process` is the proxy's own number.
    ///
    /// # Errors
    /// The answer to a call that is not to be executed: see [`refuse`].
    pub fn decode(message: &[u8], process: u32, reply: &mut [u8]) -> Result<Self, Errno> {
        Self::decode_with_store(message, process, reply, 0)
    }

    /// The same, of a thread whose store has so many bytes.
    ///
    /// # Errors
    /// As above.
    pub fn decode_with_store(message: &[u8], process: u32, reply: &mut [u8], stored: usize) -> Result<Self, Errno> {
        let mut fields = Reader::new(message);
        let head = CallHead::decode(&mut fields).ok_or(Errno::EINVAL)?;
        let kinds = match head.number {
            program::OPEN_PROGRAM => program::KINDS,
            number => calls::kinds(number, &head.arguments)?,
        };
        let mut space = Writer::new(reply);
        space.space(REPLY_HEAD_BYTES).ok_or(Errno::EINVAL)?;
        let store = Span { start: 0, bytes: stored };
        let mut unpacking = Unpacking { head, process, bytes: message.len(), fields, space, store };
        let mut arguments = [Argument::Value(0); 6];
        for ((index, kind), argument) in (0u8..).zip(kinds).zip(&mut arguments) {
            *argument = unpacking.argument(index, kind)?;
        }
        if !unpacking.fields.rest().is_empty() || unpacking.store.bytes != 0 {
            return Err(Errno::EINVAL);
        }
        let is = |flag| head.flags & flag != 0;
        let call = Self { number: head.number, arguments, cut: is(CUT), again: is(AGAIN), kinds };
        if call.lengths_agree(reply) { Ok(call) } else { Err(Errno::EINVAL) }
    }

    /// Whether this is a message with the last call of a thread: exit or `exit_group`.
    #[must_use]
    pub fn is_last(message: &[u8]) -> bool {
        CallHead::decode(&mut Reader::new(message)).is_some_and(|head| matches!(head.number, 60 | 231))
    }

    /// Whether the caller should look, after a full read, if reading on would not wait, as for a regular file.
    #[must_use]
    pub fn wants_whole(&self) -> bool {
        // read, pread64, readv, preadv, preadv2
        self.cut && matches!(self.number, 0 | 17 | 19 | 295 | 327)
    }

    /// Packs the reply; how long it is. `pending`: signals received for the process, bit n-1 is signal n. `whole`:
    /// reading on would not wait.
    #[must_use]
    pub fn reply(&self, result: i64, pending: u64, whole: bool, reply: &mut [u8]) -> usize {
        let head = ReplyHead { result, pending, flags: if whole { WHOLE } else { 0 } };
        if head.encode(&mut Writer::new(reply)).is_none() {
            return 0;
        }
        let mut used = REPLY_HEAD_BYTES;
        if result < 0 {
            return used;
        }
        for (kind, argument) in self.kinds.iter().zip(self.arguments) {
            let kept = match (kind, argument) {
                (Kind::Fill(size), Argument::Output(span)) => {
                    let unit = size.counted().map_or(1, |(unit, _)| unit);
                    Span { bytes: filled(result, unit, span.bytes), ..span }
                }
                (_, Argument::Output(span)) => span,
                (_, Argument::OutputVector(span)) => Span { bytes: filled(result, 1, span.bytes), ..span },
                (_, Argument::OutputMessage { lengths, data, .. }) => {
                    let before = data.start - lengths.start;
                    Span { start: lengths.start, bytes: before + filled(result, 1, data.bytes) }
                }
                _ => continue,
            };
            if kept.start != used {
                reply.copy_within(kept.start..kept.start + kept.bytes, used);
            }
            used += kept.bytes;
        }
        used
    }

    /// Whether each buffer is as long as the number that another argument points to.
    fn lengths_agree(&self, reply: &[u8]) -> bool {
        self.kinds.iter().zip(self.arguments).all(|(kind, argument)| match (kind, argument) {
            (Kind::Out(Size::Pointed(length)), Argument::Output(span)) => {
                let length = match self.arguments.get(usize::from(*length)) {
                    Some(Argument::Output(length)) => Reader::new(length.of(reply)).u32(),
                    _ => None,
                };
                length.is_some_and(|length| length as usize == span.bytes)
            }
            _ => true,
        })
    }
}

/// Says in a packed reply that a signal has ended the call: if the program ignores it, the rest of the call follows.
pub fn mark_kicked(reply: &mut [u8]) {
    ReplyHead::mark(reply, KICKED);
}

/// Packs the reply to a call that is not executed; how long it is.
#[must_use]
pub fn refuse(errno: Errno, pending: u64, reply: &mut [u8]) -> usize {
    let head = ReplyHead { result: errno.result(), pending, flags: 0 };
    head.encode(&mut Writer::new(reply)).map_or(0, |()| REPLY_HEAD_BYTES)
}

/// The reply of a call that succeeded and has no outputs.
pub const DONE: [u8; REPLY_HEAD_BYTES] = [0; REPLY_HEAD_BYTES];

/// A message being taken apart.
struct Unpacking<'m, 'r> {
    head: CallHead,
    process: u32,
    /// The message's length.
    bytes: usize,
    fields: Reader<'m>,
    space: Writer<'r>,
    /// What is left of the store.
    store: Span,
}

impl<'m> Unpacking<'m, '_> {
    fn argument(&mut self, index: u8, kind: Kind) -> Result<Argument, Errno> {
        let value = at(&self.head.arguments, index);
        let size = self.head.sizes.get(usize::from(index)).copied().unwrap_or(NO_BUFFER);
        match kind {
            Kind::Unused | Kind::Null => return Ok(Argument::Value(0)),
            Kind::Value | Kind::Descriptor => return Ok(Argument::Value(value)),
            Kind::Own if value == 0 || value == u64::from(self.process) => return Ok(Argument::Value(value)),
            Kind::Own => return Err(Errno::ESRCH),
            _ if size == NO_BUFFER => return Ok(Argument::Value(0)),
            _ if size == FAULTS => return Ok(Argument::Value(NOWHERE)),
            _ if size == BEYOND => return Ok(Argument::Value(NO_ADDRESS)),
            Kind::InOut(of) if size == IN_STORE => return self.stored(of),
            _ if size == IN_STORE => return Err(Errno::EINVAL),
            _ => {}
        }
        let size = size as usize;
        match kind {
            Kind::Text => {
                let (span, text) = self.input(size)?;
                if text.last() == Some(&0) { Ok(Argument::Input(span)) } else { Err(Errno::EINVAL) }
            }
            Kind::In(of) => {
                self.expect(of, size)?;
                Ok(Argument::Input(self.input(size)?.0))
            }
            Kind::Stream(length) => {
                self.expect(Size::Times(1, length), size)?;
                Ok(Argument::Input(self.input(size)?.0))
            }
            Kind::Out(of) => {
                self.expect(of, size)?;
                Ok(Argument::Output(self.output(size)?))
            }
            Kind::Fill(of) => {
                self.expect(of, size)?;
                Ok(Argument::Output(self.output(size)?))
            }
            Kind::InOut(of) => {
                self.expect(of, size)?;
                let (_, input) = self.input(size)?;
                let start = self.space.used();
                self.space.bytes(input).ok_or(Errno::EINVAL)?;
                Ok(Argument::Output(Span { start, bytes: size }))
            }
            Kind::Gather(count) if at(&self.head.arguments, count) == 1 => {
                Ok(Argument::InputVector(self.input(size)?.0))
            }
            Kind::Scatter(count) if at(&self.head.arguments, count) == 1 => {
                Ok(Argument::OutputVector(self.output(size)?))
            }
            Kind::MessageIn => self.message_in(size),
            Kind::MessageOut => self.message_out(size),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Checks a buffer's length against the table. Lengths that others point to are checked at the end.
    fn expect(&self, of: Size, size: usize) -> Result<(), Errno> {
        let agrees = matches!(of, Size::Pointed(_)) || of.bytes(&self.head.arguments) == Some(size);
        if agrees { Ok(()) } else { Err(Errno::EINVAL) }
    }

    fn input(&mut self, size: usize) -> Result<(Span, &'m [u8]), Errno> {
        let start = self.bytes - self.fields.rest().len();
        let input = self.fields.take(size).ok_or(Errno::EINVAL)?;
        Ok((Span { start, bytes: size }, input))
    }

    /// Outputs begin as zeros: nothing of an earlier reply may go back with this one.
    fn output(&mut self, size: usize) -> Result<Span, Errno> {
        let start = self.space.used();
        self.space.space(size).ok_or(Errno::EINVAL)?.fill(0);
        Ok(Span { start, bytes: size })
    }

    fn stored(&mut self, of: Size) -> Result<Argument, Errno> {
        let bytes = of.bytes(&self.head.arguments).filter(|_| of.may_be_stored()).ok_or(Errno::EINVAL)?;
        let left = self.store.bytes.checked_sub(bytes).ok_or(Errno::EINVAL)?;
        let span = Span { start: self.store.start, bytes };
        self.store = Span { start: span.start + bytes, bytes: left };
        Ok(Argument::Stored(span))
    }

    fn message_in(&mut self, size: usize) -> Result<Argument, Errno> {
        let [name, control, data] = self.lengths(size)?;
        let (name, control, data) = (self.input(name)?.0, self.input(control)?.0, self.input(data)?.0);
        Ok(Argument::InputMessage { name, control, data })
    }

    fn message_out(&mut self, size: usize) -> Result<Argument, Errno> {
        let [name, control, data] = self.lengths(size)?;
        let lengths = self.output(LENGTHS_BYTES)?;
        let (name, control, data) = (self.output(name)?, self.output(control)?, self.output(data)?);
        Ok(Argument::OutputMessage { lengths, name, control, data })
    }

    /// The lengths of a msghdr's parts, which with their own take `size` bytes.
    fn lengths(&mut self, size: usize) -> Result<[usize; 3], Errno> {
        let mut lengths = [0; 3];
        let mut sum = LENGTHS_BYTES;
        for length in &mut lengths {
            *length = self.fields.u32().ok_or(Errno::EINVAL)? as usize;
            sum = sum.saturating_add(*length);
        }
        if sum == size { Ok(lengths) } else { Err(Errno::EINVAL) }
    }
}
